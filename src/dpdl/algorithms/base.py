"""What an algorithm is: a frozen set of hyper-parameters with `init` and `round`; all state is in the arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from dpdl.graph import Graph
from dpdl.net import Net
from dpdl.privacy import Answers, PrivateGradient
from dpdl.privacy.releases import Release
from dpdl.privacy.threats import Threat
from dpdl.types import Batch

State = Mapping[str, Tensor]
"""What the next round needs: named tensors of shape (agents, ...), the models under "x"."""


class Info(NamedTuple):
    """Diagnostics of one round, one number per agent hosted here (NaN where there is none)."""

    values: Mapping[str, Tensor]  # name -> (agents,) float64


class Algorithm(Protocol):
    """One way to learn together. Fields that carry the name of an experiment's option are set from it."""

    def init(self, x: Tensor) -> State:
        """The state before the first round, from the models (agents, D)."""
        ...

    def round(
        self, state: State, batches: Sequence[Batch], net: Net, grad: PrivateGradient, t: int
    ) -> tuple[State, Info]:
        """Round t = 1, 2, ...: everything that leaves an agent goes through `net`."""
        ...

    def releases(self, grad: PrivateGradient) -> tuple[Release, ...]:
        """Every channel that `round` uses, and what is in it."""
        ...

    def exposure(self, graph: Graph, agent: int, threat: Threat) -> float:
        """(sigma / sigma_eff)^2: how much a round reveals, measured in single Gaussian releases; inf if unbounded."""
        ...

    def least_noise(self, graph: Graph, agent: int, batch_size: int, size: int) -> float:
        """The noise multiplier above which `exposure` is proven, for models of `size` parameters."""
        ...


def batch_info(answers: Answers, net: Net) -> dict[str, Tensor]:
    """Loss of every agent's own model on its own batch, and what clipping did to all its answers."""
    n = len(net.agents)
    loss = torch.full((n,), torch.nan, dtype=torch.float64)
    counts = torch.zeros(3, n, dtype=torch.float64)
    for (i, j), a, about in zip(net.visits.edges.tolist(), net.visits.host.tolist(), answers.about, strict=True):
        counts[:, a] += torch.tensor([about.clipped, about.pieces, about.broken])
        if i == j and about.samples:
            loss[a] = about.loss / about.samples
    clipped, pieces, broken = counts
    return {"train_loss": loss, "clip_fraction": clipped / pieces, "broken_gradients": broken}
