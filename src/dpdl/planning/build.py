"""From the words of an experiment to the objects that privacy depends on: the only place.

Behind it nothing reads a word such as "fixed" or "sample" to decide what is private; it asks the
object. No data and no torch are needed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dpdl import algorithms
from dpdl.algorithms import Algorithm
from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.experiment.presets import CENTRE_NOISE
from dpdl.graph import Graph
from dpdl.planning.privacy_model import PrivacyModel
from dpdl.privacy.clip import Clip, PerChunk, PerSample, Unclipped
from dpdl.privacy.mechanism import Mechanism
from dpdl.privacy.sampling import FixedSize, Poisson, Sampling
from dpdl.privacy.theorem1 import Theorem1
from dpdl.privacy.threats import threat


def make_algorithm(e: Experiment) -> Algorithm:
    """The algorithm of an experiment, with its options."""
    return algorithms.make(e.algorithm, e.as_dict())


def make_clip(e: Experiment) -> Clip:
    """How the gradient of a batch is bounded."""
    assert e.clip
    match e.clip_unit:
        case "sample":
            return PerSample(e.clip)
        case "chunks":
            return PerChunk(e.clip, e.chunks)
        case "batch":
            return PerChunk(e.clip, 1)
        case _:
            return Unclipped(e.clip)


def make_sampling(e: Experiment, declared: Sequence[int]) -> Sampling:
    """How batches are drawn from agents that declare so many records."""
    if e.rate is not None:
        return _by_rate(e, e.rate, tuple(declared))
    assert e.batch
    kind = FixedSize if e.sampling == "fixed" else Poisson
    return kind(e.batch, tuple(declared))


def _by_rate(e: Experiment, rate: float, declared: tuple[int, ...]) -> Poisson:
    found = Poisson.at_rate(rate, declared)
    if e.batch not in (None, found.batch_size):
        raise InputError(
            f"batch is {found.batch_size:,} where rate is {rate:g}, from the numbers of records "
            f"that agents declare, not {e.batch:,}; leave one of the two out."
        )
    return found


def with_batch(e: Experiment, sampling: Sampling) -> Experiment:
    """The experiment with the batch that its rate stands for."""
    return e if e.rate is None else replace(e, batch=sampling.batch_size)


def make_privacy_model(
    e: Experiment,
    algorithm: Algorithm,
    graph: Graph,
    declared: Sequence[int],
    size: int,
    sigma: float = 0.0,
) -> PrivacyModel:
    """All that privacy depends on; without `sigma` there is no noise yet."""
    mechanism = Mechanism(make_clip(e), make_sampling(e, declared), sigma)
    relation = e.relation
    if mechanism.sampling.fixed and (e.noise != "accountant" or e.sigma is not None):
        relation = (
            "replace-one"  # whoever lets the accountant choose sigma must ask for it
        )
    model = PrivacyModel(algorithm, graph, mechanism, e.rounds, e.delta, size, relation)
    if e.centre is None:
        return model
    return model.with_centre(e.centre_noise or CENTRE_NOISE, threat(e.threat))


def make_theorem1(e: Experiment, model: PrivacyModel) -> Theorem1 | None:
    """Theorem 1 for this experiment; None when the theorem is not about its algorithm."""
    alpha, graph = model.algorithm.theorem1_alpha, model.graph
    if alpha is None:
        return None
    return Theorem1(
        agents=len(graph),
        fewest_neighbours=int(graph.sizes.min()),
        w_min=graph.w_min,
        w_max=graph.w_max,
        fewest_records=min(model.records),
        batch_size=model.batch,
        rounds=e.rounds,
        delta=e.delta,
        alpha=alpha,
        c2=e.c2,
        h=e.h,
    )
