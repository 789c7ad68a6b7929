"""The lines of a ledger are records, and the bytes of old lines come back."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from dpdl.errors import InputError
from dpdl.folder.ledger_lines import (
    FORMAT,
    START,
    ChargedRound,
    Header,
    PlannedRounds,
    line_hash,
    line_of,
)
from tests.folder.measured import RUN

LINES = (RUN / "ledger.jsonl").read_bytes().splitlines()
HEADER = json.loads(LINES[0])
FORMAT_1 = ("version", "rounds", "clip", "randomness", "parameters", "weights")
FORMAT_1 += ("options", "prev")


@pytest.mark.parametrize("line", LINES, ids=range(len(LINES)))
def test_a_stored_line_comes_back_byte_for_byte(line: bytes) -> None:
    assert json.dumps(line_of(json.loads(line)).to_json()).encode() == line


def test_every_stored_line_has_the_hash_of_the_one_before() -> None:
    before = [START, *map(line_hash, LINES)]
    assert [line_of(json.loads(line)).prev for line in LINES] == before[:-1]


def test_lines_are_told_apart_by_their_keys() -> None:
    assert isinstance(line_of(HEADER), Header)
    assert line_of({"round": 7}) == ChargedRound(7)
    assert line_of({"round": 7, "agents": [0, 2], "again": True}) == ChargedRound(
        7, (0, 2), True
    )
    assert line_of({"rounds": 40, "prev": "a"}) == PlannedRounds(40, "a")


def test_what_is_not_so_is_not_written() -> None:
    assert ChargedRound(7, prev="a").to_json() == {"round": 7, "prev": "a"}
    again = ChargedRound(7, (1,), again=True, prev="a").to_json()
    assert list(again) == ["round", "agents", "again", "prev"]


def test_the_hashes_are_the_last_keys_of_a_header() -> None:
    header = replace(Header.from_json(HEADER), above="b", prev="a")
    assert list(header.to_json())[-2:] == ["above", "prev"]


def test_a_header_of_format_1_has_less_in_it() -> None:
    content = {k: v for k, v in HEADER.items() if k not in FORMAT_1} | {"ledger": 1}
    header = Header.from_json(content)
    assert header.rounds is None
    assert header.weights is None
    assert not header.repeatable
    assert header.to_json() == content


@pytest.mark.parametrize(
    "name", ["rounds", "randomness", "weights", "parameters", "options"]
)
def test_a_header_of_format_2_needs_all(name: str) -> None:
    content = {k: v for k, v in HEADER.items() if k != name}
    with pytest.raises(InputError, match=f"A header of format 2 needs '{name}'"):
        line_of(content)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ([], "A line must be an object"),
        ({}, "must be a header or a round"),
        ({"ledger": FORMAT + 1}, "Format 3 is that of another version"),
        ({"ledger": "x"}, "Format 'x' is that of another version"),
        ({**HEADER, "sigma": "much"}, "sigma must be a number"),
        ({**HEADER, "weights": [[0, 1]]}, r"weights\[0\] must be a list of 3"),
        ({"round": "7"}, "round must be a whole number"),
        ({"round": 7, "again": False}, "again must be True"),
        ({"rounds": None}, "rounds must be a whole number"),
    ],
)
def test_what_is_no_line_is_refused(content, words: str) -> None:
    with pytest.raises(InputError, match=words):
        line_of(content)


def test_a_header_answers_what_its_words_mean() -> None:
    header = Header.from_json(HEADER)
    assert (header.fixed, header.repeatable, header.bounds_record) == (
        False,
        True,
        True,
    )
    other = replace(header, sampling="fixed", randomness="secure", clip_unit="chunks")
    assert (other.fixed, other.repeatable, other.bounds_record) == (True, False, False)


@pytest.mark.parametrize("round", [0, -1, 10**12])
def test_a_round_that_nobody_plays_is_refused(round: int) -> None:
    """A line of a few bytes must not make anybody count to it."""
    with pytest.raises(InputError, match="rounds must be"):
        ChargedRound(round)


@pytest.mark.parametrize(
    ("name", "value"), [("sigma", 1e300), ("delta", 1e-300), ("batch", 10**15)]
)
def test_a_number_that_cannot_be_computed_with_is_refused(
    name: str, value: float
) -> None:
    with pytest.raises(InputError, match=f"{name} must be"):
        Header.from_json({**HEADER, name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("neighbours", []),
        ("neighbours", [[]] * 99),
        ("neighbours", [[99]] * len(HEADER["records"])),
        ("neighbours", [[-1]] * len(HEADER["records"])),
        ("records", []),
        ("records", [300]),
    ],
)
def test_records_and_neighbours_are_those_of_the_same_agents(
    name: str, value: list
) -> None:
    """A statement about nobody once ended in a traceback."""
    with pytest.raises(InputError, match="neighbours must be"):
        Header.from_json({**HEADER, name: value})
