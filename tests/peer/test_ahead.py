from __future__ import annotations

from dpdl.peer.ahead import Look, Pattern

MODEL = Look("model", "float32", (1, 10))
GRADIENT = Look("gradient", "float32", (1, 10))


def test_nothing_is_known_before_a_round_was_seen():
    assert Pattern(1, 10).after(1, 0) is None


def test_the_steps_of_a_round_repeat():
    pattern = Pattern(1, 10)
    pattern.note(1, 0, MODEL)
    assert pattern.after(1, 0) == (2, 0, MODEL)
    pattern.note(1, 2, GRADIENT)
    assert pattern.after(1, 0) == (1, 2, GRADIENT)
    assert pattern.after(1, 2) == (2, 0, MODEL)
    assert pattern.after(2, 0) == (2, 2, GRADIENT)


def test_nothing_is_asked_for_beyond_the_last_round():
    pattern = Pattern(1, 2)
    pattern.note(1, 0, MODEL)
    assert pattern.after(1, 0) == (2, 0, MODEL)
    assert pattern.after(2, 0) is None


def test_rounds_of_another_phase_are_not_foretold():
    pattern = Pattern(3, 10)
    pattern.note(3, 0, MODEL)
    assert pattern.after(3, 0) is None  # round 4 may be silent
    pattern.note(4, 1, GRADIENT)
    assert pattern.after(3, 0) == (4, 1, GRADIENT)
    assert pattern.after(5, 0) == (6, 0, MODEL)


def test_an_exchange_of_the_first_round_only_is_expected_once_more_and_then_forgotten():
    pattern = Pattern(1, 9)
    for round, step in ((1, 0), (1, 1)):
        pattern.note(round, step, MODEL)
    pattern.note(2, 0, MODEL)
    assert pattern.after(2, 0) == (2, 1, MODEL)
    pattern.note(3, 0, MODEL)
    assert pattern.after(3, 0) == (4, 0, MODEL)
