"""The options of algorithms, as experiments have them: which there are, and what they become.

An algorithm's options are the fields of its class, except those that are named like a shared option:
these are set from the experiment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import Field, fields
from typing import Any, final

from dpdl import algorithms
from dpdl.errors import InputError, unknown
from dpdl.experiment.presets import defaults_for
from dpdl.experiment.shared import SHARED
from dpdl.options import checked, has_default, is_option, may_be_none

RESERVED = {*SHARED, "options", "name", "preset"}
"""Names that mean something else in an experiment or in its file."""
FLAT: Mapping[str, Any] = {
    "lr": None,
    "lr_decay": 1.0,
    "lr_decay_every": 30,
    "weight_decay": 0.0,
    "momentum": None,
    "alpha": None,
    "cosine": "vector",
    "correlation": 3.0,
    "local_steps": 1,
    "gossip_steps": None,
    "margin": None,
    "qp": "vector",
    "data_share": 0.5,
    "tracking": None,
    "sam_radius": 0.01,
    "permutations": 8,
    "validation": 0,
    "noise_split": "equal",
}
"""The options that every experiment had before they belonged to algorithms, with their defaults.

Files of that time name all of them, whatever the algorithm. Such a value says nothing.
"""


@final
class Options(Mapping[str, Any]):
    """The options of an algorithm in an experiment: a mapping that does not change."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __repr__(self) -> str:
        return repr(self._values)


# ------------------------------------------------------------------ which there are
def options_of(algorithm: str) -> dict[str, Field[Any]]:
    """The options of an algorithm by name."""
    found = algorithms.named(algorithm).fields
    return {name: f for name, f in found.items() if name not in RESERVED}


def has(algorithm: str, name: str) -> bool:
    """Whether an experiment with this algorithm has an option: a shared one, or the algorithm's."""
    return name in SHARED or name in options_of(algorithm)


def installed() -> dict[str, dict[str, Field[Any]]]:
    """The options of all algorithms: name -> algorithm -> field. Those of old come first.

    An algorithm of another package that cannot be imported is left out.
    """
    found: dict[str, dict[str, Field[Any]]] = {}
    for algorithm in algorithms.usable():
        for name, f in options_of(algorithm).items():
            found.setdefault(name, {})[algorithm] = f
    order = [*FLAT, *sorted(set(found) - set(FLAT))]
    return {name: found[name] for name in order if name in found}


def lacking(name: str, algorithm: str) -> InputError:
    """The error for an option that an algorithm does not have, or that nobody has."""
    known = {*SHARED, *FLAT, *options_of(algorithm), *installed()}
    if name in known:
        return InputError(f"{name} is not an option of {algorithm}.")
    return unknown("option", name, known)


# ------------------------------------------------------------------ what they become
def accepted(algorithm: str, given: Mapping[str, Any]) -> Options:
    """The given values in their types, in the order of the algorithm's fields.

    None is a value only where the field says so. What a file of old says of other algorithms'
    options, because it named them all, is left out.
    """
    own = options_of(algorithm)
    for name, value in given.items():
        if name not in own and not _says_nothing(name, value):
            raise lacking(name, algorithm)
    return Options(
        {
            name: checked(f, given[name])
            for name, f in own.items()
            if name in given and (given[name] is not None or may_be_none(f))
        }
    )


def _says_nothing(name: str, value: Any) -> bool:
    if name not in FLAT:
        return False
    default = FLAT[name]
    if default is None or not isinstance(value, str):
        return bool(value == default)
    try:
        return bool(type(default)(value) == default)
    except ValueError:
        return False


def defaults(algorithm: str, dataset: str, graph: str, noise: str) -> dict[str, Any]:
    """The values of options that are not given: tuned, by data set and graph, or the field's."""
    named = algorithms.named(algorithm)
    by_setting = defaults_for(dataset, graph, noise)
    tuned = named.tuned_for(dataset, graph, noise)
    found: dict[str, Any] = {}
    for name, f in options_of(algorithm).items():
        depends = bool(f.metadata.get("by")) or not has_default(f)
        if name in tuned:
            found[name] = tuned[name]
        elif depends and name in by_setting:
            found[name] = by_setting[name]
        elif has_default(f):
            found[name] = f.default
    return found


def of_object(
    algorithm: object, shared: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    """The name and the options of an algorithm that was given as an object.

    `shared` are the shared options that were given beside it: its fields of such a name are set from
    them, so they must not say otherwise.
    """
    kind = type(algorithm)
    if not hasattr(kind, "__dataclass_fields__"):
        raise InputError(
            f"algorithm must be a name or an algorithm, not a {kind.__name__}."
        )
    found: dict[str, Any] = {}
    for f in fields(algorithm):  # type: ignore[arg-type]
        value = getattr(algorithm, f.name)
        if is_option(f) and f.name not in RESERVED:
            found[f.name] = value
        elif f.name in SHARED:
            _refuse_other(f, value, shared.get(f.name, SHARED[f.name].default), kind)
        elif f.init and not (has_default(f) and value == f.default):
            raise InputError(
                f"{f.name} of {kind.__name__} cannot be an option: options are texts, "
                "numbers or truth values."
            )
    return algorithms.name_of(kind), found


def _refuse_other(f: Field[Any], value: Any, shared: Any, kind: type) -> None:
    if value not in (shared, f.default):
        raise InputError(
            f"{f.name} of {kind.__name__} is set from the experiment, which has "
            f"{shared!r}, not {value!r}; give it to the experiment."
        )
