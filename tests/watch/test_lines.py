"""Every byte of a growing file is read once, and files that are no files are left alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dpdl.watch.lines import TAIL, GrowingLines, content, line_at, opened


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "file"
    found.write_bytes(b"one\ntwo\n")
    return found


def texts(lines: GrowingLines) -> list[bytes]:
    return [line.text for line in lines.new()]


def add(path: Path, text: bytes) -> None:
    with path.open("ab") as file:
        file.write(text)


def test_each_line_is_given_once(path: Path) -> None:
    lines = GrowingLines(path)
    assert texts(lines) == [b"one\n", b"two\n"]
    assert texts(lines) == []
    add(path, b"three\n")
    assert texts(lines) == [b"three\n"]
    assert lines.generation == 0


def test_only_what_is_new_is_read(path: Path) -> None:
    path.write_bytes(b"x" * 99_999 + b"\n")
    lines = GrowingLines(path)
    lines.new()
    assert lines.bytes_read == 100_000
    for _ in range(10):
        add(path, b"short\n")
        assert texts(lines) == [b"short\n"]
    assert lines.bytes_read <= 100_000 + 10 * (6 + TAIL)


def test_half_a_line_is_left_for_later(path: Path) -> None:
    lines = GrowingLines(path)
    lines.new()
    add(path, b'{"round": ')
    assert texts(lines) == []
    add(path, b"7}\nnext")
    assert texts(lines) == [b'{"round": 7}\n']
    assert lines.generation == 0


def test_a_line_knows_its_place(path: Path) -> None:
    lines = GrowingLines(path)
    first, second = lines.new()
    add(path, b"three\n")
    (third,) = lines.new()
    assert (first.start, second.start, third.start) == (0, 4, 8)
    assert line_at(path, third.start) == b"three\n"
    assert line_at(path, 10_000) is None


def replaced(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(b"one\nother\nthree\n")
    other.replace(path)


def cut(path: Path) -> None:
    os.truncate(path, 4)
    add(path, b"x\n")


def rewritten(path: Path) -> None:
    """The same file, longer than before, with other content."""
    with path.open("r+b") as file:
        file.write(b"ONE\nTWO\nTHREE\n")


@pytest.mark.parametrize("change", [replaced, cut, rewritten])
def test_a_file_that_is_another_one_is_read_anew(path: Path, change) -> None:
    lines = GrowingLines(path)
    lines.new()
    change(path)
    assert b"".join(texts(lines)) == path.read_bytes()
    assert lines.generation == 1


def test_a_file_that_vanishes_and_comes_back_begins_anew(path: Path) -> None:
    lines = GrowingLines(path)
    lines.new()
    path.unlink()
    assert texts(lines) == []
    assert texts(lines) == []
    path.write_bytes(b"again\n")
    assert texts(lines) == [b"again\n"]
    assert lines.generation == 1


def test_a_file_that_comes_later_is_no_new_generation(tmp_path: Path) -> None:
    lines = GrowingLines(tmp_path / "file")
    assert texts(lines) == []
    (tmp_path / "file").write_bytes(b"one\n")
    assert texts(lines) == [b"one\n"]
    assert lines.generation == 0


def linked(path: Path) -> Path:
    link = path.with_name("link")
    link.symlink_to(path)
    return link


def piped(path: Path) -> Path:
    os.mkfifo(path.with_name("pipe"))
    return path.with_name("pipe")


@pytest.mark.parametrize("make", [linked, piped, lambda path: path.parent])
def test_what_is_no_plain_file_is_no_file(path: Path, make) -> None:
    other = make(path)
    assert opened(other) is None
    assert content(other) is None
    assert line_at(other, 0) is None
    assert texts(GrowingLines(other)) == []


def test_a_small_file_is_read_whole_and_a_huge_one_not(path: Path) -> None:
    assert content(path) == b"one\ntwo\n"
    assert content(path, most=8) == b"one\ntwo\n"
    assert content(path, most=7) is None
