"""The product and a plain-loop reference, fed with the same batches and the same noise."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from dpdl.graph import Graph
from dpdl.keys import generator
from dpdl.net import Net
from dpdl.parallel import one_thread_per_operation
from dpdl.privacy.clip import PerSample, Unclipped
from dpdl.privacy.noise import Reproducible
from dpdl.tasks.task import Task
from dpdl.types import Batch
from tests.conftest import small_batch, small_module
from tests.mechanisms import private_gradient
from tests.reference.dpsgd import Agents

ROUNDS = 4
C, SIGMA, B, DECAY = 0.6, 1.3, 6, 0.05
STEP = {"lr": 0.1, "lr_decay": 0.5, "lr_decay_every": 2, "weight_decay": DECAY}
ETAS = [0.1, 0.1, 0.05, 0.05]

GRAPHS = [
    ("ring", "metropolis"),
    ("complete", "metropolis"),
    ("star", "metropolis"),
    ("erdos-renyi:0.5", "sinkhorn"),
]


def batches_of(agents: int, t: int, seed: int) -> list[Batch]:
    """Some of them empty, some larger than B."""
    return [
        small_batch(size=(3 + t + j) % 9, seed=1000 * seed + 10 * t + j)
        for j in range(agents)
    ]


@one_thread_per_operation()
def product(algorithm, graph: Graph, seed: int) -> dict[str, Tensor]:
    task = Task(small_module(), dtype=torch.float64)
    grad = private_gradient(task, PerSample(C), SIGMA, B, Reproducible(seed))
    state, net = algorithm.init(task.initial.repeat(len(graph), 1)), Net(graph)
    for t in range(1, ROUNDS + 1):
        state, _ = algorithm.round(state, batches_of(len(graph), t, seed), net, grad, t)
    return dict(state)


@one_thread_per_operation()
def plain(kind: type[Agents], graph: Graph, seed: int, **options) -> Agents:
    def noise(t: int, i: int, j: int, length: int) -> Tensor:
        return torch.from_numpy(
            generator(seed, "noise", t, i, j).standard_normal(length)
        )

    twin = kind(graph.W, small_module(), ETAS, DECAY, C, SIGMA, B, noise, **options)
    twin.start(Task(small_module(), dtype=torch.float64).initial)
    for t in range(1, ROUNDS + 1):
        twin.round(
            t,
            [list(zip(b.x, b.y, strict=True)) for b in batches_of(len(graph), t, seed)],
        )
    return twin


def apart(rows: Tensor, twins: list[Tensor]) -> float:
    return float((rows - torch.stack(twins)).abs().max())


class Line(nn.Linear):
    """w'x, starting at zero."""

    def __init__(self, size: int) -> None:
        super().__init__(size, 1, bias=False)
        nn.init.zeros_(self.weight)


class Quadratics:
    """Least squares of agents whose optima and curvatures differ: no noise, no clipping, whole batches.

    The gradient of agent i at x is H_i x - b_i.
    """

    def __init__(self, agents: int, size: int = 3, records: int = 8) -> None:
        draw = torch.Generator().manual_seed(3)
        x = torch.randn(agents, records, size, generator=draw, dtype=torch.float64)
        y = x @ torch.randn(agents, size, 1, generator=draw, dtype=torch.float64)
        self.task = Task(Line(size), loss=nn.functional.mse_loss, dtype=torch.float64)
        self.grad = private_gradient(
            self.task, Unclipped(), 0.0, records, Reproducible(0)
        )
        self.batches = [Batch(x[k], y[k], torch.arange(records)) for k in range(agents)]
        self.H = 2 * x.transpose(1, 2) @ x / records
        self.b = 2 * (x.transpose(1, 2) @ y).squeeze(-1) / records
        self.optimum = torch.linalg.solve(self.H.sum(0), self.b.sum(0))

    def train(
        self, algorithm, graph: Graph, rounds: int, start: Tensor | None = None
    ) -> dict[str, Tensor]:
        x = self.task.initial.repeat(len(graph), 1) if start is None else start
        state, net = algorithm.init(x), Net(graph)
        for t in range(1, rounds + 1):
            state, _ = algorithm.round(state, self.batches, net, self.grad, t)
        return dict(state)
