"""How the options of an experiment are declared and checked: once, for Python, TOML and the command line alike."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import Field, dataclass, field
from typing import Any

from dpdl.errors import InputError, unknown
from dpdl.privacy.limits import SMALLEST_DELTA


@dataclass(frozen=True)
class Check:
    """What a value must satisfy, and how that is said."""

    holds: Callable[[Any], bool]
    words: str


ABOVE_ZERO = Check(lambda v: math.isfinite(v) and v > 0, "a finite number above 0")
AT_LEAST_ZERO = Check(lambda v: math.isfinite(v) and v >= 0, "a finite number of at least 0")
AT_LEAST_ONE = Check(lambda v: v >= 1, "a whole number of at least 1")
SEED = Check(lambda v: v >= 0, "a whole number of at least 0")
MOMENTUM = Check(lambda v: 0 <= v < 1, "at least 0 and below 1")
SHARE = Check(lambda v: 0 <= v <= 1, "at least 0 and at most 1")
DECAY = Check(lambda v: 0 < v <= 1, "above 0 and at most 1")
DELTA = Check(lambda v: SMALLEST_DELTA <= v < 1, f"at least {SMALLEST_DELTA:g} and below 1")


def option(
    default: Any,
    help: str,
    *,
    check: Check | None = None,
    names: Callable[[], list[str]] | None = None,
    also: str = "",
    some: bool = False,
) -> Any:
    """A field of an experiment.

    `names` lists the allowed names; `also` says what is allowed besides them; `some`: only some algorithms have it.
    """
    return field(default=default, metadata={"help": help, "check": check, "names": names, "also": also, "some": some})


def kind(f: Field[Any]) -> type:
    """The type of an option's value: str, int or float."""
    return {"str": str, "int": int, "float": float}[str(f.type).removesuffix(" | None")]


def checked(f: Field[Any], value: Any) -> Any:
    """The value in its own type, or an `InputError` that names the option, the value and what is allowed."""
    if value is None:
        if str(f.type).endswith("| None"):
            return None
        raise InputError(f"{f.name} must be given.")
    wanted = kind(f)
    if wanted is float and type(value) is int:
        value = float(value)
    if type(value) is not wanted:
        word = {str: "a text", int: "a whole number", float: "a number"}[wanted]
        raise InputError(f"{f.name} must be {word}, not {value!r}.")
    check: Check | None = f.metadata["check"]
    if check and not check.holds(value):
        raise InputError(f"{f.name} must be {check.words}, not {value!r}.")
    names = f.metadata["names"]
    if names and not f.metadata["also"] and value not in names():
        raise unknown(f.name, str(value), names())
    return value
