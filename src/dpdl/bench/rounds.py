"""Whole rounds of an algorithm on a graph: seconds, where they go, and memory.

Every workload is a process of its own. Images and labels are random, of MNIST's or CIFAR-10's
shape: time does not depend on what is in them.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dpdl import graph as graphs
from dpdl.algorithms import named
from dpdl.bench.workloads import SHAPES, refuse_other_model
from dpdl.errors import RunFailed
from dpdl.experiment.experiment import Experiment
from dpdl.experiment.options import has as has_option
from dpdl.folder.bench_results import RoundCost, RoundCosts, TimeShares, Workload
from dpdl.net import Net, Part
from dpdl.parallel import cores, one_thread_per_operation
from dpdl.planning.build import make_algorithm
from dpdl.planning.site import EvaluationRecords
from dpdl.privacy.clip import PerSample
from dpdl.privacy.gradient import PrivateGradient
from dpdl.privacy.mechanism import Mechanism
from dpdl.privacy.noise import Reproducible
from dpdl.privacy.pair_noise import POOLED
from dpdl.privacy.sampling import Poisson
from dpdl.tasks import models
from dpdl.tasks.data.form import Form
from dpdl.tasks.targets import Classes
from dpdl.tasks.task import Task
from dpdl.training.observe import Examiner
from dpdl.types import Batch

TEST_RECORDS = 10_000  # as MNIST and CIFAR-10 have


def measure_rounds(
    cases: Sequence[Workload], begin: Callable[[Workload], None]
) -> RoundCosts:
    """What all workloads cost, and their ratios; `begin` is called before each."""
    rows = []
    for case in cases:
        begin(case)
        rows.append(measure_workload(case))
    return with_ratios(rows)


def measure_workload(case: Workload) -> RoundCost:
    """What a workload costs, from a fresh process, so that its peak memory is its own."""
    command = [sys.executable, "-m", "dpdl.bench.rounds", json.dumps(case.to_json())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        reason = lines[-1] if lines else f"exit code {done.returncode}"
        raise RunFailed(f"{case.algorithm} on {case.graph} of {case.agents}: {reason}.")
    return RoundCost.from_json(json.loads(done.stdout))


TIMED = (
    ("gradients", Mechanism, "gradient"),
    ("secrets", PrivateGradient, "shared"),
    ("secrets", PrivateGradient, "paired"),
    ("exchange", Net, "send"),
    ("exchange", Net, "average"),
    ("exchange", Net, "average_answers"),
    ("exchange", Part, "reply"),
    ("exchange", Part, "sum"),
)
"""What is timed, as which part of a round."""


PARTS = ("gradients", "noise", "secrets", "exchange")
"""What has a share of its own. Secrets: the noise of pairs of agents, drawn and added."""


class Stopwatch:
    """Seconds by name, added up over threads; work within work of its name counts once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._here = threading.local()
        self.reset()

    def reset(self) -> None:
        """Start again."""
        self.seconds = dict.fromkeys(PARTS, 0.0)

    def timed(self, name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        """The same work, timed."""

        def run(*args: Any, **more: Any) -> Any:
            if getattr(self._here, name, False):
                return work(*args, **more)
            setattr(self._here, name, True)
            began = time.perf_counter()
            try:
                return work(*args, **more)
            finally:
                spent = time.perf_counter() - began
                setattr(self._here, name, False)
                with self._lock:
                    self.seconds[name] += spent

        return run


@dataclass(frozen=True)
class TimedNoise:
    """Seeded noise, timed; that of pairs is timed as a whole, where it is added."""

    inner: Reproducible
    watch: Stopwatch
    repeatable = True
    pooled = True

    def uniform(self, count: int, purpose: str, *where: int) -> np.ndarray:
        """As the inner one."""
        return self.inner.uniform(count, purpose, *where)

    def perturb(
        self, row: Tensor, std: float, purpose: str, *where: int, into: Tensor
    ) -> None:
        """As the inner one."""
        of_pairs = purpose == POOLED
        perturb = self.inner.perturb
        timed = perturb if of_pairs else self.watch.timed("noise", perturb)
        timed(row, std, purpose, *where, into=into)

    def pair(
        self,
        row: Tensor,
        std: float,
        own: float,
        purpose: str,
        *where: int,
        into: Tensor,
    ) -> None:
        """As the inner one."""
        self.inner.pair(row, std, own, purpose, *where, into=into)


def play(case: Workload) -> RoundCost:
    """Some rounds in this process."""
    refuse_other_model(case.model)
    shape, watch = SHAPES[case.model], Stopwatch()
    graph = graphs.build(case.graph, case.agents, "metropolis", 0)
    algorithm = make_algorithm(_experiment(case))
    task = Task(models.build(case.model, shape, 10, 0))
    task.hasten(shape)
    noise = TimedNoise(Reproducible(0), watch)
    sampling = Poisson(case.batch, (case.batch,) * case.agents)
    mechanism = Mechanism(PerSample(2.0), sampling, 1.0)
    grad = PrivateGradient(task, mechanism, noise, validate=lambda row: 0.0)
    net = Net(graph)
    for name, kind, verb in TIMED:  # this process does nothing else
        setattr(kind, verb, watch.timed(name, getattr(kind, verb)))
    torch.manual_seed(0)
    state = algorithm.init(task.initial.repeat(case.agents, 1))
    batches = [_batch(case.batch, shape) for _ in range(case.agents)]
    seconds, parts = [], []
    with one_thread_per_operation():
        for t in range(1, case.rounds + 2):  # the first is not counted
            watch.reset()
            began = time.perf_counter()
            state, _ = algorithm.round(state, batches, net, grad, t)
            seconds.append(time.perf_counter() - began)
            parts.append(watch.seconds)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        evaluation = _evaluation(task, state["x"][:10], shape)
    return RoundCost(
        **vars(case),
        seconds_per_round=statistics.median(seconds[1:]),
        share=time_shares(parts[1:], sum(seconds[1:]), cores()),
        evaluation_seconds_per_agent=evaluation,
        peak_memory_mb=peak,
        gradient_path="fused" if task.fused else "plain",
        edges=len(graph.edges),
    )


def _experiment(case: Workload) -> Experiment:
    """The algorithm with a small step, and with example values of options that it must have."""
    short = {"lr": 1e-3} if has_option(case.algorithm, "lr") else {}
    return Experiment(
        algorithm=case.algorithm,
        graph=case.graph,
        agents=case.agents,
        options={**short, **named(case.algorithm).kind.example},
    ).resolved()


def with_ratios(rows: Sequence[RoundCost]) -> RoundCosts:
    """Costs, with what the targets are about as far as it was measured: DPDL with LeNet."""
    found = {
        (row.graph, row.agents): row
        for row in rows
        if (row.algorithm, row.model) == ("dpdl", "lenet")
    }
    few, many = found.get(("complete", 10)), found.get(("complete", 30))
    growth = many.seconds_per_round / few.seconds_per_round if few and many else None
    bipartite = found.get(("bipartite", 10))
    share = bipartite.share if bipartite else None
    overhead = share.exchange + share.other if share else None
    return RoundCosts(tuple(rows), growth, overhead)


def _evaluation(task: Task, rows: Tensor, shape: tuple[int, ...]) -> float:
    """Seconds to test one agent's model, of several at once."""
    test = _batch(TEST_RECORDS, shape)
    tests = dict.fromkeys(range(len(rows)), EvaluationRecords(test.x, test.y))
    examiner = Examiner(task, Form(shape, Classes(10)), tests, common=True)
    # No two models are equal, so that each is tested.
    rows = rows + 1e-3 * torch.arange(len(rows))[:, None]
    began = time.perf_counter()
    examiner.scores(rows, examiner.agents)
    return (time.perf_counter() - began) / len(rows)


def time_shares(
    parts: Sequence[Mapping[str, float]], total: float, count: int
) -> TimeShares:
    """Shares of a total time, of rounds on so many cores.

    Gradients and noise are added up over the cores, so they are divided by their number; the rest
    is `other`.
    """
    gradients, noise, secrets, exchange = (
        sum(part[name] for part in parts) / total for name in PARTS
    )
    gradients, noise = gradients / count, noise / count
    other = max(0.0, 1 - (gradients + noise + secrets + exchange))
    return TimeShares(gradients, noise, exchange, other, secrets)


def _batch(size: int, shape: tuple[int, ...]) -> Batch:
    return Batch(
        torch.randn(size, *shape), torch.randint(0, 10, (size,)), torch.arange(size)
    )


if __name__ == "__main__":
    given = Workload.from_json(json.loads(sys.argv[1]))
    print(json.dumps(play(given).to_json()))
