"""MNIST where it can be had; otherwise digits, and a sentence that says why."""

from __future__ import annotations

import pytest

from dpdl.errors import InputError
from dpdl.studies.demo.data_choice import choose_data


def test_what_is_here_is_not_fetched() -> None:
    found = choose_data(
        here=lambda name: True, fetch=lambda *_: pytest.fail("it was here")
    )
    assert found == ("mnist", ())


def test_what_is_not_here_is_fetched() -> None:
    asked: list[tuple[str, bool]] = []
    found = choose_data(
        True, here=lambda name: False, fetch=lambda *given: asked.append(given)
    )
    assert found.dataset == "mnist"
    assert asked == [("mnist", True)]


def test_where_nobody_answers_there_are_digits_and_the_reason() -> None:
    def fetch(name: str, progress: bool) -> None:
        raise InputError("No source of mnist answered.")

    found = choose_data(here=lambda name: False, fetch=fetch)
    assert found.dataset == "digits"
    assert "No source of mnist answered." in found.notes[0]
    assert "8x8 digits" in found.notes[0]
