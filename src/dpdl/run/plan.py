"""From the words of an experiment to the objects that run it. Everything that can be wrong is found here."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from dpdl import graph as graphs
from dpdl.algorithms import Algorithm, SoundDPDL
from dpdl.algorithms.disclosure import Activated, PairedNoise
from dpdl.errors import InputError, PrivacyRefused
from dpdl.graph import Graph
from dpdl.keys import digest, generator
from dpdl.privacy.clipping import Clip, PerChunk, PerSample, Unclipped
from dpdl.privacy.declared import check_few, declared
from dpdl.privacy.mechanism import PrivateGradient
from dpdl.privacy.noise import Reproducible, Secure
from dpdl.privacy.sampling import FixedSize, Poisson, Sampling
from dpdl.privacy.theorem1 import Theorem1, public_code_sigma, public_code_sigma_of_others
from dpdl.privacy.threats import threat
from dpdl.run import brief
from dpdl.run.budget import Allowance, Budget, allowance, parse
from dpdl.run.experiment import Experiment
from dpdl.run.planner import Question, make_algorithm, make_question, make_theorem1
from dpdl.tasks import data as datasets
from dpdl.tasks import features, models
from dpdl.tasks.data import Dataset
from dpdl.tasks.partition import partition
from dpdl.tasks.task import Task
from dpdl.types import Batch

FEWEST_RECORDS = 10


@dataclass(frozen=True)
class Plan:
    """One experiment, ready to run on any placement."""

    experiment: Experiment
    graph: Graph
    data: Dataset
    parts: Sequence[np.ndarray]  # record numbers of every agent
    task: Task
    algorithm: Algorithm
    grad: PrivateGradient
    sampling: Sampling
    theorem1: Theorem1 | None  # None: it is not about this algorithm
    question: Question
    allowance: Allowance | None  # None: no budget was set

    def __repr__(self) -> str:
        return brief.of_plan(self)

    def batches(self, agents: Tensor, t: int) -> list[Batch]:
        """The minibatches of some agents in round t."""
        return [self._batch(int(j), t) for j in agents]

    def _batch(self, j: int, t: int) -> Batch:
        part = self.parts[j]
        records = torch.from_numpy(part[self.sampling(len(part), self.grad.randomness, t, j)])
        key = digest(self.experiment.seed, "dropout", t, j) % 2**62 + records
        x = self.data.inputs(self.data.x[records], self.task.initial.dtype)
        return Batch(x, self.data.y[records], key)


def plan(
    experiment: Experiment,
    *,
    data: Dataset | None = None,
    model: nn.Module | None = None,
    graph: Graph | None = None,
    progress: bool = False,
) -> Plan:
    """The plan of an experiment; objects given here stand in for the names in it."""
    e = experiment.resolved()
    assert e.batch and e.model and e.clip
    graph = graph or graphs.build(e.graph, e.agents, e.weights, e.seed)
    algorithm = make_algorithm(e)
    algorithm.check(graph)
    if e.randomness == "secure" and isinstance(algorithm.disclosure, Activated):
        raise InputError(f"randomness 'secure' is not for {e.algorithm}: whose turn it is is drawn from the seed.")
    if e.randomness == "secure" and isinstance(algorithm.disclosure, PairedNoise):
        raise InputError(f"randomness 'secure' is not for {e.algorithm}: neighbours have no common secret yet.")
    factors = _factors(e, algorithm, graph)
    budgets = parse(e.budget, len(graph), e.delta) if e.budget is not None else None
    if data is None:
        _refuse_without_data(e, algorithm, graph, budgets)
    data = data or datasets.load(e.dataset, progress)
    if model is None:
        data = features.for_model(e.model, data)
    parts = split(e, data, len(graph))
    dtype = {"float32": torch.float32, "float64": torch.float64}[e.dtype]
    task = Task(model or models.build(e.model, data.shape, data.classes, e.seed), dtype=dtype)
    task.check(data.inputs(data.x_test[:2], dtype), data.y_test[:2], data.classes)
    task.hasten(data.shape)
    said = _declared(e, algorithm, [len(part) for part in parts])
    theorem1 = make_theorem1(e, graph, min(said))
    randomness = Secure() if e.randomness == "secure" else Reproducible(e.seed)
    question = make_question(e, algorithm, graph, said, task.size)
    sigma = _sigma(e, question, theorem1)
    grad = PrivateGradient(task, _clip(e), sigma, e.batch, randomness, factors, _validate(e, data, task))
    sampling = FixedSize(e.batch) if e.sampling == "fixed" else Poisson(e.batch, tuple(said))
    allowed = None
    if budgets:
        # Secure randomness pays again for rounds that a crash made it repeat, so there may be more of them than T.
        most = e.rounds if randomness.repeatable else 4 * e.rounds
        allowed = allowance(question, sigma, threat(e.threat), budgets, most)
    return Plan(e, graph, data, parts, task, algorithm, grad, sampling, theorem1, question, allowed)


def _refuse_without_data(e: Experiment, algorithm: Algorithm, graph: Graph, budgets: Sequence[Budget] | None) -> None:
    """Refuse a partition or a budget that cannot be served before any record is read.

    How many records an agent gets depends only on how many there are of every class, which is known of named data sets.
    The size of the model is not known yet; the largest one has the weakest condition on the noise.
    """
    counts = datasets.class_counts(e.dataset)
    if counts is None or e.validation:  # which classes the public records take away is not known
        return
    parts = _divide(e, np.repeat(np.arange(len(counts)), counts), len(graph))
    sizes = _declared(e, algorithm, [len(part) for part in parts])
    question = make_question(e, algorithm, graph, sizes, sys.maxsize)
    if budgets:
        allowance(question, _sigma(e, question, make_theorem1(e, graph, min(sizes))), threat(e.threat), budgets)


def _declared(e: Experiment, algorithm: Algorithm, records: list[int]) -> list[int]:
    """The public numbers of records; nothing but the draw itself may use the true ones."""
    said = declared(e.records, records)
    if algorithm.disclosure.sized:
        check_few(said, records)
    return said


def split(e: Experiment, data: Dataset, agents: int) -> Sequence[np.ndarray]:
    """The record numbers of every agent; each gets at least a batch, and at least ten. Public records are left out."""
    private = np.sort(_shuffled(e, data)[e.validation :])
    return [private[part] for part in _divide(e, data.y.numpy()[private], agents)]


def _divide(e: Experiment, y: np.ndarray, agents: int) -> Sequence[np.ndarray]:
    assert e.batch
    return partition(
        e.partition,
        y,
        agents,
        alpha=e.alpha_d,
        least=max(FEWEST_RECORDS, e.batch),
        seed=e.seed,
        classes_per_agent=e.classes_per_agent,
    )


def _shuffled(e: Experiment, data: Dataset) -> np.ndarray:
    """All record numbers in the order that decides which are public."""
    return generator(e.seed, "validation").permutation(len(data.y))


def _validate(e: Experiment, data: Dataset, task: Task) -> Callable[[Tensor], float] | None:
    """The accuracy of a row's model on the records that are held out as public; None when there are none."""
    if not e.validation:
        return None
    records = torch.from_numpy(np.sort(_shuffled(e, data)[: e.validation]))
    x, y = data.inputs(data.x[records], task.initial.dtype), data.y[records]
    return lambda row: float((task.outputs(row, x).argmax(1) == y).double().mean())


