"""A launched run: its folder is its own, and what goes wrong leaves nothing half written."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
import torch

import dpdl
from dpdl.errors import Diverged, InputError, RunFailed
from dpdl.folder.checkpoint import restore
from dpdl.folder.run_folder import RunFolder
from dpdl.tasks.data import Dataset
from dpdl.training.interrupt import Interrupted
from tests.conftest import small_module
from tests.training.small import StopAt, changed, train


def test_a_run_folder_is_never_overwritten(blobs: Dataset, tmp_path: Path) -> None:
    train(blobs, out=tmp_path / "run")
    before = (tmp_path / "run" / "summary.json").read_text()
    with pytest.raises(InputError, match="already holds a run"):
        train(blobs, out=tmp_path / "run")
    assert (tmp_path / "run" / "summary.json").read_text() == before


def test_two_writers_are_refused(blobs: Dataset, tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        train(blobs, out=tmp_path / "run", watch=StopAt(5))
    with (
        RunFolder(tmp_path / "run").writing(),
        pytest.raises(InputError, match="another process"),
    ):
        dpdl.resume(tmp_path / "run", data=blobs, model=small_module())


def test_a_full_disk_keeps_the_last_checkpoint(
    blobs: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = os.fsync, []

    def full(handle: int) -> None:
        calls.append(handle)
        if len(calls) > 12:
            raise OSError(28, "No space left on device")
        real(handle)

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(RunFailed, match=r"No space left on device.*dpdl resume"):
        train(blobs, out=tmp_path / "run")
    monkeypatch.undo()
    assert not list((tmp_path / "run").glob(".state*"))
    resumed = dpdl.resume(tmp_path / "run", data=blobs, model=small_module())
    assert torch.equal(resumed.models, train(blobs).models)


def test_divergence_is_said_and_never_saved(blobs: Dataset, tmp_path: Path) -> None:
    with pytest.raises(Diverged, match=r"diverged.*smaller lr"):
        train(blobs, changed(lr=1e30, clip=1e9, rounds=30), out=tmp_path / "run")
    state = tmp_path / "run" / "state.safetensors"
    assert not state.exists() or all(
        t.isfinite().all() for t in restore(state).state.values()
    )


def test_training_outside_the_main_thread_works(blobs: Dataset) -> None:
    found = []
    thread = threading.Thread(
        target=lambda: found.append(train(blobs, changed(rounds=1)))
    )
    thread.start()
    thread.join()
    assert found[0].summary["rounds"] == 1
