"""What is run: one frozen description.

It is the same in Python, in a TOML file, on the command line and in a run folder.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, final

from dpdl import algorithms
from dpdl.errors import InputError, unknown
from dpdl.experiment.options import (
    Options,
    accepted,
    defaults,
    has,
    of_object,
    options_of,
)
from dpdl.experiment.presets import PRESETS, defaults_for
from dpdl.experiment.shared import LATER, SHARED, Shared
from dpdl.experiment.sites import at_sites, check_sites
from dpdl.options import checked, option
from dpdl.privacy.threats import threat

if TYPE_CHECKING:
    from dpdl.algorithms import Algorithm

    class _Name:
        """For type checkers: a name, which may be given as an algorithm."""

        def __get__(self, experiment: object, owner: type) -> str: ...

        def __set__(self, experiment: object, value: str | Algorithm) -> None: ...


Class = TypeVar("Class", bound=type)


def _sorts_options(cls: Class) -> Class:
    """Let the constructor take options of the algorithm as keywords, and the algorithm as an object.

    Type checkers see the constructor that the dataclass has; there, `options` holds them.
    """
    construct = cls.__init__  # type: ignore[misc]

    @functools.wraps(construct)
    def sort(
        self: Any, *args: Any, options: Mapping[str, Any] = NONE, **given: Any
    ) -> None:
        own = {name: given.pop(name) for name in [*given] if name not in SHARED}
        algorithm = given.get("algorithm", "")
        if not isinstance(algorithm, str):
            _refuse_beside(algorithm, options, own)
            given["algorithm"], options = of_object(algorithm, given)
        construct(self, *args, **given, options={**options, **own})

    cls.__init__ = sort  # type: ignore[misc]
    return cls


def _refuse_beside(
    algorithm: object, options: Mapping[str, Any], own: Mapping[str, Any]
) -> None:
    """An object has all its options; what `replace` passes on belonged to another algorithm."""
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

    The options of the algorithm may also be given as keywords and read as attributes: `lr`, for
    instance. One that is not given is None, and not in `options`; `resolved` sets it. An algorithm may
    be given by name, as `module:Class`, or as an object, which is taken exactly as it is.
    """

    options: Mapping[str, Any] = field(default=NONE)

    if TYPE_CHECKING:
        algorithm: _Name = option("dpdl", "")
    else:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_") or name not in options_of(self.algorithm):
                raise AttributeError(f"This experiment has no {name!r}.")
            return self.options.get(name)

    def __post_init__(self) -> None:
        for name, f in SHARED.items():
            object.__setattr__(self, name, checked(f, getattr(self, name)))
        object.__setattr__(self, "options", accepted(self.algorithm, self.options))
        threat(self.threat)
        check_sites(self)
        if self.noise == "none" and self.sigma is not None:
            raise InputError(
                "noise 'none' and a fixed sigma exclude each other; give one of them."
            )

    def resolved(self) -> Experiment:
        """The same experiment with every default filled in.

        What is given stays. Then come, for an algorithm that was asked for by name, the values that
        were tuned for it or depend on data set and graph, and last the defaults of its fields.
        """
        e = at_sites(replace(self, **self._fixed()))
        if e.sampling == "fixed" and (e.noise != "accountant" or e.sigma is not None):
            # This is what is accounted for; the accountant's own sigma must ask for it.
            e = replace(e, relation="replace-one")
        shared = defaults_for(e.dataset, e.graph, e.noise)
        missing = {
            name: value
            for name, value in shared.items()
            if name in SHARED and getattr(e, name) is None
        }
        own = defaults(e.algorithm, e.dataset, e.graph, e.noise) | dict(e.options)
        for name in options_of(e.algorithm):
            if name not in own:
                raise InputError(
                    f"{name} must be given: it is an option of {e.algorithm} without a "
                    "default."
                )
        return replace(e, **missing, options=own)

    def _fixed(self) -> Mapping[str, Any]:
        """What the name of the algorithm stands for; nothing else may be asked for."""
        fixed = algorithms.named(self.algorithm).fixed
        for name, value in fixed.items():
            asked = getattr(self, name)
            other = asked not in (value, SHARED[name].default)
            if other or (name == "noise" and self.sigma is not None):
                raise InputError(
                    f"{self.algorithm} stands for {name} {value!r}; nothing else can be "
                    "asked for."
                )
        return fixed

    def as_dict(self) -> dict[str, Any]:
        """Plain values by name, for JSON: shared options, and those of the algorithm that are set."""
        shared = {name: getattr(self, name) for name in SHARED}
        unset = {name for name in LATER if shared[name] is None}
        plain = {name: _plain(value) for name, value in shared.items()}
        return {k: v for k, v in plain.items() if k not in unset} | dict(self.options)


def _plain(value: Any) -> Any:
    """As JSON has it."""
    return list(value) if isinstance(value, tuple) else value


def from_mapping(values: Mapping[str, Any]) -> Experiment:
    """An experiment from plain values by name; an unknown name is refused with the nearest ones."""
    return Experiment(**values)


def load(
    file: Path | None, preset: str | None, overrides: Mapping[str, Any]
) -> Experiment:
    """Defaults, then the preset, then the TOML file, then the command line: the later one wins."""
    written = read_toml(file) if file else {}
    preset = preset or written.pop("preset", None)
    written.pop("preset", None)
    if preset is not None and preset not in PRESETS:
        raise unknown("preset", str(preset), PRESETS)
    chosen = {**written, **overrides}
    return from_mapping({**_of_preset(preset, chosen), **chosen})


def _of_preset(preset: str | None, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a preset, without those that only other algorithms have."""
    if preset is None:
        return {}
    algorithm = str(chosen.get("algorithm", SHARED["algorithm"].default))
    return {
        name: value for name, value in PRESETS[preset].items() if has(algorithm, name)
    }


def read_toml(file: Path) -> dict[str, Any]:
    """The options written in a TOML file; those in a table `[algorithm]` are put beside the others."""
    try:
        return _without_table(tomllib.loads(file.read_text("utf-8")))
    except (OSError, UnicodeDecodeError) as failure:
        reason = failure.strerror if isinstance(failure, OSError) else "not a text file"
        raise InputError(
            f"Experiment file {str(file)!r} cannot be read: {reason}."
        ) from failure
    except tomllib.TOMLDecodeError as failure:
        raise InputError(
            f"Experiment file {str(file)!r} is not valid TOML: {failure}."
        ) from failure


def _without_table(written: dict[str, Any]) -> dict[str, Any]:
    """The options of an algorithm may be in a table, with its name."""
    table = written.get("algorithm")
    if not isinstance(table, dict):
        return written
    if not isinstance(table.get("name"), str):
        raise InputError("The table [algorithm] needs the name of an algorithm.")
    name, own = table["name"], {k: v for k, v in table.items() if k != "name"}
    for option_name in own:
        if option_name in SHARED:
            raise InputError(
                f"{option_name} is not an option of {name}: write it above the table "
                "[algorithm]."
            )
        if option_name in written:
            raise InputError(
                f"{option_name} is given twice: in the table [algorithm] and above it."
            )
    return {**written, **own, "algorithm": name}
