"""One run from the command line: trained, tracked and drawn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dpdl.errors import InputError, RunFailed
from dpdl.experiment.experiment import Experiment
from dpdl.folder.run_folder import RunFolder
from dpdl.planning.plan import Plan
from dpdl.studies.one_run import OneRun, new_run, same_run
from dpdl.tasks.data import Dataset
from dpdl.trackers.base import Outcome
from dpdl.training.interrupt import Interrupted
from dpdl.training.loop import Watch
from tests.trackers.stand_in import StandIn
from tests.training.small import StopAt, changed, planned


def quiet(t: int, metrics: object) -> None:
    """Nobody watches."""


class Fails:
    """Watches a run, and ends it by a failure after some round."""

    def __init__(self, round: int, failure: type[BaseException]) -> None:
        self.round, self.failure = round, failure

    def __call__(self, t: int, metrics: object) -> None:
        if t == self.round:
            raise self.failure("for a test")


def test_a_run_is_watched_tracked_and_drawn(blobs: Dataset, tmp_path: Path) -> None:
    seen: list[tuple[int, bool]] = []
    plan = planned(blobs, changed(rounds=3, eval_every=2))
    one = OneRun(plan, tmp_path / "run", "alone", formats=["csv"])
    result = one.perform(lambda t, metrics: seen.append((t, metrics is not None)))
    assert seen == [(1, True), (2, True), (3, True)]
    table = (tmp_path / "run" / "metrics.csv").read_text().splitlines()
    assert len(table) == 1 + len(result.metrics) == 4
    assert RunFolder(one.out).summary() == result.summary
    assert not one.picture.exists()
    one.draw(result)
    assert one.picture == tmp_path / "run" / "training.png"
    assert one.picture.stat().st_size > 5_000


def test_a_finished_run_is_tracked_without_a_round(
    blobs: Dataset, tmp_path: Path
) -> None:
    plan, out = planned(blobs, changed(rounds=2)), tmp_path / "run"
    OneRun(plan, out, "alone").perform(lambda t, metrics: None)
    seen: list[int] = []
    again = OneRun(replan := replace(plan), out, "alone", ["csv"], again=True)
    assert again.plan is replan
    again.perform(lambda t, metrics: seen.append(t))
    assert seen == []
    assert (out / "metrics.csv").read_text().count("\n") == 3


# ------------------------------------------------------------------ trackers
def tracked(plan: Plan, out: Path, tracker: StandIn, again: bool = False) -> OneRun:
    formats, trackers = ["csv", "tracker"], {"tracker": tracker}
    return OneRun(plan, out, "alone", formats, again, trackers=trackers)


def test_a_tracker_hears_a_finished_run(blobs: Dataset, tmp_path: Path) -> None:
    one = tracked(planned(blobs, changed(rounds=3)), tmp_path / "run", StandIn())
    result = one.perform(quiet)
    (heard,) = one.trackers.values()
    assert heard.rounds == {"run0": [1, 3]}
    ((outcome, summary),) = heard.ends
    assert outcome is Outcome.FINISHED
    assert summary["ledger_head"] == result.summary.ledger_head


@pytest.mark.parametrize(
    ("watch", "failure", "outcome"),
    [
        (StopAt(2), Interrupted, Outcome.INTERRUPTED),
        (Fails(2, KeyboardInterrupt), KeyboardInterrupt, Outcome.INTERRUPTED),
        (Fails(2, ZeroDivisionError), ZeroDivisionError, Outcome.FAILED),
        (Fails(2, OSError), RunFailed, Outcome.FAILED),
    ],
    ids=["ctrl-c", "ctrl-c twice", "a defect", "a full disk"],
)
def test_a_tracker_hears_how_a_run_ended_and_the_same_run_goes_on(
    blobs: Dataset,
    tmp_path: Path,
    watch: Watch,
    failure: type[BaseException],
    outcome: Outcome,
) -> None:
    plan, out, tracker = planned(blobs, changed(rounds=8)), tmp_path / "run", StandIn()
    with pytest.raises(failure):
        tracked(plan, out, tracker).perform(watch)
    assert [one for one, _ in tracker.ends] == [outcome]
    assert tracked(plan, out, tracker, again=True).perform(quiet)
    assert tracker.rounds == {"run0": [1, 4, 8]}
    assert [one for one, _ in tracker.ends] == [outcome, Outcome.FINISHED]


def test_a_tracker_that_fails_is_told_of_by_one_sentence(
    blobs: Dataset, tmp_path: Path
) -> None:
    warned: list[str] = []
    one = tracked(planned(blobs), tmp_path / "run", StandIn("open"))
    assert one.perform(quiet, warn=warned.append)
    assert len(warned) == 1


def test_who_sends_metrics_away_is_told_what_that_discloses(
    blobs: Dataset, tmp_path: Path
) -> None:
    plan = planned(blobs)
    at_home = tracked(plan, tmp_path, StandIn())
    assert at_home.disclosures({}) == []
    away = tracked(plan, tmp_path, StandIn(where="https://there", sends=True))
    (said,) = away.disclosures({})
    assert "https://there" in said and "no epsilon covers" in said
    assert away.disclosures({"RANK": "1"}) == [], "process 0 speaks"


# ------------------------------------------------------------------ the same run
SHORT = Experiment(dataset="digits", agents=3, rounds=4, batch=8, sigma=4.0)


def test_the_same_run_begins_goes_on_and_ends_by_one_request(tmp_path: Path) -> None:
    out = tmp_path / "run"
    one = same_run(SHORT, out, "alone", progress=False)
    assert not one.again
    with pytest.raises(Interrupted):
        one.perform(StopAt(2))
    two = same_run(SHORT, out, "alone", progress=False)
    assert two.again
    rounds: list[int] = []
    assert two.perform(lambda t, metrics: rounds.append(t))
    assert rounds == [3, 4]
    three = same_run(SHORT, out, "alone", progress=False)
    assert three.perform(quiet), "a finished one has its result"


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({"rounds": 5}, "rounds = 4, not 5"),
        ({"lr": 0.3}, "lr = 0.1, not 0.3"),
        ({"seed": 7}, "seed = 0, not 7"),
        ({"sigma": 0.6}, "sigma = 4.0, not 0.6"),
    ],
)
def test_another_experiment_is_refused_with_what_differs(
    tmp_path: Path, other: dict, named: str
) -> None:
    out = tmp_path / "run"
    with pytest.raises(Interrupted):
        new_run(SHORT, out, "alone", progress=False).perform(StopAt(1))
    asked = Experiment(**{**SHORT.as_dict(), **other})
    with pytest.raises(InputError, match=named):
        same_run(asked, out, "alone", progress=False)
