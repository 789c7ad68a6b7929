"""DPDL: cross-gradients, calibrated by cosine similarity, with momentum.

Algorithm 1 of Yuan, Xiao, Wang and Li.

Round t, agent i, with x = x^i_{t-1}, v = v^i_{t-1}:

    g_ddot^{ij} = (1/B) (sum_b clip_C(grad F(x^i; zeta^j_b)) + z^{ij})
    z^{ij} ~ N(0, sigma^2 C^2 I)
    g_hat^{ii}  = the same without noise, at i
    C^{ij}  = 1 / (1 + exp(cos(g_ddot^{ij}, r)))
    g~^i    = sum_{j in N_i} g_ddot^{ij} / (sqrt(w_ij) N) + alpha w_ij C^{ij} r
    v~      = beta v + g~^i,   x~ = x - eta v~
    v, x   <- sum_{j in N_i} w_ij v~^j,  sum_{j in N_i} w_ij x~^j

g_ddot^{ij} is computed at j and sent to i; g_hat^{ii} is never sent. `DPDL` takes r = g_hat^{ii},
as the paper's Algorithm 1 does: the update then carries an un-noised gradient, and the noise in it
can be subtracted by whoever saw the cross-gradients. `SoundDPDL` takes r = g_ddot^{ii}: everything
that leaves agent j is then computed from its |N_j| Gaussian releases of the round.

With secure randomness noise lies on a grid, and a gradient that is added to it afterwards would
show between the steps. There `DPDL` draws noise once more, of the same deviation, and adds it to
all that an update has of its own gradient:

    g_ddot^{ii} / (sqrt(w_ii) N) + alpha K r
        becomes   ((1 + alpha N sqrt(w_ii) K) r + z) / (sqrt(w_ii) N),

rounded once. K = sum_j w_ij C^{ij} is still computed from g_ddot^{ii}, which then goes nowhere
else.

What we do differently from the paper's text: a neighbour that holds x^i and receives v~^i computes
x~^i itself, so x~ is not sent. Cosine per parameter tensor, weight decay and step decay are the
public code's; all are off by default.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np

from dpdl.algorithms.algorithm1 import Algorithm1
from dpdl.algorithms.base import (
    Calibration,
    Info,
    State,
    Stepped,
    batch_info,
    momentum_option,
)
from dpdl.algorithms.disclosure import CrossGradients, Disclosure
from dpdl.options import AT_LEAST_ZERO, Range, option
from dpdl.privacy.releases import Release
from dpdl.privacy.threats import EAVESDROPPER
from dpdl.rows import entrywise, products

if TYPE_CHECKING:
    from torch import Tensor

    from dpdl.graph import Graph
    from dpdl.net import Net, Part
    from dpdl.privacy.gradient import Answers, PrivateGradient
    from dpdl.types import Batch


@dataclass(frozen=True)
class Calibrated(Stepped, ABC):
    """The round that both variants share; they differ in the reference r."""

    momentum: float = momentum_option()
    alpha: float = option(
        1.5,
        "weight of the calibration",
        check=AT_LEAST_ZERO,
        search=Range(0, 4),
        by="graph",
    )
    cosine: str = option(
        "vector",
        "one cosine for the whole vector, or one per parameter tensor",
        names=("tensor", "vector"),
    )

    answers_neighbours = True
    mixes_last = True
    calibrates = True
    compressible = True

    @property
    def theorem1_alpha(self) -> float:
        """The theorem is stated for the literal algorithm, and quoted for both variants."""
        return self.alpha

    @property
    def calibration(self) -> Calibration:
        """What undoes the update."""
        exact = self.weight_decay == 0 and self.steady
        noisy = not self.sends_unnoised
        return Calibration(self.alpha, self.momentum, self.lr, noisy, exact)

    @abstractmethod
    def reference(self, answers: Answers, g: Tensor, part: Part) -> Tensor:
        """The direction r, (agents, D), that agents calibrate their cross-gradients with."""

    @abstractmethod
    def releases(self, grad: PrivateGradient) -> tuple[Release, ...]:
        """The three channels of a round."""

    def update(
        self,
        g: Tensor,
        r: Tensor,
        share: Tensor,
        part: Part,
        grad: PrivateGradient,
        t: int,
    ) -> Tensor:
        """g~ of the agents of a part: sum_j g^{ij} / (sqrt(w_ij) N) + share r."""
        g_i = part.sum(g, 1 / (part.w.sqrt() * part.N))
        g_i += share * r
        return g_i

    def init(self, x: Tensor) -> State:
        """Momenta start at zero."""
        return {"x": x, "v": x.new_zeros(x.shape)}

    def round(
        self,
        state: State,
        batches: Sequence[Batch],
        net: Net,
        grad: PrivateGradient,
        t: int,
    ) -> tuple[State, Info]:
        """Three exchanges: models, cross-gradients, momenta."""
        # Agent i sends its model; neighbour j answers with the clipped, perturbed gradient on its
        # own batch. Some agents are answered after others, so that memory never holds the gradients
        # on all edges.
        x = state["x"]
        models = net.send("model", x)
        asked = grad.asked(models, batches, net.visits, t)
        sizes = grad.model.sizes if self.cosine == "tensor" else (x.shape[1],)
        found = net.by_part(
            x.shape[1],
            lambda part: self.calibrated(
                asked.answers(part.numbers), part, sizes, grad, t
            ),
        )

        # Momentum step, then gossip of momentum and model; a neighbour rebuilds x~ from x and v~.
        v = entrywise(
            lambda v, g, x: self.momentum * v + g + self.weight_decay * x,
            state["v"],
            found.pop("g"),
            x,
        )
        eta = self.eta(t)
        momenta = net.send("momentum", v)
        mixed = {
            "x": net.average(models.combine(momenta, lambda x, v: x - eta * v)),
            "v": net.average(momenta),
        }
        return mixed, Info({**batch_info(asked, net), **found})

    def calibrated(
        self,
        answers: Answers,
        part: Part,
        sizes: tuple[int, ...],
        grad: PrivateGradient,
        t: int,
    ) -> dict[str, Tensor]:
        """g~ of the agents of a part, and the mean cosine and coefficient of each."""
        g = part.reply("gradient", answers.private)

        # The less g^{ij} resembles r, the more of r is added to it.
        r = self.reference(answers, g, part)
        cosine = similarity(g, r, part.i, sizes)
        c = coefficient(cosine)
        g_i = self.update(
            g, r, self.alpha * spread(part.sum(c, part.w), sizes), part, grad, t
        )

        share = 1 / part.i.bincount()[part.i].double()
        means = {"cosine": cosine, "coefficient": c}
        return {
            "g": g_i,
            **{
                name: part.sum(value.double().mean(1), share)
                for name, value in means.items()
            },
        }


@final
@dataclass(frozen=True)
class DPDL(Calibrated):
    """Algorithm 1 literally: r is the agent's own clipped gradient, without noise."""

    sends_unnoised = True
    in_theorem2 = True
    caveat = (
        "Algorithm 1 lets an un-noised gradient into what neighbours receive; dpdl-sound "
        "does not."
    )

    @property
    def unproven_because(self) -> str | None:
        """A bias has few entries, and the bound needs many per cosine."""
        return "one cosine per tensor has no proof" if self.cosine == "tensor" else None

    def attainable(self, graph: Graph) -> str:
        """With kappa = 1/2, which a listener can reach."""
        reached = replace(self.disclosure, kappa=0.5).exposure(graph, 0, EAVESDROPPER)
        return (
            "Algorithm 1 sends an un-noised self-gradient inside the momentum; the bound "
            "counts that it contracts its own mask. To leading order in 1/sqrt(d), an "
            "eavesdropper gets at least sigma_eff = sigma / "
            f"{math.sqrt(reached):.3g} (agent 0)."
        )

    @property
    def disclosure(self) -> Algorithm1:
        """The un-noised self-gradient in the momentum costs more than the noise suggests."""
        return Algorithm1(self.alpha, self.cosine)

    def reference(self, answers: Answers, g: Tensor, part: Part) -> Tensor:
        """g_hat^{ii}."""
        return answers.own

    def update(
        self,
        g: Tensor,
        r: Tensor,
        share: Tensor,
        part: Part,
        grad: PrivateGradient,
        t: int,
    ) -> Tensor:
        """Where noise is on a grid, nothing is added to it any more: it comes last."""
        if grad.randomness.repeatable:
            return super().update(g, r, share, part, grad, t)
        weight = 1 / (part.w.sqrt() * part.N)
        own = (1 + share / weight[part.own, None]) * r
        g[part.own] = grad.perturbed(own.to(r.dtype), part.agents, t, "momentum")
        return part.sum(g, weight)

    def releases(self, grad: PrivateGradient) -> tuple[Release, ...]:
        """The momentum carries the un-noised self-gradient."""
        return _channels(
            grad,
            "beta v + g~: cross-gradients, and the self-gradient without noise of its own",
        )


