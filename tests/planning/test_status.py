"""While noise is calibrated: a line on a terminal, and nothing anywhere else."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from dpdl.experiment.experiment import Experiment
from dpdl.planning.status import calibrating

ASKED = Experiment(dataset="digits", rounds=20, epsilon=8.0)


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rich takes any stream for a terminal then."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("RANK", raising=False)


def test_a_person_sees_what_takes_so_long(capsys) -> None:
    with calibrating(ASKED, shown=True):
        pass
    out, err = capsys.readouterr()
    assert out == ""
    assert "calibrating the noise for epsilon" in err


@pytest.mark.parametrize(
    "experiment",
    [
        Experiment(dataset="digits", sigma=1.0),
        Experiment(dataset="digits", noise="none"),
        Experiment(dataset="digits", noise="theorem1", epsilon=1.0),
    ],
    ids=["sigma", "none", "theorem1"],
)
def test_what_needs_no_calibration_says_nothing(capsys, experiment: Experiment) -> None:
    with calibrating(experiment, shown=True):
        pass
    assert capsys.readouterr() == ("", "")


def test_who_hides_it_other_processes_and_logs_see_nothing(monkeypatch) -> None:
    assert isinstance(calibrating(ASKED, shown=False), nullcontext)
    monkeypatch.setenv("RANK", "1")
    assert isinstance(calibrating(ASKED, shown=True), nullcontext)
    monkeypatch.setenv("RANK", "0")
    monkeypatch.delenv("FORCE_COLOR")
    assert isinstance(calibrating(ASKED, shown=True), nullcontext)
