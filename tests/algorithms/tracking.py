"""Worlds in which the tracking algorithms are tried: random records, and quadratics whose optimum is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from dpdl import graph as graphs
from dpdl.algorithms.base import Algorithm
from dpdl.graph import Graph
from dpdl.keys import generator
from dpdl.net import Leaving, Net
from dpdl.privacy.clip import PerSample, Unclipped
from dpdl.privacy.gradient import PrivateGradient
from dpdl.privacy.noise import Reproducible
from dpdl.tasks.task import Task
from dpdl.types import Batch
from tests.conftest import small_batch, small_module
from tests.mechanisms import private_gradient
from tests.reference.gradient_tracking import Sample

AGENTS, ROUNDS = 5, 4
B, C, SIGMA = 6, 0.6, 1.3
LR, LR_DECAY, DECAY = 0.1, 0.5, 0.01  # the step is halved every two rounds
OPTIONS: dict[str, Any] = {
    "lr": LR,
    "lr_decay": LR_DECAY,
    "lr_decay_every": 2,
    "weight_decay": DECAY,
}

several_graphs = pytest.mark.parametrize(
    "graph",
    [
        graphs.build("ring", AGENTS, "metropolis", 0),
        graphs.build("complete", AGENTS, "metropolis", 0),
        graphs.build("star", AGENTS, "metropolis", 0),
        graphs.build("erdos-renyi:0.5", AGENTS, "sinkhorn", 3),
    ],
    ids=["ring", "complete", "star", "erdos-renyi"],
)


def batches_of(t: int) -> list[Batch]:
    """The batches of a round, of different sizes; some are empty."""
    return [small_batch(size=(2 + t + j) % 4, seed=10 * t + j) for j in range(AGENTS)]


def samples_of(t: int) -> list[list[Sample]]:
    return [list(zip(b.x, b.y, strict=True)) for b in batches_of(t)]


def starts() -> Tensor:
    """A different model for every agent."""
    task = Task(small_module(), dtype=torch.float64)
    rows = task.initial.repeat(AGENTS, 1)
    return rows + 0.1 * torch.randn(
        rows.shape, dtype=rows.dtype, generator=torch.Generator().manual_seed(8)
    )


def gradient(
    sigma: float = SIGMA, seed: int = 0, task: Task | None = None
) -> PrivateGradient:
    task = task or Task(small_module(), dtype=torch.float64)
    return private_gradient(task, PerSample(C), sigma, B, Reproducible(seed))


def play(
    algorithm: Algorithm, graph: Graph, observers: Sequence[Any] = ()
) -> Iterator[Mapping[str, Tensor]]:
    """The state after every round, with noise on."""
    net, grad, state = (
        Net(graph, observers=observers),
        gradient(),
        algorithm.init(starts()),
    )
    for t in range(1, ROUNDS + 1):
        state, _ = algorithm.round(state, batches_of(t), net, grad, t)
        yield state


def reference(kind: type, graph: Graph, **more: Any) -> Any:
    """The plain loops in the same world; they see the product's noise."""

    def noise(t: int, i: int, j: int, length: int) -> Tensor:
        return torch.from_numpy(generator(0, "noise", t, i, j).standard_normal(length))

    eta = [LR * LR_DECAY ** (k // 2) for k in range(ROUNDS)]
    return kind(
        graph.W,
        small_module(),
        eta,
        DECAY,
        C,
        SIGMA,
        B,
        noise,
        x=list(starts()),
        **more,
    )


def apart(rows: Tensor, expected: Sequence[Tensor]) -> float:
    return float((rows - torch.stack(list(expected))).abs().max())


# ------------------------------------------------------------------------------------------- heterogeneous quadratics
class Line(nn.Linear):
    def __init__(self) -> None:
        super().__init__(3, 1, bias=False)
        nn.init.zeros_(self.weight)


class Quadratics:
    """Least squares on a ring of five agents whose own optima differ; neither noise nor clipping."""

    def __init__(self) -> None:
        draw = torch.Generator().manual_seed(0)
        self.graph = graphs.ring(5)
        # Hessians 2 A'A / B with eigenvalues from 0.64 to 1.44, different for every agent, so that few rounds suffice.
        U, _, V = torch.linalg.svd(
            torch.randn(5, B, 3, generator=draw, dtype=torch.float64),
            full_matrices=False,
        )
        lengths = 0.8 + 0.4 * torch.rand(5, 1, 3, generator=draw, dtype=torch.float64)
        self.A = (B / 2) ** 0.5 * (U * lengths) @ V
        y = self.A @ torch.randn(5, 3, 1, generator=draw, dtype=torch.float64)
        self.batches = [Batch(self.A[k], y[k], torch.arange(B)) for k in range(5)]
        self.optimum = torch.linalg.lstsq(
            self.A.flatten(0, 1), y.flatten(0, 1)
        ).solution.flatten()
        self.y = y
        self.task = Task(Line(), loss=nn.functional.mse_loss, dtype=torch.float64)
        self.grad = private_gradient(self.task, Unclipped(), 0.0, B, Reproducible(0))
        self.W = torch.from_numpy(self.graph.W.copy())

    def gradients(self, x: Tensor) -> Tensor:
        """Every agent's gradient at its row, in closed form."""
        residual = self.A @ x[:, :, None] - self.y
        return 2 * (self.A.transpose(1, 2) @ residual).squeeze(-1) / B

    def start(self) -> Tensor:
        return self.task.initial.repeat(5, 1)

    def settle(self, algorithm: Algorithm, rounds: int) -> Mapping[str, Tensor]:
        net, state = Net(self.graph), algorithm.init(self.start())
        for t in range(1, rounds + 1):
            state, _ = algorithm.round(state, self.batches, net, self.grad, t)
        return state

    def distance(self, x: Tensor) -> float:
        """Of the worst agent from the common optimum."""
        return float((x - self.optimum).norm(dim=1).max())

    def d_psgd(self, eta: float, rounds: int) -> float:
        """How far plain D-PSGD is from it in the end."""
        x = self.start()
        for _ in range(rounds):
            x = self.W @ x - eta * self.gradients(x)
        return self.distance(x)


# ------------------------------------------------------------------------------------ what leaves, and how it can move
class Tap:
    """Keeps what leaves, by round and channel."""

    def __init__(self) -> None:
        self.rounds: list[dict[str, list[Leaving]]] = []

    def next_round(self) -> None:
        self.rounds.append({})

    def __call__(self, leaving: Leaving) -> None:
        kept = Leaving(leaving.channel, leaving.edges, leaving.rows.clone(), leaving.at)
        self.rounds[-1].setdefault(leaving.channel, []).append(kept)


def taped(
    algorithm: Algorithm, rounds: Sequence[Sequence[Batch]], grad: PrivateGradient
) -> Tap:
    """What leaves on a ring of five agents with these batches."""
    tap, graph = Tap(), graphs.ring(5)
    net = Net(graph, observers=[tap])
    state = algorithm.init(torch.zeros(5, sum(grad.model.sizes), dtype=torch.float64))
    for t, batches in enumerate(rounds, 1):
        tap.next_round()
        state, _ = algorithm.round(state, batches, net, grad, t)
    return tap


def movement(algorithm: Algorithm, rounds: int, where: int) -> list[dict[str, float]]:
    """How far one record, in the batch of agent 2 in round `where`, moves what it sends: per round and channel.

    The loss is linear in the model, so that later gradients do not react: what moves is that one gradient alone.
    Noise is off. A channel that was used more than once in a round counts by its last use.
    """
    task = Task(Line(), loss=lambda out, y: (out * y).sum(), dtype=torch.float64)
    grad = gradient(0.0, task=task)
    draw = torch.Generator().manual_seed(1)
    x = 3 * torch.randn(
        rounds, 5, 4, 3, generator=draw, dtype=torch.float64
    )  # long enough to be clipped

    def batch(t: int, i: int, less: bool) -> Batch:
        records = x[t, i, 1:] if less else x[t, i]
        return Batch(
            records,
            torch.ones(len(records), 1, dtype=torch.float64),
            torch.arange(len(records)),
        )

    def sent(drop: bool) -> list[dict[str, Tensor]]:
        plan = [
            [batch(t, i, drop and (t + 1, i) == (where, 2)) for i in range(5)]
            for t in range(rounds)
        ]
        return [
            {name: found[-1].rows[2] for name, found in r.items()}
            for r in taped(algorithm, plan, grad).rounds
        ]

    return [
        {name: float((a[name] - b[name]).norm()) for name in a}
        for a, b in zip(sent(False), sent(True), strict=True)
    ]


# ------------------------------------------------------------------------------------------------------- zero gradients
WIDE = 400
"""Entries of a row: so many independent draws of noise."""


def only_noise(seed: int = 0) -> PrivateGradient:
    """Private gradients of a wide model; with empty batches they are noise alone, of deviation 1."""
    task = Task(
        nn.Linear(WIDE, 1, bias=False), loss=nn.functional.mse_loss, dtype=torch.float64
    )
    return private_gradient(task, PerSample(1.0), 1.0, 1, Reproducible(seed))


def nothing() -> Batch:
    return Batch(
        torch.zeros(0, WIDE, dtype=torch.float64),
        torch.zeros(0, 1, dtype=torch.float64),
        torch.zeros(0).long(),
    )


def noise_of_mean_tracker(algorithm: Algorithm, key: str, rounds: int) -> list[float]:
    """Variance, over the entries, of the mean tracker after every round, when all batches are empty."""
    graph, grad = graphs.ring(5), only_noise()
    net, state = Net(graph), algorithm.init(torch.zeros(5, WIDE, dtype=torch.float64))
    found = []
    for t in range(1, rounds + 1):
        state, _ = algorithm.round(state, [nothing()] * 5, net, grad, t)
        found.append(float(state[key].mean(dim=0).var()))
    return found
