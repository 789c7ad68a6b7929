"""What is to be recorded, as a person writes it, and as a folder has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.training.recording_request import (
    RecordingRequest,
    numbers_of,
    recording_request,
    recording_request_in,
)


def test_words_become_numbers_in_order() -> None:
    found = recording_request("4,2", "8,1", "0-1,1-0", 5)
    links = frozenset({(0, 1), (1, 0)})
    assert found == RecordingRequest((2, 4), (1, 8), links, 5)
    assert recording_request("2", "", "all", 5) == RecordingRequest((2,), megabytes=5)
    assert numbers_of("3, 1,3", "Rounds") == (1, 3)


def test_the_rounds_before_and_after_are_recorded_too() -> None:
    assert RecordingRequest((2, 5)).around() == {1, 2, 3, 4, 5, 6}


def test_a_folder_without_a_recording_asks_for_none(tmp_path: Path) -> None:
    assert recording_request_in(tmp_path) is None


@pytest.mark.parametrize(
    "words",
    [
        ("x", "", "all", 5),
        ("2", "a", "all", 5),
        ("2", "", "0:1", 5),
        ("2", "", "all", 0),
    ],
)
def test_what_is_no_request_is_refused(words) -> None:
    with pytest.raises(InputError):
        recording_request(*words)
