"""Two relatives of `dpdl-sound`, for experiments/cross_gradients.py.

`Blind` takes the same steps with the coefficient that a neighbour's answer has when its cosine is
0: C^{ii} = 1 / (1 + e), as the cosine of a gradient with itself is 1, and C^{ij} = 1/2. Same
answers, same messages, same epsilon; nothing is looked at. What `dpdl-sound` does better than
`Blind` is what calibration by cosine is worth.

`Probed` is `dpdl-sound` that also measures what no agent may know: the cosines without noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

from dpdl.algorithms.base import Info
from dpdl.algorithms.disclosure import CrossGradients
from dpdl.algorithms.dpdl import Calibrated, coefficient, similarity
from dpdl.privacy.releases import Release

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from dpdl.algorithms.base import State
    from dpdl.net import Net, Part
    from dpdl.privacy.gradient import Answers, PrivateGradient
    from dpdl.types import Batch

SELF = 1 / (1 + math.e)
"""C^{ii}: the cosine of a gradient with itself is 1."""


@dataclass(frozen=True)
class Sound(Calibrated):
    """As `dpdl-sound`: r is the agent's own perturbed answer."""

    disclosure = CrossGradients()

    def reference(self, answers: Answers, g: Tensor, part: Part) -> Tensor:
        """g_ddot^{ii}."""
        return g[part.own]

    def releases(self, grad: PrivateGradient) -> tuple[Release, ...]:
        """All of them are computed from perturbed gradients."""
        bound, sigma = grad.clip.sensitivity, grad.noise_multiplier
        return (
            Release("model", private=False, carries="x: mixed models"),
            Release("gradient", True, "perturbed cross-gradient", bound, sigma),
            Release("momentum", private=False, carries="beta v + g~"),
        )


@final
@dataclass(frozen=True)
class Blind(Sound):
    """C^{ij} = 1/2 for every neighbour, whatever its gradient looks like."""

    def calibrated(
        self,
        answers: Answers,
        part: Part,
        sizes: tuple[int, ...],
        grad: PrivateGradient,
        t: int,
    ) -> dict[str, Tensor]:
        """g~ with constant coefficients; nothing to measure."""
        g = part.reply("gradient", answers.private)
        r = self.reference(answers, g, part)
        c = part.w.new_full(part.w.shape, 0.5)
        c[part.own] = SELF
        share = self.alpha * part.sum(c[:, None].to(g.dtype), part.w)
        return {"g": self.update(g, r, share, part, grad, t)}


@final
@dataclass(frozen=True)
class Probed(Sound):
    """Steps as `dpdl-sound`; measures cosines of neighbours with and without noise."""

    def round(
        self,
        state: State,
        batches: Sequence[Batch],
        net: Net,
        grad: PrivateGradient,
        t: int,
    ) -> tuple[State, Info]:
        """The round, and the same questions answered with and without noise."""
        models = net.send("model", state["x"])
        silent = replace(grad, mechanism=replace(grad.mechanism, noise_multiplier=0.0))
        seen = self._seen(grad.answers(models, batches, net.visits, t).private, net)
        clean = self._seen(silent.answers(models, batches, net.visits, t).private, net)
        state, info = super().round(state, batches, net, grad, t)
        found = {f"noisy_{name}": value for name, value in seen.items()}
        found |= {f"clean_{name}": value for name, value in clean.items()}
        return state, Info({**info.values, **found})

    def _seen(self, g: Tensor, net: Net) -> dict[str, Tensor]:
        """Means over neighbours; in one process the rows of visits are those of asks."""
        edges = net.visits.edges
        cosine = similarity(g, g[net.own], edges[:, 0], (g.shape[1],))
        values = {
            "cosine": cosine,
            "coefficient": coefficient(cosine),
            "square": g.double().square().sum(1, keepdim=True),
        }
        others = edges[:, 0] != edges[:, 1]
        asker = edges[others][:, 0]
        return {name: _means(v[others][:, 0], asker) for name, v in values.items()}


def _means(values: Tensor, agents: Tensor) -> Tensor:
    count = agents.bincount()
    total = values.new_zeros(len(count), dtype=count.new_zeros(0).double().dtype)
    return total.index_add(0, agents, values.double()) / count
