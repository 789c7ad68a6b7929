"""The algorithms, one file each. To add one: write its file, then add its line here.

A package of your own adds one without a line here: an entry point of the group `dpdl.algorithms` names its class.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from dpdl.algorithms.base import Algorithm, Info, State
from dpdl.algorithms.dpdl import DPDL, SoundDPDL
from dpdl.errors import unknown

ENTRY_POINTS = "dpdl.algorithms"
NOT_PRIVATE = {"noise": "none", "clip_unit": "none"}
"""What the name of a non-private original stands for."""


@dataclass(frozen=True)
class Named:
    """An algorithm that can be asked for by name."""

    kind: type[Algorithm]
    about: str
    usual: Mapping[str, Any] = field(default_factory=dict)  # values of options that are not given
    fixed: Mapping[str, Any] = field(default_factory=dict)  # values of options that the name stands for

    @property
    def options(self) -> set[str]:
        """The names of its hyper-parameters."""
        return {f.name for f in fields(self.kind)}  # type: ignore[arg-type]


NAMES = {
    "dpdl": Named(DPDL, "Algorithm 1 of the paper, literally"),
    "dpdl-sound": Named(SoundDPDL, "the same with the perturbed self-gradient"),
}


def named(name: str) -> Named:
    """The algorithm of a name: ours, or one that an installed package offers."""
    if name in NAMES:
        return NAMES[name]
    if name not in _offered():
        raise unknown("algorithm", name, names())
    kind: type[Algorithm] = _offered()[name].load()
    return Named(kind, (kind.__doc__ or name).strip().splitlines()[0])


def names() -> list[str]:
    """All names, in alphabetical order."""
    return sorted({*NAMES, *_offered()})


@cache
def _offered() -> dict[str, Any]:
    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}


__all__ = ["DPDL", "NAMES", "Algorithm", "Info", "Named", "SoundDPDL", "State", "named", "names"]
