"""The hyper-parameters that a search tries: its trials, from a request on the command line.

Trial 0 has the defaults. Trial k draws each option from a key, log-uniformly where orders of
magnitude matter: the options in `FIRST`, together, from (seed, "tune", k), and every other one
from a key with its name. So more trials, more options and more algorithms leave all other draws as
they are. For a budget (`dpdl.studies.schedule`) trials also draw their rounds and their batch from
a few candidates. A grid is for one option and draws nothing: its trials are equally far apart,
from one end of the range to the other. The ranges are those that the options declare.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import Field, dataclass
from typing import Literal, final, get_args

from dpdl import algorithms
from dpdl.bounds import count
from dpdl.errors import InputError, unknown
from dpdl.experiment.experiment import Experiment, from_mapping
from dpdl.experiment.options import has, installed, options_of
from dpdl.experiment.shared import SHARED
from dpdl.keys import generator
from dpdl.options import Range, Value, checked, kind
from dpdl.studies.schedule import Schedule, check_budget, draw

SearchName = Literal["grid", "halving", "random"]
SEARCHES = get_args(SearchName)
FACTOR = 3
FIRST = (
    "lr",
    "clip",
    "momentum",
    "alpha",
    "weight_decay",
    "lr_decay",
    "local_steps",
    "gossip_steps",
    "margin",
    "data_share",
    "tracking",
    "sam_radius",
)
"""The options that share one key, in the order of their draws; none is ever added."""


def searched(algorithm: str) -> list[str]:
    """The options that have a range, here or in any installed algorithm.

    Those in `FIRST` come first, and then the others by name.
    """
    declared = [*SHARED.values(), *options_of(algorithm).values()]
    for having in installed().values():
        declared += having.values()
    ranged = {f.name for f in declared if f.metadata.get("search")}
    return [*FIRST, *sorted(ranged - set(FIRST))]


def field_of(algorithm: str, name: str) -> Field[Value]:
    """The option of that name, shared or the algorithm's."""
    return SHARED.get(name) or options_of(algorithm)[name]


def with_options(e: Experiment, values: Mapping[str, Value]) -> Experiment:
    """The same experiment with other values of some options, shared or the algorithm's."""
    return from_mapping({**e.as_dict(), **values})


@final
@dataclass(frozen=True)
class Search:
    """The request for a search."""

    experiment: Experiment
    ranges: Mapping[str, Range]  # in the order of `searched`
    trials: int
    search: str = "random"
    work: float | None = None  # None: rounds and batch are those of the experiment
    plan: tuple[Schedule, ...] = ()  # that rounds and batches are drawn from

    def values(self, k: int) -> dict[str, Value]:
        """The options of trial k; trial 0 has the defaults, if it is not the first of a grid."""
        if self.search == "grid":
            return self._at_shares(dict.fromkeys(self.ranges, k / (self.trials - 1)))
        values: dict[str, Value]
        if k == 0:
            known = self.experiment.resolved().as_dict()
            values = {name: known.get(name) for name in self.ranges}
        else:
            values = self._at_shares(self._draws(k))
        return values if self.work is None else {**values, **self._scheduled(k, values)}

    def _draws(self, k: int) -> dict[str, float]:
        """A share of its range for every option, between 0 and 1."""
        seed = self.experiment.seed
        together = generator(seed, "tune", k).random(len(FIRST)).tolist()
        first = dict(zip(FIRST, together, strict=True))
        return {
            name: first[name]
            if name in first
            else float(generator(seed, f"tune {name}", k).random())
            for name in self.ranges
        }

    def _at_shares(self, shares: Mapping[str, float]) -> dict[str, Value]:
        algorithm = self.experiment.algorithm
        return {
            name: _at(kind(field_of(algorithm, name)), one, shares[name])
            for name, one in self.ranges.items()
        }

    def _scheduled(self, k: int, values: Mapping[str, Value]) -> dict[str, Value]:
        """Rounds and batch of trial k, and its step size, if it has one.

        lr T is what the drawn lr, or the default, makes of the experiment's T.
        """
        e = self.experiment.resolved()
        rounds, batch = self._schedule(k)
        found: dict[str, Value] = {"rounds": rounds}
        if batch is not None:
            found["batch"] = batch
        if not has(e.algorithm, "lr"):
            return found
        lr = _number(values.get("lr", e.options["lr"]))
        if rounds != e.rounds:
            lr = float(f"{lr * e.rounds / rounds:.4g}")
        return {"lr": lr, **found}

    def _schedule(self, k: int) -> tuple[int, int | None]:
        """Rounds and batch of trial k. Trial 0, and all without a budget, have the experiment's.

        No batch: it follows from the experiment's rate.
        """
        e = self.experiment.resolved()
        if self.work is None or k == 0:
            return e.rounds, e.batch
        one = draw(self.plan, e.seed, k)
        return one.rounds, one.batch

    def rungs(self, k: int = 0) -> list[int]:
        """The rounds after which trial k is compared with the others; the last is its end."""
        rounds, _ = self._schedule(k)
        if self.search != "halving":
            return [rounds]
        return sorted({math.ceil(rounds / FACTOR**step) for step in (2, 1, 0)})


