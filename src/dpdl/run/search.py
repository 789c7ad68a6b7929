"""Which hyper-parameters are tried: the trials of a search, by the words of a command line.

Trial 0 has the usual values. Trial k draws each option from the key (seed, "tune", k), log-uniformly where orders of
magnitude matter, so more trials or more options leave the earlier draws as they are. For a budget
(`dpdl.run.schedule`) trials also draw their rounds and their batch from a few candidates. A grid is for one option and
draws nothing: its trials are equally far apart, from one end of the range to the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import NamedTuple, final

from dpdl import algorithms
from dpdl.errors import InputError, unknown
from dpdl.keys import generator
from dpdl.run.experiment import SOME, Experiment
from dpdl.run.options import checked, kind
from dpdl.run.schedule import Schedule, check_budget, draw

SEARCHES = ("grid", "halving", "random")
FACTOR = 3
FIELDS = {f.name: f for f in fields(Experiment)}


class Range(NamedTuple):
    """Where values of an option are drawn from."""

    low: float
    high: float
    log: bool = False


# The order is that of the draws: new ones go to the end.
RANGES = {
    "lr": Range(0.01, 1, log=True),
    "clip": Range(0.1, 10, log=True),
    "momentum": Range(0, 0.95),
    "alpha": Range(0, 4),
    "weight_decay": Range(1e-6, 1e-2, log=True),
    "lr_decay": Range(0.8, 1),
    "local_steps": Range(1, 8),
    "gossip_steps": Range(1, 10),
    "margin": Range(0, 1),
    "data_share": Range(0, 1),
    "tracking": Range(0, 1),
    "sam_radius": Range(1e-3, 0.1, log=True),
}


@final
@dataclass(frozen=True)
class Search:
    """What is asked for."""

    experiment: Experiment
    ranges: Mapping[str, Range]  # in the order of RANGES
    trials: int
    search: str = "random"
    work: float | None = None  # None: rounds and batch are those of the experiment
    plan: tuple[Schedule, ...] = ()  # that rounds and batches are drawn from

    def values(self, k: int) -> dict[str, float | int]:
        """The options of trial k; trial 0 has the usual ones, if it is not the first of a grid."""
        if self.search == "grid":
            return {name: _at(name, one, k / (self.trials - 1)) for name, one in self.ranges.items()}
        if k == 0:
            e = self.experiment.resolved()
            values = {name: getattr(e, name) for name in self.ranges}
        else:
            draws = dict(zip(RANGES, generator(self.experiment.seed, "tune", k).random(len(RANGES)), strict=True))
            values = {name: _at(name, one, float(draws[name])) for name, one in self.ranges.items()}
        return values if self.work is None else {**values, **self._scheduled(k, values)}

    def _scheduled(self, k: int, values: Mapping[str, float | int]) -> dict[str, float | int]:
        """Rounds, batch and step size of trial k: lr T is what the drawn (or usual) lr makes of the experiment's T."""
        e = self.experiment.resolved()
        assert e.batch and e.lr
        lr, rounds, batch = values.get("lr", e.lr), e.rounds, e.batch
        if k:
            rounds, batch, *_ = draw(self.plan, e.seed, k)
        if rounds != e.rounds:
            lr = float(f"{lr * e.rounds / rounds:.4g}")
        return {"lr": lr, "rounds": rounds, "batch": batch}

    def rungs(self, k: int = 0) -> list[int]:
        """The rounds after which trial k is compared with the others; the last is its end."""
        rounds = self.experiment.rounds if self.work is None else int(self.values(k)["rounds"])
        if self.search != "halving":
            return [rounds]
        return sorted({math.ceil(rounds / FACTOR**k) for k in (2, 1, 0)})


def _at(name: str, r: Range, share: float) -> float | int:
    """The value at a share of the range, with four digits."""
    if kind(FIELDS[name]) is int:
        return min(int(r.low) + int(share * (int(r.high) - int(r.low) + 1)), int(r.high))
    value = r.low * (r.high / r.low) ** share if r.log else r.low + share * (r.high - r.low)
    return min(max(float(f"{value:.4g}"), r.low), r.high)


# ------------------------------------------------------------------------ from words to a search
def ask(
    e: Experiment, over: str, trials: int, search: str = "random", ranges: Iterable[str] = (),
    work: float | None = None,
) -> Search:  # fmt: skip
    """The search that the words of a command line ask for; with `work`, one for a budget."""
    if trials < 1:
        raise InputError(f"trials must be a whole number of at least 1, not {trials}.")
    if search not in SEARCHES:
        raise unknown("search", search, SEARCHES)
    if work is not None:
        check_budget(e, work)
        if search != "random":
            raise InputError(
                f"--for-budget needs search 'random', not {search!r}: its trials differ in rounds and batch."
            )
    chosen = [_option(name, "--over") for name in filter(None, (name.strip() for name in over.split(",")))]
    if not chosen:
        raise InputError("over must be one or more options, separated by commas.")
    has = algorithms.named(e.algorithm)
    for name in chosen:
        if (name in SOME and name not in has.options) or name in has.fixed:
            raise InputError(f"{name} is not an option of {e.algorithm}.")
    own = dict(_range(words) for words in ranges)
    for name in own:
        if name not in chosen:
            raise InputError(f"--range is about {name}, which --over does not name.")
    drawn = {name: own.get(name, usual) for name, usual in RANGES.items() if name in chosen}
    found = Search(e, drawn, trials, search, work)
    if search == "grid":
        _check_grid(found)
    return found


def _check_grid(s: Search) -> None:
    if len(s.ranges) != 1 or s.trials < 2:
        raise InputError("A grid needs exactly one option in --over and at least 2 trials; use search 'random'.")
    (name,) = s.ranges
    different = len({s.values(k)[name] for k in range(s.trials)})
    if different < s.trials:
        raise InputError(f"A grid of {s.trials} trials has only {different} different values of {name} in its range.")


def _option(name: str, where: str) -> str:
    name = name.replace("-", "_")
    if name not in RANGES:
        raise unknown(f"option of {where}", name, RANGES)
    return name


def _range(words: str) -> tuple[str, Range]:
    """`option=low:high`."""
    name, _, ends = words.partition("=")
    option = _option(name, "--range")
    of = kind(FIELDS[option])
    try:
        low, high = (checked(FIELDS[option], of(end)) for end in ends.split(":"))
    except ValueError:
        raise InputError(f"--range must be option=low:high with two numbers, not {words!r}.") from None
    if low >= high:
        raise InputError(f"--range {words}: low must be below high.")
    if RANGES[option].log and low <= 0:
        raise InputError(f"--range {words}: low must be above 0, because {option} is drawn by orders of magnitude.")
    return option, Range(low, high, RANGES[option].log)
