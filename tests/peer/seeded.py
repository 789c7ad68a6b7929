"""Damage to documents and bytes that a seed repeats, for inputs by the million."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from random import Random

from dpdl.records import Json, JsonObject

TEXTS = ("", "x", "mercy", "st-olav", "é", "\x00", "\u202e", "٣", "²", "a" * 70, "1e5")
NUMBERS = (0, 1, -1, 2, 3, 2**31, 2**63 - 1, 2**63, -(2**63) - 1, 2**70, 10**400)
FLOATS = (0.0, -0.0, 0.5, 1e-320, 1e308, float("inf"), float("-inf"), float("nan"))


def value(r: Random, depth: int = 0) -> Json:
    """Anything that TOML and JSON can say."""
    kind = r.randrange(8 if depth < 3 else 5)
    if kind == 0:
        return r.random() < 0.5
    if kind == 1:
        return r.choice(NUMBERS) if r.random() < 0.7 else r.randint(-(2**70), 2**70)
    if kind == 2:
        return r.choice(FLOATS) if r.random() < 0.5 else r.uniform(-1e6, 1e6)
    if kind <= 4:
        return text(r)
    if kind == 5:
        return {text(r): value(r, depth + 1) for _ in range(r.randrange(3))}
    return [value(r, depth + 1) for _ in range(r.randrange(4))]


def text(r: Random) -> str:
    if r.random() < 0.5:
        return r.choice(TEXTS)
    codes = (r.choice((r.randrange(128), r.randrange(0xD800))) for _ in range(9))
    return "".join(map(chr, codes))[: r.randrange(10)]


def near(r: Random, known: Json) -> Json:
    """Something of the same type, or anything."""
    if r.random() < 0.4:
        return value(r)
    if isinstance(known, bool):
        return not known
    if isinstance(known, int):
        return known + r.choice((-1, 1, 2**62, -known, -2 * known))
    if isinstance(known, float):
        return known * r.choice((-1.0, 0.0, 0.5, 1 + 1e-15, 2.0, 1e300))
    if isinstance(known, str):
        place = r.randint(0, len(known))
        return known[:place] + text(r) + known[place + r.randrange(3) :]
    if isinstance(known, list):
        return (known + known[:1])[r.randrange(2) :]
    return value(r)


def broken_table(r: Random, table: JsonObject) -> JsonObject:
    """The table with one or two values replaced, removed or added, however deep."""
    found: JsonObject = json.loads(json.dumps(table))
    for _ in range(r.choice((1, 1, 1, 2))):
        inside = r.choice(_tables(found))
        name = r.choice(sorted(inside)) if inside and r.random() < 0.9 else text(r)
        if name in inside and r.random() < 0.15:
            del inside[name]
        else:
            inside[name] = near(r, inside.get(name))
    return found


def _tables(value: Json) -> list[JsonObject]:
    """All tables in a value."""
    if isinstance(value, dict):
        return [value, *(one for inner in value.values() for one in _tables(inner))]
    if isinstance(value, list):
        return [one for inner in value for one in _tables(inner)]
    return []


def broken_bytes(r: Random, content: bytes) -> bytes:
    """The bytes with some replaced, removed or doubled, and some put in; or none of them."""
    if r.random() < 0.1:
        return r.randbytes(r.randrange(300))
    found = bytearray(content)
    for _ in range(r.randint(1, 3)):
        start, length = r.randint(0, len(found)), r.choice((0, 1, 1, r.randrange(60)))
        again = bytes(found[start : start + 20])
        put = r.choice((r.randbytes(r.randrange(9)), b"", again))
        found[start : start + length] = put
    return bytes(found)


LONG: Mapping[str, Callable[[int], str]] = {
    "lists": lambda most: "a = [" + "[]," * ((most - 8) // 3) + "]\n",
    "tables": lambda most: "a = [" + "{}," * ((most - 8) // 3) + "]\n",
    "keys": lambda most: "".join(f"{k:06x}=0\n" for k in range(most // 9)),
    "headers": lambda most: "[[a]]\n" * (most // 6),
    "text": lambda most: f'a = "{"x" * (most - 9)}"\n',
    "comment": lambda most: "#" * (most - 1) + "\n",
    "deep": lambda most: "a = " + "[" * (most - 9) + "\n",
    "dots": lambda most: "a" + ".a" * (most // 2 - 5) + "=1\n",
    "members": lambda most: "format = 1\n" + "[[member]]\n" * ((most - 20) // 11),
}


@cache
def long_text(kind: str, most: int) -> bytes:
    """A document as long as it may be."""
    return LONG[kind](most).encode()
