"""The small world of the algorithms with cross-gradients: one model, noise of a known seed, batches of every size."""

from __future__ import annotations

import torch
from torch import Tensor

from dpdl.algorithms import Algorithm, State
from dpdl.graph import Graph
from dpdl.keys import generator
from dpdl.net import Net
from dpdl.privacy.clipping import PerSample
from dpdl.privacy.mechanism import PrivateGradient
from dpdl.privacy.noise import Reproducible
from dpdl.run.view import gathered
from dpdl.tasks.task import Task
from dpdl.transport import Alone
from dpdl.types import Batch
from tests.conftest import small_batch, small_module

SETTINGS = {"eta": 0.1, "beta": 0.7, "C": 0.6, "sigma": 1.3, "B": 6}
SMALL = Task(small_module(), dtype=torch.float64)
GRAD = PrivateGradient(SMALL, PerSample(0.6, 6), 1.3, 6, Reproducible(3))


def seeded_noise(t: int, i: int, j: int, length: int) -> Tensor:
    return torch.from_numpy(generator(3, "noise", t, i, j).standard_normal(length))


def batches_of(agents: int, t: int) -> list[Batch]:
    return [small_batch(size=(2 + t + j) % 5, seed=10 * t + j) for j in range(agents)]


def play(algorithm: Algorithm, graph: Graph, rounds: int, transport=None, seen=()) -> State:
    net = Net(graph, transport or Alone(), seen)
    state = algorithm.init(SMALL.initial.repeat(len(net.agents), 1))
    for t in range(1, rounds + 1):
        batches = [batches_of(len(graph), t)[int(a)] for a in net.agents]
        state, _ = algorithm.round(state, batches, net, GRAD, t)
    return {key: gathered(transport or Alone(), net.place, rows) for key, rows in state.items()}