def _clip(e: Experiment) -> Clip:
    assert e.clip and e.batch
    match e.clip_unit:
        case "sample":
            return PerSample(e.clip, e.batch)
        case "chunks":
            return PerChunk(e.clip, e.chunks)
        case "batch":
            return PerChunk(e.clip, 1)
        case _:
            return Unclipped(e.batch, e.clip)


def _factors(e: Experiment, algorithm: Algorithm, graph: Graph) -> np.ndarray | None:
    if isinstance(algorithm, SoundDPDL):
        return algorithm.noise_factors(graph)
    if e.noise_split != "equal":
        raise InputError(f"noise_split {e.noise_split!r} is for dpdl-sound only, not for {e.algorithm}.")
    return None


def _sigma(e: Experiment, question: Question, theorem1: Theorem1 | None) -> float:
    assert e.epsilon and e.batch
    if e.sigma is not None:
        return e.sigma
    match e.noise:
        case "accountant":
            sigma = question.sigma(e.epsilon, threat(e.threat))
            if math.isfinite(sigma):
                return sigma
            cause = f"{e.algorithm} has no proof for a model of {question.size} parameters"
            if question.unproven:
                cause = f"{e.algorithm} has no proof for batches of fixed size"
            if e.cosine == "tensor":
                cause = f"cosine 'tensor' has no proof for {e.algorithm}"
            if not question.bounded:
                cause = f"clip_unit {e.clip_unit!r} does not bound a record, only 'sample' does"
            raise PrivacyRefused(f"No noise multiplier proves epsilon = {e.epsilon:g}: {cause}.")
        case "theorem1":
            if theorem1:
                return theorem1.sigma(e.epsilon)
            raise InputError(f"Theorem 1 says nothing about {e.algorithm}: take noise 'accountant', or a fixed sigma.")
        case "public-code":
            if theorem1:
                return public_code_sigma(question.graph.W, e.batch, e.epsilon)
            return public_code_sigma_of_others(e.epsilon)
        case _:
            return 0.0
