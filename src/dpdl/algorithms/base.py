"""What an algorithm is: a frozen set of hyper-parameters with `init` and `round`; all state is in the arguments.

The files of this folder name torch in annotations only and compute with the methods of tensors, so that planning, which
asks an algorithm for its disclosure, need not wait for torch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from dpdl.algorithms.disclosure import Disclosure
from dpdl.privacy.releases import Release

if TYPE_CHECKING:
    from torch import Tensor

    from dpdl.graph import Graph
    from dpdl.net import Net
    from dpdl.privacy.mechanism import Answers, Asked, PrivateGradient
    from dpdl.types import Batch

State = Mapping[str, "Tensor"]
"""What the next round needs: named tensors of shape (agents, ...), the models under "x"."""


class Info(NamedTuple):
    """Diagnostics of one round, one number per agent hosted here (NaN where there is none)."""

    values: Mapping[str, Tensor]  # name -> (agents,) float64

    def __repr__(self) -> str:
        return f"Info({', '.join(self.values)})"


class Algorithm(Protocol):
    """One way to learn together. Fields that carry the name of an experiment's option are set from it."""

    def check(self, graph: Graph) -> None:
        """Refuse, by an `InputError`, a graph that the algorithm cannot serve."""
        ...

    @property
    def disclosure(self) -> Disclosure:
        """What a round discloses."""
        ...

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


@dataclass(frozen=True)
class Stepped:
    """What all algorithms share: eta_t = lr lr_decay^floor((t - 1) / lr_decay_every), and weight decay."""

    lr: float
    _: KW_ONLY
    lr_decay: float = 1.0
    lr_decay_every: int = 30
    weight_decay: float = 0.0

    def check(self, graph: Graph) -> None:
        """Any graph will do."""

    def eta(self, t: int) -> float:
        """The step size of round t."""
        return self.lr * self.lr_decay ** ((t - 1) // self.lr_decay_every)

    def own_gradient(
        self, x: Tensor, batches: Sequence[Batch], net: Net, grad: PrivateGradient, t: int
    ) -> tuple[Tensor, Info]:
        """Every agent's clipped and perturbed gradient at its row of x, with weight decay: (agents, D)."""
        answers = grad.own(x, batches, net.selves, t)
        return answers.private + self.weight_decay * x, Info(batch_info(answers, net))


def batch_info(answers: Answers | Asked, net: Net) -> dict[str, Tensor]:
    """Loss of every agent's own model on its own batch, and what clipping did to all its answers."""
    n = len(net.agents)
    loss = [math.nan] * n
    clipped, pieces, broken = [0] * n, [0] * n, [0] * n
    visits = answers.visits
    for (i, j), a, about in zip(visits.edges.tolist(), visits.host.tolist(), answers.about, strict=True):
        clipped[a] += about.clipped
        pieces[a] += about.pieces
        broken[a] += about.broken
        if i == j and about.samples:
            loss[a] = about.loss / about.samples
    share = net.w.new_tensor(clipped) / net.w.new_tensor(pieces)
    return {
        "train_loss": net.w.new_tensor(loss),
        "clip_fraction": share,
        "broken_gradients": net.w.new_tensor(broken),
    }