def _at(of: type, r: Range, share: float) -> float | int:
    """The value at a share of the range: a whole number, or one with four digits."""
    by_factor = float(r.low * (r.high / r.low) ** share) if r.log else math.nan
    if of is int:
        low, high = int(r.low), int(r.high)
        evenly = low + int(share * (high - low + 1))
        return min(round(by_factor) if r.log else evenly, high)
    value = by_factor if r.log else r.low + share * (r.high - r.low)
    return min(max(float(f"{value:.4g}"), r.low), r.high)


# ------------------------------------------------------------------ from a command line
def make_search(
    e: Experiment,
    over: str,
    trials: int,
    search: str = "random",
    ranges: Iterable[str] = (),
    work: float | None = None,
) -> Search:
    """The search that a command line asks for; with `work`, one for a budget.

    `over` are options separated by commas, `ranges` are of the form `option=low:high`.
    """
    count("trials", trials)
    if search not in SEARCHES:
        raise unknown("search", search, SEARCHES)
    if e.sites is not None:
        raise InputError(
            "dpdl tune holds out records of a data set that is divided; at sites there "
            "is none. Leave out sites."
        )
    if work is not None:
        _check_for_budget(e, search, work)
    drawn = _ranges(e.algorithm, over, ranges)
    if work is not None and "batch" in drawn:
        raise InputError("--for-budget chooses the batch; leave batch out of --over.")
    found = Search(e, drawn, trials, search, work)
    if search == "grid":
        _check_grid(found)
    return found


def _check_for_budget(e: Experiment, search: str, work: float) -> None:
    check_budget(e, work)
    if search != "random":
        raise InputError(
            f"--for-budget needs search 'random', not {search!r}: its trials differ in "
            "rounds and batch."
        )


def _ranges(algorithm: str, over: str, given: Iterable[str]) -> dict[str, Range]:
    """The range of every chosen option: the given one, or the one that the option declares."""
    named = [name.strip() for name in over.split(",") if name.strip()]
    chosen = [_option(algorithm, name, "--over") for name in named]
    if not chosen:
        raise InputError("over must be one or more options, separated by commas.")
    own = dict(_range(algorithm, text) for text in given)
    for name in own:
        if name not in chosen:
            raise InputError(f"--range is about {name}, which --over does not name.")
    declared = {name: field_of(algorithm, name).metadata["search"] for name in chosen}
    every = declared | own
    return {name: every[name] for name in searched(algorithm) if name in every}


def _check_grid(s: Search) -> None:
    if len(s.ranges) != 1 or s.trials < 2:
        raise InputError(
            "A grid needs exactly one option in --over and at least 2 trials; use search "
            "'random'."
        )
    (name,) = s.ranges
    different = len({s.values(k)[name] for k in range(s.trials)})
    if different < s.trials:
        raise InputError(
            f"A grid of {s.trials} trials has only {different} different values of {name} "
            "in its range."
        )


def _number(value: Value) -> float | int:
    """The value of an option that is a number."""
    assert isinstance(value, int | float)
    return value


def _option(algorithm: str, name: str, where: str) -> str:
    name = name.replace("-", "_")
    if name not in searched(algorithm):
        raise unknown(f"option of {where}", name, searched(algorithm))
    if not has(algorithm, name) or name in algorithms.named(algorithm).fixed:
        raise InputError(f"{name} is not an option of {algorithm}.")
    if not field_of(algorithm, name).metadata.get("search"):
        raise InputError(f"{name} of {algorithm} has no range to draw it from.")
    return name


def _range(algorithm: str, text: str) -> tuple[str, Range]:
    """`option=low:high`."""
    name, _, ends = text.partition("=")
    option = _option(algorithm, name, "--range")
    f = field_of(algorithm, option)
    of, log = kind(f), f.metadata["search"].log
    try:
        low, high = (_number(checked(f, of(end))) for end in ends.split(":"))
    except ValueError:
        raise InputError(
            f"--range must be option=low:high with two numbers, not {text!r}."
        ) from None
    if low >= high:
        raise InputError(f"--range {text}: low must be below high.")
    if log and low <= 0:
        raise InputError(
            f"--range {text}: low must be above 0, because {option} is drawn by orders "
            "of magnitude."
        )
    return option, Range(low, high, log)
