"""Whole rounds of an algorithm on a graph: seconds, where they go, and memory. Every case is a process of its own.

Images and labels are random, of MNIST's or CIFAR-10's shape: time does not depend on what is in them.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dpdl import graph as graphs
from dpdl.algorithms import named, usable
from dpdl.errors import InputError, RunFailed
from dpdl.experiment.experiment import Experiment
from dpdl.experiment.options import has as has_option
from dpdl.net import Net, Part
from dpdl.parallel import cores, one_thread_per_operation
from dpdl.planning.build import make_algorithm
from dpdl.planning.site import EvaluationRecords
from dpdl.privacy.clip import PerSample
from dpdl.privacy.gradient import PrivateGradient
from dpdl.privacy.mechanism import Mechanism
from dpdl.privacy.noise import Reproducible
from dpdl.privacy.sampling import Poisson
from dpdl.tasks import models
from dpdl.tasks.data.form import Form
from dpdl.tasks.targets import Classes
from dpdl.tasks.task import Task
from dpdl.training.observe import Examiner
from dpdl.types import Batch

SHAPES = {"lenet": (1, 28, 28), "cnn": (3, 32, 32)}
TEST_RECORDS = 10_000  # as MNIST and CIFAR-10 have


@dataclass(frozen=True)
class Workload:
    """What is timed."""

    algorithm: str
    graph: str
    agents: int
    model: str = "lenet"
    batch: int = 216
    rounds: int = 5


def workloads(
    algorithms: str, graphs: str, agents: str, model: str, batch: int, rounds: int
) -> list[Workload]:
    """All combinations of names and numbers separated by commas; every algorithm: `all`."""
    if model not in SHAPES:
        raise InputError(f"model must be one of {', '.join(SHAPES)}, not {model!r}.")
    try:
        counts = [int(part) for part in agents.split(",")]
    except ValueError:
        raise InputError(
            f"agents must be whole numbers separated by commas, not {agents!r}."
        ) from None
    chosen = usable() if algorithms == "all" else algorithms.split(",")
    for name in chosen:
        named(name)  # refuses what there is not
    return [
        Workload(algorithm, graph, count, model, batch, rounds)
        for algorithm in chosen
        for graph in graphs.split(",")
        for count in counts
    ]


def measure_all(
    cases: Sequence[Workload], begin: Callable[[Workload], None]
) -> dict[str, Any]:
    """The facts of all cases, and their ratios; `begin` is called before each."""
    rows = []
    for case in cases:
        begin(case)
        rows.append(measure(case))
    return {"rows": rows, **ratios(rows)}


def measure(case: Workload) -> dict[str, Any]:
    """The facts of a case, from a fresh process, so that its peak memory is its own."""
    words = [sys.executable, "-m", "dpdl.bench.rounds", json.dumps(vars(case))]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (
            done.stderr.strip().splitlines()[-1]
            if done.stderr.strip()
            else f"exit code {done.returncode}"
        )
        raise RunFailed(f"{case.algorithm} on {case.graph} of {case.agents}: {reason}.")
    facts: dict[str, Any] = json.loads(done.stdout)
    return facts


TIMED = (
    ("gradients", Mechanism, "gradient"),
    ("exchange", Net, "send"),
    ("exchange", Net, "average"),
    ("exchange", Net, "average_answers"),
    ("exchange", Part, "reply"),
    ("exchange", Part, "sum"),
)
"""What is timed, as which part of a round."""


class Stopwatch:
    """Seconds by name, added up over threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        """Start again."""
        self.seconds = {"gradients": 0.0, "noise": 0.0, "exchange": 0.0}

    def timed(self, name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        """The same work, timed."""

        def run(*args: Any, **more: Any) -> Any:
            began = time.perf_counter()
            try:
                return work(*args, **more)
            finally:
                spent = time.perf_counter() - began
                with self._lock:
                    self.seconds[name] += spent

        return run


@dataclass(frozen=True)
class TimedNoise:
    """Seeded noise, timed."""

    inner: Reproducible
    watch: Stopwatch
    repeatable = True

    def uniform(self, count: int, purpose: str, *where: int) -> np.ndarray:
        """As the inner one."""
        return self.inner.uniform(count, purpose, *where)

    def perturb(
        self, row: Tensor, std: float, purpose: str, *where: int, into: Tensor
    ) -> None:
        """As the inner one."""
        self.watch.timed("noise", self.inner.perturb)(
            row, std, purpose, *where, into=into
        )


def play(case: Workload) -> dict[str, Any]:
    """Some rounds in this process."""
    if case.model not in SHAPES:
        raise InputError(
            f"model must be one of {', '.join(SHAPES)}, not {case.model!r}."
        )
    shape, watch = SHAPES[case.model], Stopwatch()
    graph = graphs.build(case.graph, case.agents, "metropolis", 0)
    short = {"lr": 1e-3} if has_option(case.algorithm, "lr") else {}
    e = Experiment(
        algorithm=case.algorithm,
        graph=case.graph,
        agents=case.agents,
        options={**short, **named(case.algorithm).kind.example},
    )
    algorithm = make_algorithm(e.resolved())
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
    median = statistics.median(seconds[1:])
    share = _shares(parts[1:], sum(seconds[1:]))
    return {
        **vars(case),
        "seconds_per_round": median,
        "share": share,
        "evaluation_seconds_per_agent": evaluation,
        "peak_memory_mb": peak,
        "gradient_path": "fused" if task.fused else "plain",
        "edges": len(graph.edges),
    }


def ratios(rows: list[dict[str, Any]]) -> dict[str, float]:
    """What the targets are about, as far as it was measured: DPDL with LeNet."""
    found = {
        (row["graph"], row["agents"]): row
        for row in rows
        if (row["algorithm"], row["model"]) == ("dpdl", "lenet")
    }
    facts = {}
    if ("complete", 10) in found and ("complete", 30) in found:
        few, many = (found["complete", n]["seconds_per_round"] for n in (10, 30))
        facts["complete_30_over_10"] = many / few
    if ("bipartite", 10) in found:
        share = found["bipartite", 10]["share"]
        facts["overhead_bipartite_10"] = share["exchange"] + share["other"]
    return facts


def _evaluation(task: Task, rows: Tensor, shape: tuple[int, ...]) -> float:
    """Seconds to test one agent's model, of several at once."""
    test = _batch(TEST_RECORDS, shape)
    tests = dict.fromkeys(range(len(rows)), EvaluationRecords(test.x, test.y))
    examiner = Examiner(task, Form(shape, Classes(10)), tests, common=True)
    rows = (
        rows + 1e-3 * torch.arange(len(rows))[:, None]
    )  # no two are equal, so that each is tested
    began = time.perf_counter()
    examiner.scores(rows, examiner.agents)
    return (time.perf_counter() - began) / len(rows)


def _shares(parts: list[dict[str, float]], total: float) -> dict[str, float]:
    """Gradients and noise are added up over the cores, so they are divided by them; the rest is `other`."""
    over = {"gradients": cores(), "noise": cores(), "exchange": 1}
    share = {
        name: sum(part[name] for part in parts) / over[name] / total for name in over
    }
    return {**share, "other": max(0.0, 1 - sum(share.values()))}


def _batch(size: int, shape: tuple[int, ...]) -> Batch:
    return Batch(
        torch.randn(size, *shape), torch.randint(0, 10, (size,)), torch.arange(size)
    )


if __name__ == "__main__":
    print(json.dumps(play(Workload(**json.loads(sys.argv[1])))))
