"""Whatever others wrote, reading it ends with a value, an OSError or a ValueError."""

from __future__ import annotations

import os
import threading
import time
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


@pytest.mark.parametrize("dot", [".", " \t" * 20 + ".", '."a".', ".'b' . ", r'."\"".'])
def test_a_key_of_many_parts_takes_no_time(dot: str) -> None:
    """`tomllib` alone takes seconds for 32 kB, and four times as long for twice as many."""
    text = "a" + f"{dot}a" * (2**20 // len(dot)) + " = 1"
    begun = time.process_time()
    with pytest.raises(ValueError, match="within each other"):
        foreign.parse_toml(text)
    assert time.process_time() - begun < 1


@pytest.mark.parametrize(
    "one", ["a", "a ", "a.b ", '"', "'", "\"'", "a.'", "  ", "\\", "."]
)
def test_looking_for_such_a_key_takes_no_time_either(one: str) -> None:
    begun = time.process_time()
    with suppress(ValueError):
        foreign.parse_toml(one * (2**18 // len(one)))
    assert time.process_time() - begun < 2


def test_a_text_with_many_dots_is_no_key() -> None:
    line = "x = [" + "0.5, " * 300 + "]"
    assert len(foreign.parse_toml(line)["x"]) == 300


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


@pytest.mark.parametrize("text", ["1e400", "[-1e400]", '{"a": 12e9999}'])
def test_a_number_that_would_be_an_infinity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="too large for a number"):
        foreign.parse_json(text)
    assert foreign.parse_json("[1e308, 1e-400]") == [1e308, 0.0]


OURS = {
    "foreign.py",
    "planning/calibrations.py",  # a key that it has just made
    "paper/numbers.py",  # a file of the package
    "studies/reproduce/recipes.py",  # a file of the package
    "studies/pool_messages.py",  # between a process and its child
    "studies/pool_server.py",  # the same
    "studies/pool_start.py",  # the same
    "peer/frame_bytes.py",  # a header whose signature was checked
    "bench/rounds.py",  # between a process and its child
    "records.py",  # names it
}
"""Who may parse without limits: what it parses, it has written."""


def test_nobody_else_parses_what_others_wrote() -> None:
    source = Path(foreign.__file__).parent
    words = ("json.loads", "json.load(", "tomllib", "yaml", "pickle.load")
    found = {
        str(path.relative_to(source))
        for path in source.rglob("*.py")
        if any(word in path.read_text("utf-8") for word in words)
    }
    assert found <= OURS
