"""Algorithms of other code: entry points of installed packages, `module:Class`, and notebooks.

Their code runs only when they are chosen or listed, and it may fail: every failure is one sentence.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import is_dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from dpdl.algorithms.base import Algorithm
from dpdl.errors import InputError
from dpdl.objects import cause, load_object

ENTRY_POINTS = "dpdl.algorithms"
_GIVEN: dict[str, type] = {}
"""Classes that were given as objects in this process, by `module:Class`."""


@cache
def offered() -> dict[str, EntryPoint]:
    """What installed packages offer, by name; nothing of it is imported yet."""
    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}


def is_outside(name: str) -> bool:
    """Whether a name is an entry point, or of the form `module:Class`."""
    return ":" in name or name in offered()


def load(name: str) -> type[Algorithm]:
    """The class of an entry point or of `module:Class`."""
    if name in offered():
        return adapted(_imported(offered()[name]), name)
    return adapted(_GIVEN.get(name) or load_object(name, "algorithm"), name)


def _imported(point: EntryPoint) -> object:
    try:
        return point.load()
    except (Exception, SystemExit) as error:
        raise InputError(
            f"The algorithm {point.name!r} cannot be imported from {point.value!r}: "
            f"{cause(error)}."
        ) from error


@cache
def adapted(kind: object, name: str) -> type[Algorithm]:
    """The class itself, or one with the default answers of `Algorithm` where it is no subclass."""
    if not isinstance(kind, type) or not is_dataclass(kind):
        raise InputError(f"The algorithm {name!r} must be a dataclass.")
    if not issubclass(kind, Algorithm):
        same = {
            "__module__": kind.__module__,
            "__qualname__": kind.__qualname__,
            "__doc__": kind.__doc__,
        }
        kind = type(kind.__name__, (kind, Algorithm), same)
        assert issubclass(kind, Algorithm)
    if inspect.isabstract(kind):
        lacks = ", ".join(sorted(kind.__abstractmethods__))
        raise InputError(f"The algorithm {name!r} lacks {lacks}.")
    return kind


def name_of(kind: type) -> str:
    """The entry point of a class; a class without one is remembered as `module:Class`."""
    for name, found in importable():
        if kind in (found, adapted(found, name)):
            return name
    spec = f"{kind.__module__}:{kind.__qualname__}"
    _GIVEN[spec] = kind
    return spec


def importable() -> Iterator[tuple[str, type]]:
    """The entry points whose classes can be imported."""
    for name, point in offered().items():
        try:
            found = _imported(point)
            adapted(found, name)
        except InputError:
            continue
        assert isinstance(found, type)
        yield name, found
