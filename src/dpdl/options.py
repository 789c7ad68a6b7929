"""How an option is declared and checked, once for Python, TOML and the command line.

An option is a field of a dataclass: of `Experiment`, or of an algorithm. Its type is that of the
field; its metadata has the help, what is allowed, and where `dpdl tune` draws its values from.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field
from typing import Any, NamedTuple, final

from dpdl.bounds import check_size
from dpdl.errors import InputError, unknown
from dpdl.text import shown

Value = bool | int | float | str | tuple[str, ...] | None
"""What an option can be set to."""


@dataclass(frozen=True)
class Check:
    """A condition on values, and the text that describes it in messages."""

    holds: Callable[[Any], bool]
    words: str


ABOVE_ZERO = Check(lambda v: math.isfinite(v) and v > 0, "a finite number above 0")
AT_LEAST_ZERO = Check(
    lambda v: math.isfinite(v) and v >= 0, "a finite number of at least 0"
)
AT_LEAST_ONE = Check(lambda v: v >= 1, "a whole number of at least 1")
SEED = Check(lambda v: v >= 0, "a whole number of at least 0")
MOMENTUM = Check(lambda v: 0 <= v < 1, "at least 0 and below 1")
SHARE = Check(lambda v: 0 <= v <= 1, "at least 0 and at most 1")
RATE = Check(lambda v: 0 < v <= 1, "above 0 and at most 1")
DECAY = Check(lambda v: 0 < v <= 1, "above 0 and at most 1")


class Range(NamedTuple):
    """The interval from which `dpdl tune` draws the values of an option."""

    low: float
    high: float
    log: bool = False  # by orders of magnitude

    def __str__(self) -> str:
        """As a person writes it."""
        how = ", by orders of magnitude" if self.log else ""
        return f"{self.low:g} to {self.high:g}{how}"


@final
class Typed(str):
    """A value as typed on a command line: the type of the option decides what it means."""

    __slots__ = ()


def option(
    default: Any,
    help: str,
    *,
    check: Check | None = None,
    names: Callable[[], Sequence[str]] | Sequence[str] | None = None,
    also: str = "",
    search: Range | None = None,
    by: str = "",
) -> Any:
    """A field that is an option.

    `names` are the allowed names, or a function that lists them; `also` describes what is allowed
    besides them. `search` is the range of `dpdl tune`. `by` names what the default depends on,
    where it is not simply `default`.
    """
    listed = names if names is None or callable(names) else lambda: names
    metadata = {
        "help": help,
        "check": check,
        "names": listed,
        "also": also,
        "search": search,
        "by": by,
    }
    return field(default=default, metadata=metadata)


KINDS: Mapping[str, type] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "tuple[str, ...]": tuple,
}
"""The types of options, by their annotation."""
WORDS: Mapping[type, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    tuple: "a list of texts",
}
TRUTHS = {"true": True, "yes": True, "false": False, "no": False}


def annotation(f: Field[Value]) -> str:
    """The type of a field, as it is written in its class; `Optional[T]` is `T | None`."""
    written = f.type.__name__ if isinstance(f.type, type) else str(f.type)
    optional = re.fullmatch(r"(?:typing\.)?Optional\[(.*)\]", written)
    return f"{optional[1]} | None" if optional else written


def kind(f: Field[Value]) -> type:
    """The type of an option's value: str, int, float, bool or tuple."""
    return KINDS[annotation(f).removesuffix(" | None")]


def is_option(f: Field[Value]) -> bool:
    """Whether a field is of a type that an option can have."""
    return f.init and annotation(f).removesuffix(" | None") in KINDS


def may_be_none(f: Field[Value]) -> bool:
    """Whether None is a value of the option."""
    return annotation(f).endswith(" | None")


def has_default(f: Field[Value]) -> bool:
    """Whether the option may be left out."""
    return f.default is not MISSING


def allowed_names(f: Field[Value]) -> list[str]:
    """The names that are allowed; none where any value of the type is."""
    names = f.metadata.get("names")
    return list(names()) if names else []


def checked(f: Field[Value], value: object) -> Value:
    """The value in the type of the option.

    Raises `InputError`, which names the option, the value and what is allowed.
    """
    if value is None:
        if may_be_none(f):
            return None
        raise InputError(f"{f.name} must be given.")
    found = _in_its_type(f, value)
    check: Check | None = f.metadata.get("check")
    if check and not check.holds(found):
        raise InputError(f"{f.name} must be {check.words}, not {shown(found)}.")
    if isinstance(found, int | float):
        check_size(f.name, found)
    open_ended = not f.metadata.get("names") or f.metadata.get("also")
    if not open_ended and found not in allowed_names(f):
        raise unknown(f.name, str(found), allowed_names(f))
    return found


def _in_its_type(f: Field[Value], value: object) -> Value:
    wanted = kind(f)
    found = value
    if type(value) is Typed:
        found = _read(str(value), wanted)
    if wanted is float and type(found) is int:
        found = _as_float(found)
    if wanted is tuple:
        found = _texts(found)
    if type(found) is not wanted:
        given = str(value) if type(value) is Typed else value
        raise InputError(f"{f.name} must be {WORDS[wanted]}, not {shown(given)}.")
    return found  # type: ignore[return-value]  # `wanted` is one of the types of `Value`


def _as_float(value: int) -> float:
    """The number, infinity where it has too many digits."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _read(text: str, wanted: type) -> object:
    """The value that a text stands for; the text itself if it stands for none of the type."""
    if wanted is bool:
        return TRUTHS.get(text.lower(), text)
    if wanted is tuple:
        return text
    try:
        return wanted(text)
    except ValueError:
        return text


def _texts(value: object) -> tuple[str, ...] | None:
    """A list of texts, or one text with commas between them; None if it is neither."""
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    if not isinstance(value, list | tuple):
        return None
    texts = tuple(one for one in value if isinstance(one, str))
    return texts if len(texts) == len(value) else None
