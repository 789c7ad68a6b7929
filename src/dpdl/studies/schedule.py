"""Rounds and batch for a privacy budget: the accountant is asked, and no record is read.

At a given epsilon the noise multiplier sigma(T, B) is known before a run. The mean gradient of a
round has noise of deviation sigma C / B. If the steps of all rounds have a fixed total length L,
the step size is L / T and the noise of all T steps together is sqrt(T) (L / T) sigma C / B, which
is proportional to

    n(T, B) = sigma(T, B) / (B sqrt(T)).

The accountant's n, for Poisson batches and records added or removed (seen at epsilon 0.1 to 8,
rates 0.01 to 1, 1 to 1,000 rounds; sigma is known to a part in 2,000): n falls as T grows, and it
falls as B grows, towards sigma(1, D) / D, one release on all D records. With B = D it is there for
every T, because T Gaussian releases are one with sigma / sqrt(T). A small epsilon is near that
limit early, a large one late: with D = 5400, T = 300 and B = 216, n is 1 % above it at epsilon
0.25 and 43 % above it at epsilon 4.

The other cases: under replace-one n may end a few parts in 1,000 below that limit. Batches of
fixed size are accounted for by Rényi DP, with which n falls to about twice that limit while B < D,
and from there may grow by 1 % with T. If a proof asks for a least noise that is proportional to B
(`dpdl`), n falls with T alone where that decides.

The work grows as T B, so much of it buys little. n is about noise alone: whether T rounds are
enough to learn in, only a score can tell.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

from dpdl import graph as graphs
from dpdl.errors import InputError, PrivacyRefused
from dpdl.experiment.experiment import Experiment
from dpdl.keys import generator
from dpdl.planning.build import make_algorithm, make_privacy_model
from dpdl.planning.noise_rule import rule_of
from dpdl.planning.privacy_model import PrivacyModel
from dpdl.privacy.declared import declared
from dpdl.privacy.epsilon import Epsilon
from dpdl.privacy.threats import Threat, threat
from dpdl.records import Record, key
from dpdl.studies.held_out import HELD_OUT

if TYPE_CHECKING:
    from dpdl.tasks.data import Dataset

FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Rounds and batches that are compared, as multiples of those that the experiment asks for."""
WORK = 4.0
NEAR = 1.25

SigmaOf = Callable[[PrivacyModel, float, Threat], float]
"""The noise multiplier that keeps every agent at or below an epsilon against a listener."""


@final
@dataclass(frozen=True, kw_only=True)
class Schedule(Record):
    """A number of rounds and a batch, with the noise that a budget needs for them."""

    rounds: int  # T
    batch: int  # B
    sigma: float  # the noise multiplier that the budget needs
    total_noise: float = key("noise")  # n = sigma / (B sqrt(T))
    work: float  # T B, as a multiple of the experiment's
    candidate: bool = False  # whether trials may draw it


@final
@dataclass(frozen=True)
class BudgetPlan(Record):
    """Schedules for a budget, without any trial: what `dpdl tune --plan-only --json` prints."""

    plan: tuple[Schedule, ...]
    epsilon: Epsilon
    delta: float
    threat: str


def budget_plan(e: Experiment, plan: Sequence[Schedule]) -> BudgetPlan:
    """The schedules of an experiment, with its budget."""
    return BudgetPlan(tuple(plan), Epsilon(e.epsilon), e.delta, e.threat)


def check_budget(e: Experiment, work: float) -> None:
    """Refuse noise that the accountant does not choose, a missing epsilon, and work not above 0."""
    resolved = e.resolved()
    if rule_of(resolved) != "accountant":
        by_rule = f"noise {resolved.noise!r}"
        given = by_rule if e.sigma is None else f"sigma {e.sigma:g}"
        raise InputError(
            "--for-budget needs noise 'accountant', which finds sigma for an epsilon, "
            f"not {given}."
        )
    if e.rate is not None:
        raise InputError("--for-budget compares batches: give batch, not rate.")
    if e.epsilon is None:
        raise InputError("--for-budget needs a budget: give an epsilon.")
    if not math.isfinite(work) or work <= 0:
        raise InputError(f"work must be a finite number above 0, not {work!r}.")


def schedules(
    experiment: Experiment,
    work: float = WORK,
    progress: bool = False,
    *,
    factors: Sequence[float] = FACTORS,
    sigma_of: SigmaOf = PrivacyModel.needed_sigma,
) -> list[Schedule]:
    """What fits the work, cheapest first: multiples of the experiment's rounds and batch.

    Candidates are, of every number of rounds, the smallest batch whose noise is within 25 % of the
    least: more rounds can be worth more than n says, a larger batch hardly is. Another batch than
    the experiment's is left out if an agent has too few records for it when a tenth is held out,
    and if it would change who holds which records: a score with another partition is about another
    problem.
    """
    check_budget(experiment, work)
    e = experiment.resolved()
    assert e.batch
    model, batches = _model_and_batches(e, progress, factors)
    numbers = _multiples(e.rounds, factors)
    unit = e.rounds * e.batch
    pairs = [(rounds, batch) for batch in batches for rounds in numbers]
    affordable = [(T, B) for T, B in pairs if work * unit >= T * B]
    if not affordable:
        rounds, batch = min(numbers), min(batches)
        raise InputError(
            f"work must be at least {rounds * batch / unit:.4g}, the cost of {rounds} "
            f"rounds with batches of {batch}, and less is not tried; it is {work:g}."
        )
    found = []
    for rounds, batch in affordable:
        mechanism = model.mechanism.with_batch(batch)
        other = replace(model, rounds=rounds, mechanism=mechanism)
        found.append(_schedule(other, e, sigma_of))
    return _marked(found)


