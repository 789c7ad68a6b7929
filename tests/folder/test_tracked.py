"""A tracker hears every round once, and cannot harm the run whatever it does."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import dpdl
from dpdl.folder.export import Tracker, scalars
from dpdl.folder.run_folder import RunFolder
from dpdl.folder.tracked import Tracked, TrackerSink, flat
from dpdl.tasks.data import Dataset
from dpdl.trackers.base import Outcome, TrackerFailed
from tests.conftest import small_module
from tests.trackers.stand_in import StandIn
from tests.training.small import changed, train, without_time

SHORT = changed(rounds=8, eval_every=2, checkpoint_every=3)
ROUNDS = [1, 2, 4, 6, 8]
Watch = Callable[[int, object], None]


class Killed(BaseException):
    """Nothing after it is run."""


def tracker_of(run: Path, tracker: StandIn, warned: list[str]) -> Tracker:
    return Tracker(run, ["tracker"], warned.append, {}, {"tracker": tracker})


def killed_in(round: int, tracker: Tracker) -> Watch:
    def watch(t: int, metrics: object) -> None:
        tracker(t, metrics)
        if t == round:
            raise Killed

    return watch


def go_on(blobs: Dataset, out: Path, watch: Watch) -> dpdl.Result:
    return dpdl.resume(out, data=blobs, model=small_module(), watch=watch)


def remembered(out: Path) -> Tracked:
    return Tracked.from_json(json.loads((out / "tracker/tracked.json").read_text()))


# ------------------------------------------------------------------ what is told
@pytest.mark.parametrize("placement", ["alone", "threads:2"])
def test_a_run_is_told_from_its_options_to_its_summary(
    blobs: Dataset, tmp_path: Path, placement: str
) -> None:
    out, tracker, warned = tmp_path / "ring", StandIn(), []
    watch = tracker_of(out, tracker, warned)
    result = train(blobs, SHORT, out=out, watch=watch, placement=placement)
    watch.finish()
    (about,) = tracker.abouts
    assert (about.name, about.home, about.id) == ("ring", out / "tracker", None)
    assert about.began == (out / "experiment.json").stat().st_mtime
    assert about.options["rounds"] == 8 and about.options["alpha_d"] == 1.0
    expected = [scalars(metrics.to_json()) for metrics in result.metrics]
    assert [{"round": t, **values} for t, values in tracker.told["run0"]] == expected
    ((outcome, summary),) = tracker.ends
    assert outcome is Outcome.FINISHED
    assert summary["accuracy/mean"] == result.summary["accuracy"]["mean"]
    assert summary["privacy_statement"] == result.summary.privacy_statement
    assert "run_dir" not in summary
    assert remembered(out) == Tracked("run folder", "run0", 8)
    assert warned == []


def test_what_is_nested_gets_a_path_and_lists_become_texts() -> None:
    content = {"a": {"b": {"c": 1}, "d": None}, "e": [1, "x"], "f": True}
    assert flat(content) == {"a/b/c": 1, "a/d": None, "e": "[1, 'x']", "f": True}


def test_a_tracker_that_is_told_nothing_is_not_opened(tmp_path: Path) -> None:
    tracker = StandIn()
    tracker_of(tmp_path, tracker, []).close(Outcome.FAILED)
    assert tracker.abouts == [] and list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------ going on
def test_a_resumed_run_goes_on_under_its_id_and_tells_no_round_twice(
    blobs: Dataset, tmp_path: Path
) -> None:
    """Killed after round 5, its checkpoint is that of round 3: round 4 is made again."""
    out, tracker = tmp_path / "run", StandIn()
    watch = tracker_of(out, tracker, [])
    with pytest.raises(Killed):
        train(blobs, SHORT, out=out, watch=killed_in(5, watch))
    watch.close(Outcome.INTERRUPTED)
    assert remembered(out).round == 4
    watch = tracker_of(out, tracker, [])
    go_on(blobs, out, watch)
    watch.finish()
    assert tracker.rounds == {"run0": ROUNDS}
    assert [about.id for about in tracker.abouts] == [None, "run0"]
    assert [outcome for outcome, _ in tracker.ends] == [
        Outcome.INTERRUPTED,
        Outcome.FINISHED,
    ]


def test_rounds_that_a_killed_tracker_lost_are_told_again(
    blobs: Dataset, tmp_path: Path
) -> None:
    out, tracker = tmp_path / "run", StandIn(late=True)
    with pytest.raises(Killed):
        train(blobs, SHORT, out=out, watch=killed_in(5, tracker_of(out, tracker, [])))
    written = out / "tracker/tracked.json"
    while tracker.rounds != {"run0": [1, 2, 4]} or not written.exists():
        time.sleep(0.01)
    tracker.told["run0"].clear()
    watch = tracker_of(out, tracker, [])
    go_on(blobs, out, watch)
    watch.finish()
    assert tracker.rounds == {"run0": ROUNDS}
    assert remembered(out).round == 8


def test_a_finished_run_is_told_as_a_whole(blobs: Dataset, tmp_path: Path) -> None:
    out, tracker = tmp_path / "run", StandIn()
    train(blobs, SHORT, out=out)
    for _ in range(2):
        tracker_of(out, tracker, []).finish()
    assert tracker.rounds == {"run0": ROUNDS}


def test_another_place_hears_the_run_from_its_beginning(
    blobs: Dataset, tmp_path: Path
) -> None:
    out, here, there = tmp_path / "run", StandIn(), StandIn(where="https://there")
    train(blobs, SHORT, out=out)
    tracker_of(out, here, []).finish()
    tracker_of(out, there, []).finish()
    assert there.rounds == here.rounds == {"run0": ROUNDS}
    assert there.abouts[0].id is None


# ------------------------------------------------------------------ failing
@pytest.mark.parametrize("failure", [TrackerFailed("it is gone."), SystemExit("out")])
@pytest.mark.parametrize("fails", ["open", "log", "close"])
def test_a_tracker_that_fails_costs_one_sentence_and_nothing_else(
    blobs: Dataset, tmp_path: Path, fails: str, failure: BaseException
) -> None:
    out, warned = tmp_path / "run", []
    watch = tracker_of(out, StandIn(fails, failure), warned)
    result = train(blobs, SHORT, out=out, watch=watch)
    watch.finish()
    (said,) = warned
    assert said.startswith(f"tracker failed, and is told no more: {failure!s:.6}")
    assert said.endswith(f"dpdl resume {out} --track tracker")
    plain = train(blobs, SHORT, out=tmp_path / "plain")
    assert without_time(result.summary) == without_time(plain.summary)
    assert RunFolder(out).finished
    # What it missed is told when it is there again.
    healthy = StandIn()
    tracker_of(out, healthy, warned).finish()
    (known,) = healthy.rounds.values()
    assert known == {"open": ROUNDS, "log": [4, 6, 8], "close": []}[fails]
    assert len(warned) == 1


def test_training_does_not_wait_for_a_tracker(blobs: Dataset, tmp_path: Path) -> None:
    out, wait, warned = tmp_path / "run", threading.Event(), []
    tracker = StandIn(wait=wait)
    watch = tracker_of(out, tracker, warned)
    train(blobs, SHORT, out=out, watch=watch)
    assert RunFolder(out).finished and tracker.told == {}
    wait.set()
    watch.finish()
    assert tracker.rounds == {"run0": ROUNDS}


def test_who_waits_in_the_end_is_told_for_what(blobs: Dataset, tmp_path: Path) -> None:
    out, wait, warned = tmp_path / "run", threading.Event(), []
    train(blobs, SHORT, out=out)

    def warn(said: str) -> None:
        warned.append(said)
        wait.set()

    sink = TrackerSink("tracker", tracker := StandIn(wait=wait), out, {}, warn)
    sink.add([{"round": 1, "seconds": 0.5}])
    sink.close(Outcome.FINISHED, patience=0.01)
    assert warned == ["Waiting for tracker; Ctrl-C leaves it."]
    assert tracker.told == {"run0": [(1, {"seconds": 0.5})]}


def test_ctrl_c_leaves_a_tracker_and_not_the_result(
    blobs: Dataset, tmp_path: Path
) -> None:
    out, wait, warned = tmp_path / "run", threading.Event(), []

    def warn(said: str) -> None:
        warned.append(said)
        if said.startswith("Waiting"):
            raise KeyboardInterrupt

    train(blobs, SHORT, out=out)
    sink = TrackerSink("tracker", tracker := StandIn(wait=wait), out, {}, warn)
    sink.add([{"round": 1, "seconds": 0.5}])
    sink.close(Outcome.FINISHED, patience=0.01)
    assert warned[1].startswith("tracker was left. The run loses nothing; tell tracker")
    wait.set()
    assert tracker.ends == []


@pytest.mark.parametrize("content", ["", "{", "[]", '{"where": 1}', '{"id": "x"}'])
def test_a_damaged_memory_is_a_failure_like_any_other(
    blobs: Dataset, tmp_path: Path, content: str
) -> None:
    out, warned, tracker = tmp_path / "run", [], StandIn()
    train(blobs, SHORT, out=out)
    (out / "tracker").mkdir()
    (out / "tracker/tracked.json").write_text(content)
    tracker_of(out, tracker, warned).finish()
    (said,) = warned
    assert "is damaged" in said and "remove it" in said and tracker.told == {}
