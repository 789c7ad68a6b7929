"""The numbers that are accepted from outside: nowhere else is it said how large one may be.

A count has a most that a machine could still work off or hold in memory, or that nobody could mean.
A number with a fraction stays within 1e-100 and 1e100, so that its square, and the product of a
few, are numbers too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from dpdl.errors import InputError
from dpdl.text import shown

LARGEST = 2**63 - 1
"""What fits into a machine's word."""
SMALL, LARGE = 1e-100, 1e100
MOST: Mapping[str, int] = {
    "agents": 10_000,  # W is dense: 0.8 GB
    "batch": 10**9,
    "canaries": 10**6,
    "checkpoint_every": LARGEST,
    "chunks": 10**6,
    "classes": 10**6,
    "classes_per_agent": 10**6,
    "entries": 10**9,
    "eval_every": LARGEST,
    "gossip_steps": 10**6,
    "horizon": 10_000,
    "inner": 10_000,
    "iterations": 10**9,
    "local_steps": 10**6,
    "lr_decay_every": LARGEST,
    "pairs": 100_000,
    "parameters": 10**12,
    "permutations": 10**6,
    "record-limit": 10**9,
    "records": 10**12,
    "repeats": 10**6,
    "restarts": 10**6,
    "rounds": 10**9,
    "seed": LARGEST,
    "seeds": 10_000,
    "threads": 10_000,
    "trials": 10**6,
    "validation": 10**9,
}
"""By the name of an option; what is not named may be `LARGEST`."""


def count(name: str, value: int, least: int = 1) -> int:
    """A whole number that an option of this name may have; another one is refused."""
    if value < least:
        raise InputError(
            f"{name} must be a whole number of at least {least}, not {shown(value)}."
        )
    check_size(name, value)
    return value


def real(name: str, value: float, above: float = 0.0) -> float:
    """A finite number above another one that an option may have; another one is refused."""
    if not math.isfinite(value) or value <= above:
        raise InputError(
            f"{name} must be a finite number above {above:g}, not {shown(value)}."
        )
    check_size(name, value)
    return value


def check_size(name: str, value: float) -> None:
    """Refuse a number that is too large, or too close to zero, to be computed with."""
    if isinstance(value, int):
        most = MOST.get(name, LARGEST)
        if abs(value) > most:
            raise InputError(f"{name} must be at most {most}, not {shown(value)}.")
    elif math.isfinite(value) and value and not SMALL <= abs(value) <= LARGE:
        raise InputError(
            f"{name} must be between {SMALL:g} and {LARGE:g}, or 0, not {value!r}."
        )


def whole_in(text: str) -> int | None:
    """The whole number of at least 0 that a text is, if it fits into a machine's word."""
    word = text.strip()
    if not word.isascii() or not word.isdigit() or len(word.lstrip("0")) > DIGITS:
        return None
    return int(word[-DIGITS - 1 :])


DIGITS = 18
"""Digits of the whole numbers that fit into a machine's word, whatever they are."""