def draw(plan: Sequence[Schedule], seed: int, k: int) -> Schedule:
    """The candidate of trial k, by the key (seed, "tune-schedule", k)."""
    candidates = [one for one in plan if one.candidate]
    return candidates[
        int(generator(seed, "tune-schedule", k).integers(len(candidates)))
    ]


def _marked(found: Sequence[Schedule]) -> list[Schedule]:
    """Cheapest first, with the candidates marked."""
    found = sorted(found, key=lambda one: (one.work, one.total_noise))
    enough = NEAR * min(one.total_noise for one in found)
    smallest: dict[int, Schedule] = {}
    for one in found:
        if one.total_noise <= enough:
            smallest.setdefault(one.rounds, one)
    chosen = smallest.values()
    return [replace(one, candidate=one in chosen) for one in found]


def _schedule(model: PrivacyModel, e: Experiment, sigma_of: SigmaOf) -> Schedule:
    assert e.batch and e.epsilon
    rounds, batch = model.rounds, model.batch
    sigma = sigma_of(model, e.epsilon, threat(e.threat))
    if not math.isfinite(sigma):
        raise PrivacyRefused(
            f"No noise multiplier proves epsilon = {e.epsilon:g} against {e.threat} "
            "here."
        )
    return Schedule(
        rounds=rounds,
        batch=batch,
        sigma=sigma,
        total_noise=sigma / (batch * math.sqrt(rounds)),
        work=rounds * batch / (e.rounds * e.batch),
    )


def _multiples(value: int, factors: Sequence[float]) -> list[int]:
    return sorted({max(1, round(factor * value)) for factor in factors})


# ------------------------------------------------------------------ how many records there are
def _model_and_batches(
    e: Experiment, progress: bool, factors: Sequence[float]
) -> tuple[PrivacyModel, list[int]]:
    """All that privacy depends on, and the batches that may stand in for the experiment's."""
    graph = graphs.build(e.graph, e.agents, e.weights, e.seed)
    algorithm = make_algorithm(e)
    algorithm.check(graph)
    sized = algorithm.disclosure.sized
    data = _data(e, sized, progress)
    records = _records(e, data, len(graph))
    size = _size(e, data) if sized else 1
    model = make_privacy_model(e, algorithm, graph, records, size)
    return model, _batches(e, data, records, factors)


def _records(e: Experiment, data: Dataset, agents: int) -> list[int]:
    from dpdl.planning.division import split

    return declared(e.records, [len(part) for part in split(e, data, agents)])


def _batches(
    e: Experiment, data: Dataset, records: list[int], factors: Sequence[float]
) -> list[int]:
    """The experiment's own batch, and those that fit a trial and leave every agent its records."""
    assert e.batch

    def fits(batch: int) -> bool:
        enough = batch * HELD_OUT <= min(records) * (HELD_OUT - 1)
        return (
            enough and _records(replace(e, batch=batch), data, len(records)) == records
        )

    batches = _multiples(e.batch, factors)
    return [batch for batch in batches if batch == e.batch or fits(batch)]


def _data(e: Experiment, whole: bool, progress: bool) -> Dataset:
    """The data set, or for a named one a stand-in with as many records of every class.

    The numbers of records decide the partition, so nothing else is needed. Which classes public
    records take away is not known of a stand-in.
    """
    import torch

    from dpdl.tasks import data as datasets
    from dpdl.tasks.targets import predicted

    counts = datasets.class_counts(e.dataset)
    if counts is None or whole or make_algorithm(e).public_records:
        return datasets.load(e.dataset, progress, predicted(e.predict))
    y = torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts))
    x = torch.zeros(len(y), 1)
    return datasets.Dataset(
        e.dataset, x, y, x[:1], y[:1], len(counts), mean=(0.0,), std=(1.0,)
    )


def _size(e: Experiment, data: Dataset) -> int:
    """The number of parameters of the model, for which the shape of one record is enough."""
    from dpdl.tasks import features, models
    from dpdl.tasks.task import Task

    assert e.model
    first = {name: getattr(data, name)[:1] for name in ("x", "y", "x_test", "y_test")}
    one = features.for_model(e.model, replace(data, name="one record", **first))
    return Task(models.build(e.model, one.shape, data.classes, e.seed)).size
