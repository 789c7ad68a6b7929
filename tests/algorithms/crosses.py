"""The small world of the algorithms with cross-gradients: one model, noise of a known seed, batches of every size."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from dpdl.algorithms import Algorithm, State
from dpdl.graph import Graph
from dpdl.keys import generator
from dpdl.net import Net, Observer
from dpdl.net.net import ENTRIES
from dpdl.privacy.clip import PerSample
from dpdl.privacy.noise import Reproducible
from dpdl.tasks.task import Task
from dpdl.training.instruments import gathered
from dpdl.transport import Post
from dpdl.types import Batch
from tests.conftest import small_batch, small_module
from tests.mechanisms import private_gradient
from tests.places import alone

SETTINGS = {"eta": 0.1, "beta": 0.7, "C": 0.6, "sigma": 1.3, "B": 6}
SMALL = Task(small_module(), dtype=torch.float64)
GRAD = private_gradient(SMALL, PerSample(0.6), 1.3, 6, Reproducible(3))


def seeded_noise(t: int, i: int, j: int, length: int) -> Tensor:
    return torch.from_numpy(generator(3, "noise", t, i, j).standard_normal(length))


def batches_of(agents: int, t: int) -> list[Batch]:
    return [small_batch(size=(2 + t + j) % 5, seed=10 * t + j) for j in range(agents)]


def play(
    algorithm: Algorithm,
    graph: Graph,
    rounds: int,
    post: Post | None = None,
    seen: Sequence[Observer] = (),
    entries: int = ENTRIES,
) -> State:
    post = post or alone()
    net = Net(graph, post, seen, entries)
    state = algorithm.init(SMALL.initial.repeat(len(net.agents), 1))
    for t in range(1, rounds + 1):
        batches = [batches_of(len(graph), t)[int(a)] for a in net.agents]
        state, _ = algorithm.round(state, batches, net, GRAD, t)
    return {key: gathered(post, net.place, rows) for key, rows in state.items()}
