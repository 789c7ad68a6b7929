"""With secure randomness, nothing un-noised crosses from one process to another; with seeded randomness all may."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
import torch

import dpdl
from dpdl.algorithms import DPDL, NAMES
from dpdl.algorithms.base import Info
from dpdl.errors import InputError
from dpdl.privacy.noise import Reproducible
from dpdl.run.interrupt import Interrupted
from dpdl.run.loop import Loop
from dpdl.run.states import States
from dpdl.tasks.data import Dataset
from tests.conftest import small_module
from tests.run.links import play_apart
from tests.run.test_train import StopAt, changed, train

SECURE = sorted(name for name, a in NAMES.items() if not a.fixed and name not in ("async-dpsgd", "decor"))
NEEDED = {"pdsl": {"validation": 20}}
CANARY = 0.123456789012345678


class Keyed(Reproducible):
    """Secure randomness for the rest of the program, but it gives the same numbers in two runs that are compared."""

    repeatable = False


@pytest.fixture
def keyed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpdl.run.plan.Secure", lambda: Keyed(3))


@pytest.mark.parametrize("name", SECURE)
def test_only_releases_models_and_public_words_cross(
    blobs: Dataset, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    links = play_apart(monkeypatch, 2)
    links.watch_exit_and_models(monkeypatch, NAMES[name].kind)
    options = {"algorithm": name, "randomness": "secure", "rounds": 6, "eval_every": 2}
    train(blobs, changed(**options, **NEEDED.get(name, {})), out=tmp_path / "run")
    assert len(links.crossed) > 6
    assert links.strangers() == []


def test_of_a_run_that_averages_the_mean_models_cross(
    blobs: Dataset, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    links = play_apart(monkeypatch, 2)
    links.watch_exit_and_models(monkeypatch, DPDL)
    averaged = changed(randomness="secure", rounds=4, average=0.5, eval_every=4)
    train(blobs, averaged, out=tmp_path / "run")
    assert links.strangers() == ["torch.float32 (2, 77)"] * 2  # measured in round 4, and given back at the end
    links.crossed.clear()
    average = Loop._average
    monkeypatch.setattr(Loop, "_average", lambda self, t: (average(self, t), links.allow(self._models())))
    train(blobs, averaged, out=tmp_path / "again")
    assert links.strangers() == []


def test_a_simulation_has_the_experimenters_view(blobs: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """The listener above is not deaf: seeded noise hides nothing, and losses cross."""
    links = play_apart(monkeypatch, 2)
    links.watch_exit_and_models(monkeypatch, DPDL)
    last = train(blobs, changed(rounds=4)).metrics[-1]
    assert "torch.float64 (2, 5)" in links.strangers()
    assert last["train_loss"]["mean"] > 0


def test_threads_are_one_process_with_the_experimenters_view(blobs: Dataset, tmp_path: Path) -> None:
    secure = changed(rounds=4, randomness="secure")
    last = train(blobs, secure, placement="threads:2", out=tmp_path / "run").metrics[-1]
    assert last["train_loss"]["mean"] > 0
    assert last["broken_gradients"] == 0
    assert (tmp_path / "run" / "state.safetensors").exists()


@pytest.mark.parametrize("what", ["train_loss", "clip_fraction", "cosine"])
def test_a_number_of_one_agents_records_never_crosses(
    blobs: Dataset, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, what: str
) -> None:
    play = DPDL.round

    def round(self, state, batches, net, grad, t):
        state, info = play(self, state, batches, net, grad, t)
        values = {**info.values, what: info.values[what].clone()}
        values[what][net.agents == 4] = CANARY
        return state, Info(values)

    monkeypatch.setattr(DPDL, "round", round)
    needles = [struct.pack("<d", CANARY), struct.pack("<f", CANARY)]
    links = play_apart(monkeypatch, 2)
    seen = train(blobs, changed(rounds=4, randomness="reproducible"), out=tmp_path / "seen")
    assert any(needle in links.bytes() for needle in needles)
    links.crossed.clear()
    train(blobs, changed(rounds=4, randomness="secure"), out=tmp_path / "run")
    assert links.crossed
    assert not any(needle in links.bytes() for needle in needles)
    assert what in seen.metrics[-1]


def test_what_process_0_may_not_know_is_null_and_the_rest_is_measured(
    blobs: Dataset, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, keyed: None
) -> None:
    secure = changed(randomness="secure")
    alone = train(blobs, secure)
    play_apart(monkeypatch, 3)
    spread = train(blobs, secure, out=tmp_path / "run")
    assert torch.equal(spread.models, alone.models)
    for measured, known in zip(spread.metrics, alone.metrics, strict=True):
        assert measured["train_loss"] == {"mean": None, "min": None, "max": None}
        assert measured["broken_gradients"] is None
        assert not {"clip_fraction", "cosine", "coefficient"} & set(measured)
        for name in ("accuracy", "consensus_distance", "bytes_sent", "epsilon", "round"):
            assert measured[name] == known[name]
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["train_loss"] is None
    assert summary["accuracy"] == alone.summary["accuracy"]
    assert summary["epsilon"] == alone.summary["epsilon"]


# ---------------------------------------------------------------- checkpoints
def test_every_process_keeps_the_state_of_its_agents_and_resume_goes_on_from_it(
    blobs: Dataset, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, keyed: None
) -> None:
    secure = changed(randomness="secure")
    whole = train(blobs, secure)
    for placement in ("apart", "alone"):
        run = tmp_path / placement
        with monkeypatch.context() as patch:
            play_apart(patch, 2)
            with pytest.raises(Interrupted, match="dpdl resume"):
                train(blobs, secure, out=run, watch=StopAt(5))
        assert {path.name for path in run.glob("state*")} == {
            *("state-0.safetensors", "state-0.before.safetensors"),
            *("state-1.safetensors", "state-1.before.safetensors"),
        }
        with monkeypatch.context() as patch:
            if placement == "apart":
                play_apart(patch, 2)
            resumed = dpdl.resume(run, data=blobs, model=small_module())
        assert torch.equal(resumed.models, whole.models)
        assert resumed.summary["bytes_sent"] == whole.summary["bytes_sent"]
        assert resumed.summary["epsilon"] == whole.summary["epsilon"]


def crashed_while_saving(blobs: Dataset, monkeypatch: pytest.MonkeyPatch, run: Path, process: int) -> None:
    """One process could not save round 6; process 1 may have, before process 0."""
    save = States.save_part

    def failing(self: States, rank: int, checkpoint) -> None:
        if rank == process and checkpoint.round == 6:
            raise OSError(28, "No space left on device")
        save(self, rank, checkpoint)

    with monkeypatch.context() as patch:
        play_apart(patch, 2)
        patch.setattr(States, "save_part", failing)
        with pytest.raises(dpdl.RunFailed, match="No space left" if process == 0 else "Process 1 .* has gone away"):
            train(blobs, changed(randomness="secure"), out=run)


@pytest.mark.parametrize("process", [0, 1])
def test_processes_that_saved_different_rounds_go_on_from_the_last_that_all_have(
    blobs: Dataset, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, keyed: None, process: int
) -> None:
    run = tmp_path / "run"
    crashed_while_saving(blobs, monkeypatch, run, process)
    play_apart(monkeypatch, 2)
    rounds: list[int] = []
    resumed = dpdl.resume(run, data=blobs, model=small_module(), watch=lambda t, metrics: rounds.append(t))
    assert rounds == list(range(4, 13))
    assert torch.equal(resumed.models, train(blobs, changed(randomness="secure")).models)
    left = [json.loads(line) for line in (run / "ledger.jsonl").read_text().splitlines()[1:]]
    assert [line["round"] for line in left] == [*range(1, 7), *range(4, 13)]
    assert [line["round"] for line in left if line.get("again")] == [4, 5, 6]


@pytest.mark.parametrize("lost", ["state-0", "state-1"])
def test_a_process_without_its_state_is_refused(
    blobs: Dataset, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lost: str
) -> None:
    run = tmp_path / "run"
    play_apart(monkeypatch, 2)
    train(blobs, changed(randomness="secure"), out=run)
    for path in run.glob(f"{lost}*"):
        path.unlink()
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    with pytest.raises(InputError, match=r"cannot go on: process \d finds no state"):
        dpdl.resume(run, data=blobs, model=small_module())
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before
