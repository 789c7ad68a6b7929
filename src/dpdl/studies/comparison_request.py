"""What a comparison is asked for: algorithms, seeds, shared options, and what is equal for all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, replace
from pathlib import Path
from typing import Literal, final, get_args

from dpdl import algorithms
from dpdl.bounds import count
from dpdl.errors import InputError, unknown
from dpdl.experiment.experiment import Experiment, from_mapping, load, read_toml
from dpdl.experiment.options import FLAT, has, installed, lacking, options_of
from dpdl.experiment.presets import PRESETS
from dpdl.experiment.shared import SHARED
from dpdl.options import Typed, Value, checked, kind
from dpdl.records import Record, key, others

LrFrom = Literal["default", "given", "tuned"]
"""Where the step size of an algorithm is from.

`tuned`: a search found it, of this comparison or for the data set (`Tuned` of the algorithm);
`given`: by an option; `default`: nobody looked for it.
"""
Equal = Literal["bytes", "epsilon", "sigma"]
"""What all runs of a comparison have in common."""
COMMON = {
    "agents",
    "algorithm",
    "alpha_d",
    "budget",
    "classes_per_agent",
    "dataset",
    "delta",
    "dtype",
    "epsilon",
    "graph",
    "loss",
    "model",
    "noise",
    "partition",
    "predict",
    "relation",
    "scaling",
    "score",
    "seed",
    "shape",
    "sigma",
    "sites",
    "test",
    "threat",
    "weights",
}
"""Options that cannot be set for one algorithm alone: then there would be nothing to compare."""
ONCE_SHARED = ("lr", "lr_decay", "lr_decay_every", "weight_decay", "noise_split")
"""Options of algorithms that were shared in the first version, and are compared as if they were."""


@final
@dataclass(frozen=True)
class ComparisonTerms(Record):
    """What all runs of a comparison share; a later request for its folder must not differ."""

    equal: Equal
    megabytes: float | None = key("bytes")
    preset: str | None = None
    options: Mapping[str, Value] = others()


@final
@dataclass(frozen=True)
class Comparison:
    """The request for a comparison."""

    shared: Mapping[str, Value]  # options of all algorithms, as given
    own: Mapping[str, Mapping[str, Value]]  # algorithm -> options of it alone
    seeds: tuple[int, ...]
    preset: str | None = None
    equal: Equal = "epsilon"
    megabytes: float | None = None
    """That all agents together may send in a run, when bytes are equal."""
    tuned: frozenset[str] = frozenset()
    """Algorithms whose step size in `own` a search of this comparison found."""

    def experiment(self, algorithm: str) -> Experiment:
        """What is run of an algorithm, with the first seed.

        Shared options that the algorithm does not have, or that its name decides, are left out.
        """
        named = algorithms.named(algorithm)
        ruled = {*named.fixed, "sigma"} if "noise" in named.fixed else set(named.fixed)
        kept = {
            name: value
            for name, value in self.shared.items()
            if name not in ruled and has(algorithm, name)
        }
        own = {**self.own[algorithm], "algorithm": algorithm, "seed": self.seeds[0]}
        return load(None, self.preset, {**kept, **own}).resolved()

    def lr_from(self, algorithm: str) -> LrFrom | None:
        """Where the step size of an algorithm is from; None: it has none."""
        if not has(algorithm, "lr"):
            return None
        if algorithm in self.tuned:
            return "tuned"
        of_preset = PRESETS.get(self.preset or "", {})
        if "lr" in {*self.own[algorithm], *self.shared, *of_preset}:
            return "given"
        e = self.experiment(algorithm)
        known = algorithms.named(algorithm).tuned_for(e.dataset, e.graph, e.noise)
        return "tuned" if "lr" in known else "default"

    def with_lr(self, found: Mapping[str, Value]) -> Comparison:
        """The same comparison with step sizes that were searched for, by algorithm."""
        own = {
            name: {**options, "lr": found[name]} if name in found else options
            for name, options in self.own.items()
        }
        return replace(self, own=own, tuned=frozenset(found))

    def terms(self) -> ComparisonTerms:
        """What all runs share; options that were not given have their defaults."""
        common = {*SHARED, *ONCE_SHARED}
        options = Experiment().as_dict() | {name: FLAT[name] for name in ONCE_SHARED}
        options |= {name: self._given(name) for name in self.shared if name in common}
        del options["seed"], options["algorithm"]
        return ComparisonTerms(self.equal, self.megabytes, self.preset, options)

    def _given(self, name: str) -> Value:
        """A shared option; one that was typed, or is a list, in its type."""
        value = self.shared[name]
        first = next(algorithm for algorithm in self.own if has(algorithm, name))
        f = _field(first, name)
        as_given = type(value) is not Typed and kind(f) is not tuple
        return value if as_given else checked(f, value)


# ------------------------------------------------------------------ from a command line
def make_comparison(
    names: str,
    seeds: int,
    options: Mapping[str, Value],
    sets: Iterable[str] = (),
    *,
    file: Path | None = None,
    preset: str | None = None,
    equal: str | None = None,
    megabytes: float | None = None,
) -> Comparison:
    """The comparison that a command line asks for.

    `names` are algorithms separated by commas, `sets` are of the form `ALGORITHM.option=value`.
    `options` win over those in the file.
    """
    count("seeds", seeds)
    chosen = _algorithms(names)
    in_file = read_toml(file) if file else {}
    preset = preset or _text(in_file.get("preset"))
    aside = {"preset", "algorithm"} | ({"rounds"} if megabytes is not None else set())
    every = {**in_file, **options}
    given = {name: value for name, value in every.items() if name not in aside}
    first = _first_seed(given, chosen)
    shared = {name: _value(value) for name, value in given.items()}
    own: dict[str, dict[str, Value]] = {name: {} for name in chosen}
    for text in sets:
        name, option, value = own_option(text, chosen)
        own[name][option] = value
    if megabytes is not None:
        _refuse_rounds(options, *own.values())
    which = _equal(equal, megabytes, shared)
    chosen_seeds = tuple(range(first, first + seeds))
    return Comparison(shared, own, chosen_seeds, preset, which, megabytes)


def own_option(text: str, chosen: Sequence[str]) -> tuple[str, str, Value]:
    """`ALGORITHM.option=value`, in parts; the value is in the type of the option."""
    left, equals, value = text.partition("=")
    name, dot, option = left.rpartition(".")
    if not equals or not dot:
        raise InputError(f"--set must be ALGORITHM.option=value, not {text!r}.")
    if name not in chosen:
        raise unknown("algorithm of --set", name, chosen)
    option = option.replace("-", "_")
    if option in COMMON:
        raise InputError(
            f"{option} is the same for all algorithms of a comparison; --set cannot "
            f"change it for {name}."
        )
    return name, option, checked(_field(name, option, " of --set"), Typed(value))


def _algorithms(names: str) -> list[str]:
    chosen = [name.strip() for name in names.split(",") if name.strip()]
    if not chosen:
        raise InputError("algorithms must be one or more names, separated by commas.")
    for k, name in enumerate(chosen):
        algorithms.named(name)
        if name in chosen[:k]:
            raise InputError(f"algorithms names {name} twice.")
    return chosen


def _text(preset: object) -> str | None:
    return None if preset is None else str(preset)


def _value(value: object) -> Value:
    """A value that was checked, from a file or a command line."""
    if isinstance(value, list):
        return tuple(map(str, value))
    assert value is None or isinstance(value, bool | int | float | str | tuple)
    return value


def _field(algorithm: str, option: str, where: str = "") -> Field[Value]:
    """The field of an option, shared or the algorithm's."""
    found = {**SHARED, **options_of(algorithm)}
    if option in found:
        return found[option]
    if option in {*FLAT, *installed()}:
        raise lacking(option, algorithm)
    raise unknown(f"option{where}", option, found)


