"""Ending a run early: by a callback or by a rule, on all placements, and what is said about it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import dpdl
from dpdl.errors import InputError
from dpdl.folder.run_folder import RunFolder
from dpdl.folder.verify import verify
from dpdl.privacy.epsilon import Epsilon
from dpdl.tasks.data import Dataset
from dpdl.training.interrupt import Interrupted
from dpdl.training.launch import launch
from dpdl.training.stopping import Stop, called, stalled, together
from tests.conftest import small_module
from tests.folder.measured import metrics
from tests.training.links import apart
from tests.training.small import StopAt, changed, planned, train, without_time

NOT_COVERED = "depends on private records, and no epsilon covers that"


def stop_at(round: int):
    def callback(t: int, metrics) -> None:
        if t == round:
            raise Stop("it is enough")

    return callback


# ------------------------------------------------------------------ the rule
@pytest.mark.parametrize(
    ("losses", "patience", "ends"),
    [
        ([2.0, 1.0, 1.5], None, False),
        ([2.0, 1.0, 1.5], 2, False),
        ([2.0, 1.0, 1.5, 1.0], 2, True),
        ([2.0, 1.0, 1.5, 0.9], 2, False),
        ([1.0], 1, False),
        ([1.0, 1.0], 1, True),
        ([1.0, None], 1, True),
        ([None, None, 1.0], 2, False),
    ],
)
def test_a_rule_ends_what_has_not_fallen(losses, patience, ends: bool) -> None:
    seen = [metrics(t, loss=loss) for t, loss in enumerate(losses, 1)]
    assert (stalled(seen, patience) is not None) == ends


def rule(**more) -> dpdl.Experiment:
    """So much noise that the loss soon rises again."""
    options = {"rounds": 12, "eval_every": 2, "sigma": 20.0, "lr": 0.5, **more}
    return changed(stop_after_stalled=2, **options)


def test_a_run_ends_by_its_rule_and_its_statement_says_so(
    blobs: Dataset, tmp_path: Path
) -> None:
    result = train(blobs, rule(), out=tmp_path / "run")
    s = result.summary
    assert 1 < s.rounds < 12
    assert s.rounds == result.metrics[-1].round
    assert s.ended_early and f"Ended after round {s.rounds} of 12" in s.ended_early
    assert NOT_COVERED in s.privacy_statement
    assert "training losses without noise" in s.privacy_statement
    assert result.stopped is None
    assert RunFolder(tmp_path / "run").summary() == s
    assert verify(tmp_path / "run").agrees


def test_a_resumed_run_ends_after_the_same_round(
    blobs: Dataset, tmp_path: Path
) -> None:
    whole = train(blobs, rule())
    with pytest.raises(Interrupted):
        train(blobs, rule(), out=tmp_path / "run", watch=StopAt(3))
    again = dpdl.resume(tmp_path / "run", data=blobs, model=small_module())
    assert torch.equal(again.models, whole.models)
    assert without_time(again.summary) == without_time(whole.summary)


def test_a_run_that_its_rule_has_ended_makes_no_more_rounds(
    blobs: Dataset, tmp_path: Path
) -> None:
    first = train(blobs, rule(), out=tmp_path / "run")
    seen: list[int] = []
    again = dpdl.resume(
        tmp_path / "run",
        data=blobs,
        model=small_module(),
        watch=lambda t, metrics: seen.append(t),
    )
    assert seen == []
    assert without_time(again.summary) == without_time(first.summary)


def test_a_rule_that_never_held_is_stated_too(blobs: Dataset) -> None:
    s = train(blobs, changed(rounds=2, stop_after_stalled=9)).summary
    assert s.ended_early is None
    assert NOT_COVERED in s.privacy_statement
    assert NOT_COVERED not in train(blobs, changed(rounds=2)).summary.privacy_statement


def test_a_rule_is_refused_where_nobody_has_the_loss(blobs: Dataset) -> None:
    p = planned(blobs, rule(randomness="secure"))
    with pytest.raises(InputError, match="which nobody has in a secure run"):
        launch(p, out=None, placement=apart(2), watch=None)


# ------------------------------------------------------------------ callbacks
@pytest.mark.parametrize("placement", ["alone", "threads:2"])
@pytest.mark.parametrize("round", [4, 5])
def test_a_callback_ends_the_run_as_if_it_had_been_so_long(
    blobs: Dataset, placement: str, round: int
) -> None:
    """Round 4 is evaluated anyway, round 5 because it became the last one."""
    ended = train(blobs, callbacks=[stop_at(round)], placement=placement)
    short = train(blobs, changed(rounds=round))
    assert torch.equal(ended.models, short.models)
    assert ended.summary.rounds == round
    assert ended.summary.score == short.summary.score
    assert ended.summary.bytes_sent == short.summary.bytes_sent
    assert (
        ended.summary.ended_early == f"Ended after round {round} of 12: it is enough."
    )


def test_epsilon_counts_the_rounds_that_were_made(
    blobs: Dataset, tmp_path: Path
) -> None:
    more = {"algorithm": "dpdl-sound", "sigma": 4.0}
    out = tmp_path / "run"
    ended = train(blobs, changed(**more), callbacks=[stop_at(5)], out=out).summary
    short = train(blobs, changed(rounds=5, **more)).summary
    whole = train(blobs, changed(**more)).summary
    assert ended.epsilon.proven == short.epsilon.proven != whole.epsilon.proven
    assert NOT_COVERED in ended.privacy_statement
    planned = whole.epsilon.proven["eavesdropper"]
    assert isinstance(planned, Epsilon)
    assert f"All 12 planned rounds: epsilon = {planned:.4g}." in ended.privacy_statement
    assert verify(out).agrees


def test_a_run_that_a_callback_ended_can_go_on(blobs: Dataset, tmp_path: Path) -> None:
    out = tmp_path / "run"
    train(blobs, callbacks=[stop_at(5)], out=out)
    assert RunFolder(out).finished
    seen: list[bool] = []

    def look(t: int, metrics) -> None:
        seen.append(RunFolder(out).finished)

    again = dpdl.resume(out, data=blobs, model=small_module(), callbacks=[look])
    assert seen == [False] * 7, "while it goes on, there is no result"
    assert torch.equal(again.models, train(blobs).models)
    assert again.summary.ended_early is None
    assert verify(out).agrees


def test_a_wish_in_the_last_round_changes_nothing(blobs: Dataset) -> None:
    ended = train(blobs, callbacks=[stop_at(12)])
    assert ended.summary.ended_early is None
    assert ended.summary.rounds == 12


def test_all_callbacks_hear_a_round_that_one_of_them_ends() -> None:
    heard: list[str] = []

    def first(t: int, metrics) -> None:
        heard.append("first")
        raise Stop("first")

    def second(t: int, metrics) -> None:
        heard.append("second")
        raise Stop("second")

    with pytest.raises(Stop, match="first"):
        together(first, second, lambda t, metrics: heard.append("third"))(1, None)
    assert heard == ["first", "second", "third"]


def test_any_other_error_of_a_callback_is_not_swallowed(blobs: Dataset) -> None:
    def broken(t: int, metrics) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        train(blobs, callbacks=[broken])


def test_what_cannot_be_called_is_no_callback() -> None:
    assert called(None, ()) == []
    assert called(print, [repr]) == [print, repr]
    for watch, callbacks in ((None, print), (None, [3]), (3, [])):
        with pytest.raises(InputError, match="function"):
            called(watch, callbacks)
