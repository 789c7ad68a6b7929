"""Curves stay small, and keep their ends."""

from __future__ import annotations

import itertools

import pytest

from dpdl.folder.cell_results import Curve
from dpdl.studies.reproduce.curves import MOST, curve_of, evenly_spaced, percent
from tests.studies.reproduce.small import metric


def test_a_curve_has_rounds_losses_and_accuracy_with_few_digits() -> None:
    assert curve_of([metric(1), metric(50, 0.3, 0.5)]) == Curve(
        rounds=(1, 50),
        loss=(1.2346, 0.3),
        lowest=(0.2346, -0.7),
        highest=(2.2346, 1.3),
        accuracy=(98.77, 50.0),
    )


def test_a_loss_that_nobody_has_stays_nothing() -> None:
    curve = curve_of([metric(1), metric(2, None)])
    assert curve and curve.loss == (1.2346, None) and curve.highest == (2.2346, None)


def test_nothing_evaluated_is_no_curve() -> None:
    assert curve_of([]) is None


@pytest.mark.parametrize("count", [1, 21, MOST, MOST + 1, 1000])
def test_a_curve_is_bounded_and_keeps_its_ends(count: int) -> None:
    curve = curve_of([metric(t) for t in range(1, count + 1)])
    assert curve
    columns = (curve.rounds, curve.loss, curve.lowest, curve.highest, curve.accuracy)
    assert {len(values) for values in columns} == {min(count, MOST)}
    rounds = list(curve.rounds)
    assert (rounds[0], rounds[-1]) == (1, count) and rounds == sorted(set(rounds))
    steps = {b - a for a, b in itertools.pairwise(rounds)}
    assert not steps or max(steps) - min(steps) <= 1, "evenly"


def test_few_items_are_all_kept() -> None:
    assert evenly_spaced("abc", 3) == list("abc")
    assert evenly_spaced("abcde", 3) == list("ace")


def test_percent_has_two_digits() -> None:
    assert [percent(x) for x in (0.987654, 0.0, 1.0)] == [98.77, 0.0, 100.0]