def equal_noise(graph: Graph, alpha: float) -> None:
    """The same noise on all answers needs no factors."""


def calibrated_noise(graph: Graph, alpha: float) -> np.ndarray:
    """Factors on sigma, [asker i, host j], that keep 1 / sigma_eff^2 = sum_i 1 / sigma_ij^2.

    sigma_ij^2 is proportional to 1 / c_ij, the weight that the update gives to that noise: c_ij is
    w_ij^(-1/2) for a neighbour's model and w_jj^(-1/2) + alpha N / 2 for the agent's own.
    """
    W = graph.W
    c = np.divide(1.0, np.sqrt(W), out=np.zeros_like(W), where=W > 0)
    c[np.diag_indices(len(graph))] += alpha * len(graph) / 2
    mean = c.sum(axis=0) / graph.sizes
    squares = np.divide(mean, c, out=np.ones_like(c), where=c > 0)
    return np.asarray(np.sqrt(squares))


SPLITS: Mapping[str, Callable[[Graph, float], np.ndarray | None]] = {
    "calibrated": calibrated_noise,
    "equal": equal_noise,
}
"""How the noise is divided among the answers of an agent, by the name of the split."""


@final
@dataclass(frozen=True)
class SoundDPDL(Calibrated):
    """The same with the perturbed self-gradient, so that nothing un-noised reaches a neighbour."""

    noise_split: str = option(
        "equal",
        "'calibrated' gives less noise to the answers that the update weighs more, at "
        "the same epsilon",
        names=tuple(SPLITS),
    )

    public_diagnostics = frozenset({"cosine", "coefficient"})

    @property
    def disclosure(self) -> Disclosure:
        """All that leaves is computed from |N_i| releases.

        `noise_factors` keep the sum of their precisions.
        """
        return CrossGradients()

    def reference(self, answers: Answers, g: Tensor, part: Part) -> Tensor:
        """g_ddot^{ii}."""
        return g[part.own]

    def releases(self, grad: PrivateGradient) -> tuple[Release, ...]:
        """The momentum is computed from perturbed gradients alone."""
        return _channels(grad, "beta v + g~: perturbed gradients only")

    def noise_factors(self, graph: Graph) -> np.ndarray | None:
        """Those of the split that was chosen."""
        return SPLITS[self.noise_split](graph, self.alpha)


