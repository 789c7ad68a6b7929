"""D-PSGD with noise that pairs of agents share, as much of it as suits the mixing matrix W.

Round t, agent i, with z^i, z^{ij} ~ N(0, sigma^2 C^2 I) and z^{ij} = -z^{ji} a secret of i and j
alone, for any two agents, neighbours or not:

    g~^i = (1/B) (sum_b clip_C(grad F(x^i; zeta^i_b)) + z^i + sum_{j != i} c_ij z^{ij})
    m <- beta m + g~,   x <- sum_{j in N_i} w_ij (x^j - eta m^j)

The c_ij are those for which the least noise is left in the models after K rounds of mixing, at the
same protection (`dpdl.algorithms.covariance`).

This is CorN-DSGD (Rodio, Chen, Larsson, Optimizing Privacy-Utility Trade-off in Decentralized
Learning with Generalized Correlated Noise, 2025; first called Whisper D-SGD): the covariance of all
agents' noise that minimises tr(W R W) under a bound on the diagonal of R^-1. What we do
differently: the paper allows any covariance and does not say who would know which noise; here R is
what secrets of two agents can make, so that a neighbour who listens knows its own pairs and no
others. All agents have own noise of the same variance. The paper looks one round ahead, which is K
= 1. It solves by a commercial package; ours is 40 lines. Momentum, which stays local, is ours.

What an eavesdropper learns is what `Covariance` derives. As in DECOR, nobody but i and j may know
z^{ij}, and it hides nothing from either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, final

import numpy as np

from dpdl.algorithms.base import (
    Info,
    LinkNoise,
    State,
    Stepped,
    StepShown,
    momentum_option,
)
from dpdl.algorithms.coalitions import against_all
from dpdl.algorithms.covariance import covariance, shares
from dpdl.algorithms.disclosure import EveryRound
from dpdl.errors import InputError
from dpdl.options import AT_LEAST_ONE, Range, option
from dpdl.privacy.releases import Release
from dpdl.privacy.threats import EAVESDROPPER, Threat

if TYPE_CHECKING:
    from torch import Tensor

    from dpdl.graph import Graph
    from dpdl.net import Net
    from dpdl.privacy.gradient import PrivateGradient
    from dpdl.types import Batch, Visits

MOST_AGENTS = 128
"""Of more, the proof of secure noise does not hold for every set of factors."""


@final
@dataclass(frozen=True)
class Covariance(EveryRound):
    """One perturbed gradient per agent, with secrets of pairs beside it.

    A listener hears all gradients of a round at once: a message minus what its sender mixed in the
    round before is -eta m, and what it is mixed from was heard. Given all earlier rounds, a record
    moves one gradient by at most C / B, and the joint noise has, entry by entry, the covariance
    sigma^2 R. So it is as well hidden as in one release with sigma_eff^-2 = (R^-1)_ii sigma^-2.

    Who works together knows the noise of all its pairs, and its own. What hides the others is then
    R without its members: I + sum over the other pairs of c^2 (e_i - e_j) (e_i - e_j)'. Pairs need
    not be linked, so a coalition is looked for among all agents: one that is no neighbour may know
    more than all neighbours.
    """

    horizon: int  # K

    def exposure(self, graph: Graph, agent: int, threat: Threat) -> float:
        """(R^-1)_ii; of coalitions the worst, who are taken to hear everything as well."""
        k = threat.neighbours if threat.kind == "neighbours" else 0
        return float(_exposures(self.horizon, graph, k)[agent])

    def proof(self, threat: Threat) -> str:
        """Exact for who has no secret: all gradients of a round follow from the messages."""
        if threat == EAVESDROPPER:
            return "exact: precision matrix of the noise of all agents"
        if threat.kind == "neighbours":
            return (
                "upper bound: precision matrix of the noise outside the worst K anywhere, who "
                "hear everything as well"
            )
        return "upper bound: counted as the eavesdropper"


@lru_cache(maxsize=4096)
def _exposures(horizon: int, graph: Graph, k: int) -> np.ndarray:
    """Of every agent; 1, which is its own noise alone, where coalitions are too many to try."""
    c, agents = shares(graph, horizon), len(graph)
    found = None
    if k < agents - 1:
        found = against_all(agents, k, lambda left: hidden(c[np.ix_(left, left)]))
    return np.ones(agents) if found is None else found


def hidden(c: np.ndarray) -> np.ndarray:
    """(R^-1)_ii of the agents among whom no noise is known."""
    return np.linalg.inv(covariance(c)).diagonal()


@final
@dataclass(frozen=True)
class CorNDSGD(Stepped):
    """Step, then mix; nothing more is sent than by D-PSGD."""

    momentum: float = momentum_option(0.0)
    horizon: int = option(
        1,
        "rounds K of mixing after which the least noise shall be left",
        check=AT_LEAST_ONE,
        search=Range(1, 50, log=True),
    )

    shows_step = StepShown("step", same_round=True, at_mixed=True)
    caveat = "The noise of a pair is a secret of its two ends, and hides nothing from either."
    coalitions_anywhere = True

    @property
    def disclosure(self) -> Covariance:
        """What a listener who lacks the secrets of some pairs can solve for."""
        return Covariance(self.horizon)

    def link_noise(self, graph: Graph) -> LinkNoise | None:
        """Between pairs with a factor; weight decay is added to a gradient before it."""
        c = shares(graph, self.horizon)
        if not c.any():
            return None
        most = int((c > 0).sum(axis=1).max())
        least = float(c[c > 0].min())
        return LinkNoise(float(c.max()), self.weight_decay == 0, most, least)

    def check(self, graph: Graph) -> None:
        """More agents than the proof of secure noise allows."""
        if len(graph) > MOST_AGENTS:
            raise InputError(
                f"corn-dsgd is for at most {MOST_AGENTS} agents, not {len(graph)}: every two of "
                "them share noise. `decor` has noise on the links of the graph alone."
            )

    def init(self, x: Tensor) -> State:
        """Momenta start at zero."""
        return {"x": x, "m": x.new_zeros(x.shape)}

    def round(
        self,
        state: State,
        batches: Sequence[Batch],
        net: Net,
        grad: PrivateGradient,
        t: int,
    ) -> tuple[State, Info]:
        """One exchange: stepped models."""
        own, info = self.own_gradient(state["x"], batches, net, grad, t)
        g = grad.paired(own, pairs(net), shares(net.graph, self.horizon), t)
        m = self.momentum * state["m"] + g
        return {"x": net.mix("step", state["x"] - self.eta(t) * m), "m": m}, info

    def releases(self, grad: PrivateGradient) -> tuple[Release, ...]:
        """The stepped model carries the new gradient."""
        bound = grad.clip.sensitivity
        moved = None if bound is None else self.lr * bound
        return (
            Release(
                "step", True, "x - eta m: mixed models", moved, grad.noise_multiplier
            ),
        )


def pairs(net: Net) -> Visits:
    """What `net.visits` would be if all agents were neighbours."""
    here = len(net.agents)
    hosts = net.selves.host.repeat_interleave(net.N)
    edges = hosts.new_empty(len(hosts), 2)
    edges[:, 0] = net.agents.new_tensor(range(net.N)).repeat(here)
    edges[:, 1] = net.agents[hosts]
    return net.visits._replace(edges=edges, host=hosts)
