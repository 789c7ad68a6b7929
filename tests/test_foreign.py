"""Whatever others wrote, reading it ends with a value, an OSError or a ValueError."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpdl import foreign

DEEP = 100_000


@pytest.mark.parametrize(
    "text",
    ["[" * DEEP + "]" * DEEP, '{"a":' * DEEP, "[" * DEEP],
    ids=["lists", "objects", "open"],
)
def test_deep_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="within each other"):
        foreign.parse_json(text)


def test_depth_is_counted_exactly() -> None:
    def nested(depth: int) -> str:
        return "[" * depth + "]" * depth

    foreign.parse_json(nested(foreign.DEPTH))
    with pytest.raises(ValueError, match="more than 64 lists or tables"):
        foreign.parse_json(nested(foreign.DEPTH + 1))


@pytest.mark.parametrize(
    "text", ["NaN", "[1, -Infinity]", "1" * 5000, "{", "", b"\xff"]
)
def test_what_is_not_json_is_a_value_error(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        foreign.parse_json(text)


@given(st.binary(max_size=60))
def test_no_bytes_break_the_reader(content: bytes) -> None:
    with suppress(ValueError):
        foreign.parse_json(content)


@pytest.mark.parametrize(
    "text",
    [f"a = {'[' * 5000}{']' * 5000}", f"a{'.a' * 5000} = 1", "a = {a=" * 3000],
    ids=["lists", "keys", "tables"],
)
def test_deep_toml_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "e.toml"
    file.write_text(text)
    with pytest.raises(ValueError, match=r"within each other|at line"):
        foreign.read_toml(file)


def test_a_folder_is_not_read(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match="Is a directory"):
        foreign.read_text(tmp_path)


def test_a_loop_of_links_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "a")
    with pytest.raises(OSError, match="symbolic links"):
        foreign.read_bytes(tmp_path / "a")


def test_a_pipe_that_nobody_writes_into_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="It is a pipe, not a file"):
        foreign.read_bytes(tmp_path / "pipe")


def test_what_a_shell_substitutes_is_read() -> None:
    """As in `dpdl run <(sed s/ring/star/ e.toml)`."""
    end, start = os.pipe()
    writer = threading.Thread(target=lambda: (os.write(start, b"{}"), os.close(start)))
    writer.start()
    try:
        assert foreign.read_json(Path(f"/dev/fd/{end}")) == {}
    finally:
        writer.join()
        os.close(end)


def test_a_file_without_an_end_is_refused() -> None:
    with pytest.raises(ValueError, match="more than 1,000 bytes"):
        foreign.read_bytes(Path("/dev/zero"), most=1000)


def test_a_byte_order_mark_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"\xef\xbb\xbf[1]")
    assert foreign.read_json(tmp_path / "a.json") == [1]


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="not a text file"):
        foreign.read_text(tmp_path / "a")
