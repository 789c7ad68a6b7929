"""Values that a person, another program or a broken disk may hand over."""

from __future__ import annotations

import json
import math
from random import Random

DEEP = 30_000

NAMES = (
    *("digits", "ring", "complete", "star", "path", "torus", "dpdl", "dpdl-sound"),
    *("dp-dpsgd", "muffliato", "decor", "metropolis", "eavesdropper", "final-model"),
    *("neighbours:1", "none", "accountant", "theorem1", "shards", "mlp", "all", "csv"),
)
TEXTS = (
    "",
    " ",
    ",",
    ":",
    "=",
    "-",
    "--",
    "[/b]",
    "[bold red]x",
    "[/]",
    "$x^{$",
    "$",
    "\\frac",
    "\x1b[31mred",
    "a\nb",
    "a\tb",
    "\u202eevil",
    "\udcff",
    "\ud800x",
    "é",
    "٣",
    "<script>alert(1)</script>",
    "a\x00b",
    "~",
    "~nobody/x",
    ".",
    "..",
    "/",
    "/dev/null",
    "/dev/full",
    "/proc/self/mem",
    "x" * 300,
    "y" * 100_000,
    "/" + "z" * 5000,
    "a:b",
    "a:b:c",
    "json:loads",
    "os:getcwd",
    "nowhere:nothing",
    "1,2,3",
    "1,,2",
    "0-1,1-0",
    "1-",
    "a.b=c",
    "dpdl.lr=1",
    "lr=0.1:1",
    "lr=1:nan",
    "torus:0x0",
    "torus:99999x99999",
    "erdos-renyi:nan",
    "erdos-renyi:1e-300",
    "neighbours:0",
    "neighbours:" + "9" * 5000,
    "threads:" + "9" * 5000,
    "True",
    "null",
    "{}",
    "[]",
    "%s",
    "{0}",
    "%",
)
INTS = (0, 1, 2, 3, 4, 5, 7, 10, -1, -2, 16)
HUGE = (2**31, 2**63 - 1, 2**63, -(2**63), 2**64, 10**30, 10**400, -(10**400))
"""No command could work so much off."""
FLOATS = ("0.5", "1", "2.5", "0.05", "1e-5", "0", "-1", "-0.0")
ODD_FLOATS = (
    *("nan", "inf", "-inf", "1e308", "-1e308", "1e-308", "5e-324", "1e400", "1e-400"),
    *("1e155", "1e-155", "1e40", "1e16", "0.9999999999999999", "1e-17", "1_0", "0x10"),
)


def text(r: Random) -> str:
    """A text as an argument, or in a file."""
    if r.random() < 0.4:
        return r.choice(NAMES)
    pick = r.random()
    if pick < 0.4:
        return r.choice(TEXTS)
    if pick < 0.6:
        return _changed(r, r.choice(NAMES + TEXTS[:60]))
    letters = LETTERS if pick < 0.8 else [chr(r.randrange(0x3000)) for _ in range(9)]
    return "".join(r.choice(letters) for _ in range(r.randint(0, 12)))


LETTERS = "abz09-_.,:=/[]{}()<>$%\\\"' \t\x1b\x7f\u200b\udc80é٣\U0001f600"


def _changed(r: Random, name: str) -> str:
    """A name with a letter more, or less, or another one."""
    k = r.randint(0, len(name))
    return name[:k] + r.choice(["", *LETTERS]) + name[k + r.choice([0, 1]) :]


def whole(r: Random) -> int:
    """A whole number, small or absurd."""
    pick = r.random()
    if pick < 0.5:
        return r.choice(INTS)
    if pick < 0.75:
        return r.randint(-50, 300)
    return r.choice(HUGE) if pick < 0.9 else r.getrandbits(r.randint(31, 900))


def number(r: Random) -> str:
    """A number with a fraction, as it is written."""
    pick = r.random()
    if pick < 0.4:
        return r.choice(FLOATS)
    if pick < 0.8:
        return f"{r.uniform(0, 3):.{r.randint(1, 17)}g}"
    odd = f"{r.uniform(-9, 9):.3f}e{r.randint(-330, 310)}"
    return odd if pick < 0.9 else r.choice(ODD_FLOATS)


def number_text(r: Random) -> str:
    """A number as it is typed; now and then it is none."""
    pick = r.random()
    if pick < 0.45:
        return str(whole(r))
    if pick < 0.55:
        return _digits(r.choice(HUGE))
    return number(r) if pick < 0.9 else text(r)


def fraction(r: Random, low: float, high: float) -> str:
    """A number of any order of magnitude between two, as it is typed."""
    return f"{math.exp(r.uniform(math.log(low), math.log(high))):.4g}"


def _digits(value: int) -> str:
    return str(value) if abs(value) < 10**4000 else "9" * 5000


def json_value(r: Random, depth: int = 2) -> object:
    """Whatever JSON can hold."""
    pick = r.randint(0, 11)
    if pick < 3:
        return whole(r)
    if pick < 5:
        return _float(r)
    if pick < 7:
        return text(r)
    if pick == 7:
        return r.choice([None, True, False])
    if pick == 8:
        return r.choice([[], {}, [[]], [None], {"": None}])
    if pick == 9 or depth == 0:
        return "x" * r.choice([1, 300, r.randint(0, 3000), 100_000])
    if pick == 10:
        return [json_value(r, depth - 1) for _ in range(r.randint(1, 3))]
    return {text(r): json_value(r, depth - 1) for _ in range(r.randint(1, 3))}


def _float(r: Random) -> float:
    if r.random() < 0.6:
        return r.uniform(-2, 3)
    some = (0.5, -1.0, 0.0, 1e308, -1e308, 5e-324, 1e20, 3.5)
    return (
        r.choice(some)
        if r.random() < 0.5
        else r.uniform(-9, 9) * 10 ** r.randint(-300, 300)
    )


RAW = (
    "[" * DEEP + "]" * DEEP,
    '{"a":' * DEEP + "1" + "}" * DEEP,
    "[" * DEEP,
    "[" * 90 + "]" * 90,
    "9" * 5000,
    "-" + "9" * 4000,
    "1e400",
    "-1e400",
    "NaN",
    "Infinity",
    '"\\ud800"',
    '"\\u0000"',
    '{"a": 1, "a": 2}',
    "nul",
    "",
    "\ufeff{}",
)
"""JSON that Python's reader takes or refuses in ways of its own."""


def raw_json(r: Random) -> str:
    """A value as JSON writes it, also such as only a person would write."""
    if r.random() < 0.3:
        return r.choice(RAW)
    return json.dumps(json_value(r))
