"""The description of a run: one frozen object.

It is the same in Python, in a TOML file, on the command line and in a run folder.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, Unpack, final

from dpdl import algorithms, foreign
from dpdl.carried import experiment_file
from dpdl.errors import InputError, reason, unknown
from dpdl.experiment.options import (
    Options,
    accepted,
    defaults,
    has,
    of_object,
    options_of,
)
from dpdl.experiment.presets import CENTRE_NOISE, PRESETS, defaults_for
from dpdl.experiment.shared import LATER, SHARED, Shared
from dpdl.experiment.sites import at_sites, check_sites
from dpdl.options import Value, checked, option
from dpdl.privacy.threats import threat
from dpdl.records import Json, JsonObject, written

if TYPE_CHECKING:
    from dpdl.algorithms import Algorithm
    from dpdl.experiment.typed_options import ExperimentOptions

    class _Name:
        """For type checkers: a name, which may be given as an algorithm."""

        def __get__(self, experiment: object, owner: type) -> str: ...

        def __set__(self, experiment: object, value: str | Algorithm) -> None: ...


Class = TypeVar("Class", bound=type)


def _sorts_options(cls: Class) -> Class:
    """Let the constructor take the algorithm's options as keywords, and the algorithm as an object.

    Type checkers see a constructor with all of them, by `dpdl.experiment.typed_options`. Where
    only Python looks, in a notebook, the help of every option is in the docstring.
    """
    construct = cls.__init__  # type: ignore[misc]

    @functools.wraps(construct)
    def sort(
        self: object,
        *args: object,
        options: Mapping[str, object] = NONE,
        **given: object,
    ) -> None:
        own = {name: given.pop(name) for name in [*given] if name not in SHARED}
        algorithm = given.get("algorithm", "")
        if not isinstance(algorithm, str):
            _refuse_beside(algorithm, options, own)
            given["algorithm"], options = of_object(algorithm, given)
        construct(self, *args, **given, options={**options, **own})

    cls.__init__ = sort  # type: ignore[misc]
    cls.__doc__ = f"{cls.__doc__}\n    Options:\n\n{_listed()}"
    return cls


def _listed() -> str:
    """The shared options, one on a line."""
    return "\n".join(f"    {name}: {f.metadata['help']}" for name, f in SHARED.items())


def _refuse_beside(
    algorithm: object, options: Mapping[str, object], own: Mapping[str, object]
) -> None:
    """Refuse options beside an algorithm that is an object: it has all of its own.

    An `Options` is not refused: `replace` passes it on from the algorithm before.
    """
    beside = [*own, *([] if isinstance(options, Options) else options)]
    if beside:
        raise InputError(
            f"{type(algorithm).__name__} has all its options itself; leave {beside[0]} "
            "out."
        )


NONE = Options({})


@final
@_sorts_options
@dataclass(frozen=True)
class Experiment(Shared):
    """All choices of one training run: the shared options, an algorithm, and its options.

    The options of the algorithm can also be given as keywords and read as attributes, for instance
    `lr`. One that is not given is None and absent from `options`, until `resolved` sets it. The
    algorithm is a name, `module:Class`, or an object, which is taken exactly as it is.
    """

    options: Mapping[str, Value] = field(default=NONE)

    if TYPE_CHECKING:
        algorithm: _Name = option("dpdl", "")

        def __init__(self, **options: Unpack[ExperimentOptions]) -> None: ...
    else:

        def __getattr__(self, name: str) -> Value:
            if name.startswith("_") or name not in options_of(self.algorithm):
                raise AttributeError(f"This experiment has no {name!r}.")
            return self.options.get(name)

    def __post_init__(self) -> None:
        _check_named(self)
        for name, f in SHARED.items():
            object.__setattr__(self, name, checked(f, getattr(self, name)))
        object.__setattr__(self, "options", accepted(self.algorithm, self.options))
        threat(self.threat)
        check_sites(self)
        if self.rate is not None and self.sampling == "fixed":
            raise InputError(
                "rate needs sampling 'poisson': with 'fixed', batches have one size."
            )
        _check_centre(self)
        if self.noise == "none" and self.sigma is not None:
            raise InputError(
                "noise 'none' and a fixed sigma exclude each other; give one of them."
            )

    def resolved(self) -> Experiment:
        """The same experiment with every default filled in.

        Given values stay. The others are, if the algorithm was given by name, the values that were
        tuned for it or that depend on data set and graph; otherwise the defaults of its fields.
        """
        e = at_sites(self._with(self._fixed()))
        if e.sampling == "fixed" and (e.noise != "accountant" or e.sigma is not None):
            # This relation is accounted for. Where the accountant sets sigma, it must be given.
            e = replace(e, relation="replace-one")
        shared = defaults_for(e.dataset, e.graph, e.noise)
        missing = {
            name: value
            for name, value in shared.items()
            if name in SHARED and getattr(e, name) is None
        }
        if e.centre is not None and e.centre_noise is None:
            missing["centre_noise"] = CENTRE_NOISE
        if e.rate is not None:
            missing.pop("batch", None)  # it follows from the records
        own = defaults(e.algorithm, e.dataset, e.graph, e.noise) | dict(e.options)
        for name in options_of(e.algorithm):
            if name not in own:
                raise InputError(
                    f"{name} must be given: it is an option of {e.algorithm} without a "
                    "default."
                )
        return e._with({**missing, "options": own})

    def _with(self, values: Mapping[str, object]) -> Experiment:
        """The same experiment with some other values."""
        change: Callable[..., Experiment] = replace
        return change(self, **values)

    def _fixed(self) -> Mapping[str, str]:
        """The shared options that the name of the algorithm stands for; others are refused."""
        fixed = algorithms.named(self.algorithm).fixed
        for name, value in fixed.items():
            given = getattr(self, name)
            other = given not in (value, SHARED[name].default)
            if other or (name == "noise" and self.sigma is not None):
                raise InputError(
                    f"{self.algorithm} stands for {name} {value!r}; nothing else can be "
                    "given."
                )
        return fixed

    def as_dict(self) -> dict[str, Value]:
        """Values by name: shared options, and those of the algorithm that are set."""
        shared = {name: getattr(self, name) for name in SHARED}
        unset = {name for name in LATER if shared[name] is None}
        known = {name: shared[name] for name in SHARED if name not in unset}
        return {**known, **self.options}

    def to_json(self) -> JsonObject:
        """The same as `json.dumps` takes it."""
        return {name: written(value) for name, value in self.as_dict().items()}

    @classmethod
    def from_json(cls, content: Json, where: str = "") -> Experiment:
        """The experiment that `to_json` wrote, of this version or an older one."""
        if not isinstance(content, dict):
            raise InputError(f"{where or 'An experiment'} must be an object.")
        return from_mapping(content)


WRITTEN = (str, int, float, list, tuple, dict, type(None))
"""What a file or a command line can say."""
GIVEN: Mapping[str, str] = {
    "dataset": "data",
    **{name: name for name in ("model", "graph", "loss", "score")},
}
"""Options whose value is a name, and the arguments of `dpdl.train` that take an object instead."""


def _check_named(e: Experiment) -> None:
    """Refuse an object where its name is expected, and say where to give it."""
    for name, argument in GIVEN.items():
        value = getattr(e, name)
        if not isinstance(value, WRITTEN):
            kind = type(value).__name__
            raise InputError(
                f"{name} must be a name, not of type {kind}; give the object itself as "
                f"dpdl.train(experiment, {argument}=...)."
            )


def _check_centre(e: Experiment) -> None:
    """Refuse noise of a centre that there is not."""
    if e.centre is None and e.centre_noise is not None:
        raise InputError("centre_noise is the noise of a centre: add centre 'private'.")


def from_mapping(values: Mapping[str, object]) -> Experiment:
    """An experiment from values by name, each of which is checked.

    An unknown name is refused, and the error has the nearest known ones.
    """
    make: Callable[..., Experiment] = Experiment
    return make(**values)


def load(
    file: Path | None, preset: str | None, overrides: Mapping[str, object]
) -> Experiment:
    """Defaults, then the preset, then the TOML file, then the command line: the later one wins."""
    in_file = read_toml(file) if file else {}
    from_file = in_file.pop("preset", None)
    name = preset or from_file
    chosen = {**in_file, **overrides}
    return from_mapping({**_of_preset(name, chosen), **chosen})


def _of_preset(preset: object, chosen: Mapping[str, object]) -> dict[str, Value]:
    """The values of a preset, without those that only other algorithms have."""
    if preset is None:
        return {}
    if not isinstance(preset, str) or preset not in PRESETS:
        raise unknown("preset", str(preset), PRESETS)
    algorithm = str(chosen.get("algorithm", SHARED["algorithm"].default))
    return {
        name: value for name, value in PRESETS[preset].items() if has(algorithm, name)
    }


def read_toml(file: Path) -> dict[str, object]:
    """The options in a TOML file, unchecked; those in a table `[algorithm]` join the others.

    An experiment that comes with the package is found by its name.
    """
    file = experiment_file(file)
    try:
        return _without_table({**foreign.read_toml(file)})
    except OSError as failure:
        raise InputError(
            f"Experiment file {str(file)!r} cannot be read: {reason(failure)}."
        ) from failure
    except ValueError as failure:
        raise InputError(
            f"Experiment file {str(file)!r} is not valid TOML: {failure}."
        ) from failure


def _without_table(found: dict[str, object]) -> dict[str, object]:
    """The options of an algorithm may be in a table, beside its name."""
    table = found.get("algorithm")
    if not isinstance(table, dict):
        return found
    if not isinstance(table.get("name"), str):
        raise InputError("The table [algorithm] needs the name of an algorithm.")
    name, own = table["name"], {k: v for k, v in table.items() if k != "name"}
    for option_name in own:
        if option_name in SHARED:
            raise InputError(
                f"{option_name} is not an option of {name}: write it above the table "
                "[algorithm]."
            )
        if option_name in found:
            raise InputError(
                f"{option_name} is given twice: in the table [algorithm] and above it."
            )
    return {**found, **own, "algorithm": name}
