"""Tables as TOML, which Python reads and does not write.

`parse_toml(dumps(table)) == table`, floats to the last bit: texts, whole numbers, floats, truth
values, lists and tables in any combination. There is no TOML for None, nor for half a character
(a surrogate): ValueError.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from dpdl.records import Json, JsonObject

BARE = re.compile(r"[A-Za-z0-9_-]+")
WIDTH = 88
"""A list that is longer than a line has every value on a line of its own."""


def dumps(table: JsonObject) -> str:
    """As people write it: plain values first, then `[tables]` and `[[lists of tables]]`."""
    blocks = ["".join(f"{line}\n" for line in block) for block in _blocks(table, ())]
    return "\n".join(block for block in blocks if block)


def flat(table: JsonObject) -> str:
    """The same without headers, so that a line may be added at the end: every line is a value."""
    return "".join(f"{_pair(name, value)}\n" for name, value in table.items())


def _blocks(table: JsonObject, path: tuple[str, ...]) -> Iterator[list[str]]:
    """The lines of a table, then those of the tables in it, each with its header."""
    inner = {name: one for name, one in table.items() if _has_header(one)}
    yield [_pair(name, one) for name, one in table.items() if name not in inner]
    for name, one in inner.items():
        where = (*path, name)
        header = ".".join(map(_key, where))
        if isinstance(one, dict):
            yield from _headed(f"[{header}]", one, where)
        elif isinstance(one, list):
            for element in one:
                assert isinstance(element, dict)
                yield from _headed(f"[[{header}]]", element, where)


def _headed(
    header: str, table: JsonObject, path: tuple[str, ...]
) -> Iterator[list[str]]:
    first, *others = _blocks(table, path)
    yield [header, *first]
    yield from others


def _has_header(value: Json) -> bool:
    """Whether a value is a table, or a list of nothing but tables."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(one, dict) for one in value)
    return isinstance(value, dict)


def _pair(name: str, value: Json) -> str:
    line = f"{_key(name)} = {_inline(value)}"
    if isinstance(value, list) and value and len(line) > WIDTH:
        inner = "".join(f"    {_inline(one)},\n" for one in value)
        return f"{_key(name)} = [\n{inner}]"
    return line


def _inline(value: Json) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_inline, value))}]"
    if isinstance(value, dict):
        pairs = ", ".join(
            f"{_key(name)} = {_inline(one)}" for name, one in value.items()
        )
        return f"{{ {pairs} }}" if pairs else "{}"
    raise ValueError(f"there is no TOML for a {type(value).__name__}")


def _key(name: str) -> str:
    return name if BARE.fullmatch(name) else _text(name)


def _text(value: str) -> str:
    """In quotation marks. JSON escapes as TOML does, but for the delete character."""
    value.encode(
        "utf-8"
    )  # half a character is a UnicodeEncodeError, which is a ValueError
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
