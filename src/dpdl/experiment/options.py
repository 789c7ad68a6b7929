"""The options of algorithms in an experiment: which there are, their values and their defaults.

The options of an algorithm are the fields of its class, except for fields that are named like a
shared option: those are set from the experiment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields
from typing import final

from dpdl import algorithms
from dpdl.errors import InputError, unknown
from dpdl.experiment.presets import defaults_for
from dpdl.experiment.shared import SHARED
from dpdl.options import Value, checked, has_default, is_option, may_be_none

RESERVED = {*SHARED, "options", "name", "preset"}
"""Names that mean something else in an experiment or in its file."""
FLAT: Mapping[str, Value] = {
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

Files of that time name all of them, whatever the algorithm. There such a default means nothing.
"""


@final
class Options(Mapping[str, Value]):
    """The options of an algorithm that an experiment sets: a mapping that does not change."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Value]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> Value:
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
def options_of(algorithm: str) -> dict[str, Field[Value]]:
    """The options of an algorithm by name."""
    found = algorithms.named(algorithm).fields
    return {name: f for name, f in found.items() if name not in RESERVED}


def has(algorithm: str, name: str) -> bool:
    """Whether an experiment with this algorithm has an option: a shared one, or the algorithm's."""
    return name in SHARED or name in options_of(algorithm)


def installed() -> dict[str, dict[str, Field[Value]]]:
    """The options of all algorithms, name -> algorithm -> field, first those in `FLAT`.

    An algorithm of another package that cannot be imported is left out.
    """
    found: dict[str, dict[str, Field[Value]]] = {}
    for algorithm in algorithms.usable():
        for name, f in options_of(algorithm).items():
            found.setdefault(name, {})[algorithm] = f
    order = [*FLAT, *sorted(set(found) - set(FLAT))]
    return {name: found[name] for name in order if name in found}


def lacking(name: str, algorithm: str) -> InputError:
    """The error for an option that this algorithm, or every algorithm, lacks."""
    known = {*SHARED, *FLAT, *options_of(algorithm), *installed()}
    if name in known:
        return InputError(f"{name} is not an option of {algorithm}.")
    return unknown("option", name, known)


# ------------------------------------------------------------------ what they become
def accepted(algorithm: str, given: Mapping[str, object]) -> Options:
    """The given values, checked and in their types, in the order of the algorithm's fields.

    None counts as not given, unless the type of the field allows it. The options of other
    algorithms that an older file names (see `FLAT`) are left out.
    """
    own = options_of(algorithm)
    for name, value in given.items():
        if name not in own and not _means_nothing(name, value):
            raise lacking(name, algorithm)
    return Options(
        {
            name: checked(f, given[name])
            for name, f in own.items()
            if name in given and (given[name] is not None or may_be_none(f))
        }
    )


def _means_nothing(name: str, value: object) -> bool:
    """Whether an older file may name this option beside an algorithm that lacks it."""
    if name not in FLAT:
        return False
    default = FLAT[name]
    if default is None or not isinstance(value, str):
        return bool(value == default)
    try:
        return bool(type(default)(value) == default)
    except ValueError:
        return False


def defaults(algorithm: str, dataset: str, graph: str, noise: str) -> dict[str, Value]:
    """The default of each option: tuned, by data set and graph, or that of the field."""
    named = algorithms.named(algorithm)
    by_setting = defaults_for(dataset, graph, noise)
    tuned = named.tuned_for(dataset, graph, noise)
    found: dict[str, Value] = {}
    for name, f in options_of(algorithm).items():
        depends = bool(f.metadata.get("by")) or not has_default(f)
        if name in tuned:
            found[name] = tuned[name]
        elif depends and name in by_setting:
            found[name] = by_setting[name]
        elif f.default is not MISSING:
            found[name] = f.default
    return found


def of_object(
    algorithm: object, shared: Mapping[str, object]
) -> tuple[str, dict[str, Value]]:
    """The name and the options of an algorithm that was given as an object.

    `shared` are the shared options that were given beside it. Its fields of the same names are set
    from them, so a field that holds another value is refused.
    """
    kind = type(algorithm)
    if not hasattr(kind, "__dataclass_fields__"):
        raise InputError(
            f"algorithm must be a name or an algorithm, not a {kind.__name__}."
        )
    found: dict[str, Value] = {}
    for f in fields(algorithm):  # type: ignore[arg-type]
        value = getattr(algorithm, f.name)
        if is_option(f) and f.name not in RESERVED:
            found[f.name] = value
        elif f.name in SHARED:
            _refuse_other(f, value, shared.get(f.name, SHARED[f.name].default), kind)
        elif f.init and not (has_default(f) and value == f.default):
            raise InputError(
                f"{f.name} of {kind.__name__} cannot be an option: options are texts, "
                "numbers, truth values or lists of texts."
            )
    return algorithms.name_of(kind), found


def _refuse_other(f: Field[Value], value: object, shared: object, kind: type) -> None:
    if value not in (shared, f.default):
        raise InputError(
            f"{f.name} of {kind.__name__} is set from the experiment, which has "
            f"{shared!r}, not {value!r}; give it to the experiment."
        )