def _channels(grad: PrivateGradient, momentum: str) -> tuple[Release, ...]:
    return (
        Release("model", private=False, carries="x: mixed models of earlier rounds"),
        Release(
            "gradient",
            True,
            "perturbed cross-gradient",
            grad.clip.sensitivity,
            grad.noise_multiplier,
        ),
        Release("momentum", private=False, carries=momentum),
    )


def similarity(g: Tensor, r: Tensor, i: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """Cosine of g[k] and r[i[k]], piece by piece: (asks, pieces).

    A zero vector has no direction: its cosine is 0.
    """
    along, square = products(g, r, i.tolist(), sizes)
    lengths = square.sqrt() * products(r, r, range(len(r)), sizes)[1].sqrt()[i]
    return (along / lengths).where(lengths > 0, along.new_zeros(())).to(g.dtype)


def coefficient(cosine: Tensor) -> Tensor:
    """1 / (1 + exp(S)) of every entry, one by one.

    Torch's sigmoid takes entries in groups and the rest singly, by two formulas that now and then
    differ in the last bit; which entries are the rest depends on how many asks this process has,
    and so on the placement.
    """
    values = [1 / (1 + math.exp(s)) for s in cosine.flatten().tolist()]
    return cosine.new_tensor(values).view(cosine.shape)


def spread(values: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """One value per piece -> one per entry: (agents, D).

    A single piece stays (agents, 1), which fits every entry.
    """
    return (
        values
        if len(sizes) == 1
        else values.repeat_interleave(values.new_tensor(sizes).long(), dim=1)
    )
