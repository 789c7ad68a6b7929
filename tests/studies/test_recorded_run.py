"""A recorded run is trained once; another one in its place is refused."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.folder.run_folder import RunFolder
from dpdl.studies.recorded_run import train_recorded
from dpdl.training.interrupt import Interrupted
from dpdl.training.recording import RecordingRequest

SMALL = Experiment(
    dataset="digits", graph="ring", agents=3, rounds=3, batch=16, sigma=0.5
)
RECORD = RecordingRequest((2,), (1,))


def watch(plan: object):
    return nullcontext(lambda t, metrics: None)


def test_a_finished_run_is_found(tmp_path: Path) -> None:
    train_recorded(SMALL, RECORD, tmp_path / "run", watch)
    before = RunFolder(tmp_path / "run").summary()
    train_recorded(
        SMALL, RECORD, tmp_path / "run", lambda _: pytest.fail("it was trained again")
    )
    assert RunFolder(tmp_path / "run").summary() == before


def test_an_interrupted_run_goes_on(tmp_path: Path) -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(Interrupted):
        train_recorded(SMALL, RECORD, tmp_path / "run", watch, stop=stop)
    assert not RunFolder(tmp_path / "run").finished
    train_recorded(SMALL, RECORD, tmp_path / "run", watch)
    assert RunFolder(tmp_path / "run").finished


def test_another_run_or_a_smaller_recording_is_refused(tmp_path: Path) -> None:
    train_recorded(SMALL, RECORD, tmp_path / "run", watch)
    other = Experiment(**{**SMALL.as_dict(), "rounds": 4})
    with pytest.raises(InputError, match="was started with rounds = 3, not 4"):
        train_recorded(other, RECORD, tmp_path / "run", watch)
    more = RecordingRequest((2,), (1, 2))
    with pytest.raises(InputError, match="did not record batches of 2"):
        train_recorded(SMALL, more, tmp_path / "run", watch)
