"""A ledger is read line by line: each follows the one before, or it is noticed."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.folder.ledger_content import read
from dpdl.folder.ledger_lines import START, line_hash
from tests.folder.measured import RUN

STORED = (RUN / "ledger.jsonl").read_bytes()
HEADER = json.loads(STORED.splitlines()[0])


def chained(*lines: dict) -> bytes:
    """Lines with the hashes that they must have."""
    head, found = START, b""
    for line in lines:
        content = json.dumps({**line, "prev": head}).encode()
        head, found = line_hash(content), found + content + b"\n"
    return found


@pytest.fixture
def ledger(tmp_path: Path):
    def content(written: bytes):
        (tmp_path / "ledger.jsonl").write_bytes(written)
        return read(tmp_path / "ledger.jsonl")

    return content


def test_the_stored_ledger(ledger) -> None:
    found = ledger(STORED)
    assert (found.format, found.rounds, found.last, found.lines) == (2, 4, 4, 5)
    assert [entry.round for entry in found.entries] == [1, 2, 3, 4]
    assert found.breaks == []
    assert found.closed
    assert found.size == len(STORED)
    assert found.sha256 == hashlib.sha256(STORED).hexdigest()
    summary = json.loads((RUN / "summary.json").read_text())
    assert found.head == summary["ledger_head"]


def test_a_round_that_leaves_again_counts_once_if_its_bytes_are_the_same(
    ledger,
) -> None:
    rounds = [{"round": 1}, {"round": 2}, {"round": 2, "again": True}, {"round": 3}]
    same = ledger(chained(HEADER, *rounds))
    assert (same.charged(), same.charged(2), same.charged(0)) == (3, 2, 0)
    fresh = ledger(chained({**HEADER, "randomness": "secure"}, *rounds))
    assert (fresh.charged(), fresh.charged(2)) == (4, 4)


def test_the_last_plan_counts(ledger) -> None:
    assert ledger(chained(HEADER, {"round": 1}, {"rounds": 40})).rounds == 40
    again = ledger(chained(HEADER, {"rounds": 40}, {**HEADER, "rounds": 7}))
    assert again.rounds == 7


@pytest.mark.parametrize("line", [2, 3, 4])
def test_a_line_that_is_taken_out_leaves_a_break(ledger, line: int) -> None:
    lines = STORED.splitlines(keepends=True)
    del lines[line - 1]
    assert ledger(b"".join(lines)).breaks == [line]


def test_a_changed_line_breaks_the_one_after_it(ledger) -> None:
    assert ledger(STORED.replace(b'"round": 2', b'"round": 9')).breaks == [4]


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_the_end_that_a_crash_cut_off_is_left_out(ledger, cut: int) -> None:
    whole, last = ledger(STORED), STORED.splitlines(keepends=True)[-1]
    found = ledger(STORED[:-cut])
    assert found.last == (4 if cut == 1 else 3)
    assert found.closed == (cut > 1)
    assert found.size == whole.size - (1 if cut == 1 else len(last))


def test_a_mechanism_cannot_change_within_a_ledger(ledger) -> None:
    assert ledger(chained(HEADER, {**HEADER, "version": "9", "rounds": 9})).rounds == 9
    for name, value in {"sigma": 0.5, "records": [1, 2, 3], "clip": 2.0}.items():
        with pytest.raises(InputError, match=f"line 2: It has another {name} than"):
            ledger(chained(HEADER, {**HEADER, name: value}))


def test_format_1_has_no_hashes_and_format_2_has_one_of_all_of_it(ledger) -> None:
    later = ("version", "rounds", "clip", "randomness", "parameters", "weights")
    old = {k: v for k, v in HEADER.items() if k not in (*later, "options", "prev")}
    above = "".join(
        json.dumps(line) + "\n" for line in ({**old, "ledger": 1}, {"round": 1})
    ).encode()
    found = ledger(above)
    assert (found.format, found.rounds, found.breaks) == (1, None, [])
    digest = hashlib.sha256(above).hexdigest()
    for stated, broken in ((digest, []), ("0" * 64, [3])):
        prev = line_hash(above.splitlines()[-1])
        content = {**HEADER, "above": stated, "prev": prev}
        found = ledger(above + json.dumps(content).encode() + b"\n")
        assert found.breaks == broken


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "it has no header"),
        (b'{"round": 1}\n', "damaged in line 1: It comes before any header"),
        (STORED + b"[]\n", "damaged in line 6: A line must be an object"),
        (STORED + b'{"round": NaN}\n', "damaged in line 6: NaN is not JSON"),
        (STORED + b"\n", "damaged in line 6"),
        (b"\xff\n" + STORED, "damaged in line 1"),
    ],
)
def test_a_damaged_ledger_is_refused(ledger, content: bytes, words: str) -> None:
    with pytest.raises(InputError, match=words):
        ledger(content)


def test_a_missing_ledger_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read(tmp_path / "nothing")
