"""What others wrote: files, JSON and TOML, read with limits on kind, size and depth.

Whoever reads with these functions meets two kinds of failure and no others: an OSError, the file
cannot be read, and a ValueError, what it holds is wrong.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import stat
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

from dpdl.records import Json, JsonObject

DEPTH = 64
"""Objects and lists within each other; ours need ten."""
LARGEST = 1 << 30
"""Bytes of a file that is read at once."""
LARGEST_TOML = 1 << 24
"""Bytes of a file that a person writes."""
_PART = r"""(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
_DOTTED = re.compile(rf"(?<![\w-]){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{DEPTH}}}")
"""A key of more than `DEPTH` parts: `tomllib` takes time by the square of their number."""


# ------------------------------------------------------------------ files
def check_file(path: Path) -> None:
    """Refuse, as an OSError, what cannot be read to its end: a folder, and a named pipe."""
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    anonymous = ":" in os.path.basename(os.path.realpath(path))  # noqa: PTH119
    if stat.S_ISFIFO(mode) and not anonymous:  # nobody may ever write into it
        raise OSError(errno.EINVAL, "It is a pipe, not a file", str(path))


def read_bytes(path: Path, most: int = LARGEST) -> bytes:
    """The content of a file of at most so many bytes."""
    check_file(path)
    with path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"it has more than {most:,} bytes")
    return content


def read_text(path: Path, most: int = LARGEST) -> str:
    """The content of a file as text."""
    return decoded(read_bytes(path, most))


def decoded(content: bytes) -> str:
    """Bytes as text; a byte order mark is left out."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as failure:
        raise ValueError("it is not a text file in UTF-8") from failure


# ------------------------------------------------------------------ JSON and TOML
def parse_json(text: str | bytes) -> Json:
    """The JSON in a text, without NaN and infinities."""
    source = text if isinstance(text, str) else decoded(text)
    try:
        found: Json = json.loads(
            source, parse_constant=_refuse_constant, parse_float=_finite
        )
    except RecursionError:
        raise _too_deep() from None
    _check_depth(found)
    return found


def read_json(path: Path) -> Json:
    """The JSON in a file."""
    return parse_json(read_text(path))


def whole_lines(lines: Iterable[str]) -> Iterator[Json]:
    """The JSON in every line, up to the first that holds none: a crash cut it off."""
    for line in lines:
        try:
            yield parse_json(line)
        except ValueError:
            return


def parse_toml(text: str) -> JsonObject:
    """The table in a text of TOML; dates and times are left as they are."""
    if _DOTTED.search(text):
        raise _too_deep()
    try:
        found: JsonObject = tomllib.loads(text)
    except RecursionError:
        raise _too_deep() from None
    _check_depth(found)
    return found


def read_toml(path: Path) -> JsonObject:
    """The table in a TOML file; dates and times are left as they are."""
    return parse_toml(read_text(path, LARGEST_TOML))


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    """A number with a fraction; `1e400` would be an infinity."""
    found = float(digits)
    if math.isinf(found):
        raise ValueError(f"{digits[:20]} is too large for a number")
    return found


def _too_deep() -> ValueError:
    return ValueError(f"more than {DEPTH} lists or tables are within each other")


def _check_depth(found: Json) -> None:
    level: list[Json] = [found]
    for _ in range(DEPTH):
        level = [inner for one in level for inner in _inside(one)]
        if not level:
            return
    raise _too_deep()


def _inside(value: Json) -> list[Json]:
    """The lists and objects in a list or an object."""
    if isinstance(value, dict):
        return [one for one in value.values() if isinstance(one, dict | list)]
    if isinstance(value, list):
        return [one for one in value if isinstance(one, dict | list)]
    return []