def _first_seed(given: Mapping[str, object], chosen: Sequence[str]) -> int:
    """The seed that was given, after everything that was given for all has been checked.

    An option must be a shared one, or one of at least one algorithm.
    """
    shared = {name: value for name, value in given.items() if name in SHARED}
    first = from_mapping(shared).seed
    for name in given.keys() - SHARED.keys():
        having = [algorithm for algorithm in chosen if has(algorithm, name)]
        for algorithm in having:
            checked(_field(algorithm, name), given[name])
        if not having and name in {*FLAT, *installed()}:
            raise InputError(f"{name} is an option of none of {', '.join(chosen)}.")
        if not having:
            raise lacking(name, chosen[0])
    return first


def _refuse_rounds(*given: Mapping[str, Value]) -> None:
    if any("rounds" in options for options in given):
        raise InputError(
            "--bytes sets the rounds of every algorithm; leave out rounds."
        )


def _equal(
    equal: str | None, megabytes: float | None, shared: Mapping[str, Value]
) -> Equal:
    """What the algorithms have in common, from what was given."""
    if equal is not None and equal not in get_args(Equal):
        raise unknown("equal", equal, get_args(Equal))
    if megabytes is not None and not 0 < megabytes < float("inf"):
        raise InputError(
            f"bytes must be a finite number of megabytes above 0, not {megabytes!r}."
        )
    meant = _meant(megabytes, shared)
    if equal in (None, meant):
        return meant
    if megabytes is not None:
        raise InputError(
            "--bytes makes the bytes equal; it cannot be given together with --equal "
            f"{equal}."
        )
    if equal == "bytes":
        raise InputError("--equal bytes needs --bytes MB.")
    if equal == "sigma":
        raise InputError("--equal sigma needs --sigma.")
    needless = "--sigma" if shared.get("sigma") is not None else "noise none"
    raise InputError(
        f"--equal epsilon lets a rule set the noise; leave out {needless}."
    )


def _meant(megabytes: float | None, shared: Mapping[str, Value]) -> Equal:
    """What is equal unless it is named: whatever was given a number."""
    if megabytes is not None:
        return "bytes"
    if shared.get("sigma") is not None or shared.get("noise") == "none":
        return "sigma"
    return "epsilon"
