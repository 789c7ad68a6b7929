"""The adversary that knows DPDL's algebra: rows that a canary moves by a known amount.

It turns what it heard in a round into p noisy rows of d numbers, in units of C / B, the most a
record can move a gradient. Its `signal` is how far a canary that took part moves its coordinate of
every row. All it uses is what was heard and what is public: W, alpha, beta, eta, N, B, C. How noisy
the rows are it learns in rehearsals.

Who hears cross-gradients has those of agent i directly. Momenta give more. With G = g~ of a round
and b = w^(-1/2),

    G^l = v~^l_t - beta sum_j w_lj v~^j_{t-1}
        = sum_{m in N_l} b_lm g_ddot^{lm} / N + alpha K^l r^l

for every agent l whose neighbours' momenta are heard. Subtract the answers to l that are heard.
What is left of agent i holds its self-gradient; what is left of a neighbour l whose answers are not
heard holds g_ddot^{li}; the others hold noise, which is of use if it is not independent of the
rest.

Who sees models only has x_{t+1} = W (x_t - eta v~_t), hence the mixed momenta
(W x_t - x_{t+1}) / eta, hence W G.

It needs one round at a time, where `dpdl.audit.learnt`, which knows no algebra, keeps many.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol, final

import numpy as np
import torch
from torch import Tensor

from dpdl.algorithms import Algorithm, Calibration
from dpdl.audit.canaries import CROWDS
from dpdl.audit.combine import Combination, Numbers, Rehearsed, combine, covariance
from dpdl.audit.ears import Ears, Edge, Heard
from dpdl.audit.game import NOBODY, Game
from dpdl.graph import Graph

SAMPLES_PER_ROW = 1000
"""Samples of a rehearsal per row: the weights are then within about 0.1 % of the best."""
COORDINATES = 2000
"""Parameters of the model in a rehearsal."""


@final
@dataclass(frozen=True)
class Public:
    """What everybody knows."""

    update: Calibration
    graph: Graph
    agent: int  # who may have the record
    unit: float  # C / B
    own_cosine: float  # of an agent's own answer with its reference r
    # How far the agent's known records move coordinate 0 of its gradient, in these units.
    pull: float = 0.0

    def b(self, i: int, j: int) -> float:
        """w_ij^(-1/2)."""
        return float(self.graph.W[i, j] ** -0.5)

    def neighbours(self, i: int) -> list[int]:
        """N_i without i."""
        return [int(j) for j in self.graph.neighbours(i) if j != i]

    def expected_k(self, agent: int) -> float:
        """K = sum_j w_ij C^{ij} when cross-gradients are nearly orthogonal to r.

        Then each C^{ij} but the own is 1/2.
        """
        own = float(self.graph.W[agent, agent])
        return 0.5 + own * (1 / (1 + math.exp(self.own_cosine)) - 0.5)


def derivable(algorithm: Algorithm) -> bool:
    """Whether the algebra below is that of the algorithm."""
    update = algorithm.calibration
    return update is not None and update.exact


def public_facts(game: Game, crowd: str = "none") -> Public:
    """What everybody knows of a game; its algorithm must be derivable.

    In `dpdl-sound` the own answer is r, and its cosine is 1. In `dpdl` it is nearly orthogonal
    to r, up to the cosine that the canaries of the batch have with it.
    """
    update = game.algorithm.calibration
    assert update is not None
    pull = CROWDS[crowd] * game.rate * (game.records[game.agent] - 1)
    return Public(
        update,
        game.graph,
        game.agent,
        game.grad.clip.clip_norm / game.grad.batch_size,
        1.0 if update.noisy_reference else 0.0,
        pull,
    )


class Listener(Protocol):
    """Listens round by round."""

    @property
    def signal(self) -> Numbers:
        """How far a canary that takes part moves every row: (p,)."""
        ...

    def listen(self, heard: Heard) -> Tensor:
        """The rows of a round, (p, d) in units of C / B."""
        ...


def listener(ears: Ears, known: Public) -> Listener:
    """A fresh one, that has heard nothing."""
    return Models(known) if ears.threat.kind == "final-model" else Links(known, ears)


@final
class Links:
    """Hears cross-gradients and momenta on some links, or on all."""

    def __init__(self, known: Public, ears: Ears) -> None:
        self._public = known
        i, n = known.agent, len(known.graph)
        around = {agent: known.neighbours(agent) for agent in range(n)}
        audible = {
            j for j in range(n) if any(ears.hears("momentum", j, k) for k in around[j])
        }
        answered = [k for k in around[i] if ears.hears("gradient", i, k)]
        self._direct: list[Edge] = [(i, k) for k in answered]
        # Agents whose momentum can be undone, each with those of its answers that are heard.
        self._undone = {
            agent: [m for m in around[agent] if ears.hears("gradient", m, agent)]
            for agent in range(n)
            if {agent, *around[agent]} <= audible
        }
        self._complete = {
            agent for agent, answers in self._undone.items() if answers == around[agent]
        }
        self._momenta: dict[int, Tensor] = {}
        self.signal: Numbers = np.array(
            [1.0] * len(self._direct) + [self._moves(agent) for agent in self._undone]
        )

    def _moves(self, agent: int) -> float:
        """How far a canary moves the remainder of an agent, after the scaling of `_remainder`."""
        p, i = self._public, self._public.agent
        if agent == i:
            whole = 1 + p.update.alpha * len(p.graph) * p.expected_k(i) / p.b(i, i)
            return 1.0 if self._exact(agent) else whole
        hidden = i in p.neighbours(agent) and i not in self._undone[agent]
        return p.b(agent, i) / p.b(agent, agent) if hidden else 0.0

    def _exact(self, agent: int) -> bool:
        """Whether only an agent's perturbed self-gradient remains; its factor is then known."""
        return self._public.update.noisy_reference and agent in self._complete

    def listen(self, heard: Heard) -> Tensor:
        """Direct cross-gradients, then remainders."""
        momenta = {source: row for (source, _), row in heard["momentum"].items()}
        rows = [heard["gradient"][edge] for edge in self._direct]
        rows += [self._remainder(agent, momenta, heard) for agent in self._undone]
        self._momenta = momenta
        return torch.stack(rows) / self._public.unit

    def _remainder(
        self, agent: int, momenta: dict[int, Tensor], heard: Heard
    ) -> Tensor:
        """G^l without the answers that were heard, in units of b_ll / N or of one self-gradient."""
        p, n = self._public, len(self._public.graph)
        rest = momenta[agent].clone()
        for j in [agent, *p.neighbours(agent)]:
            if j in self._momenta:  # before the first round momenta are zero
                share = p.update.momentum * float(p.graph.W[agent, j])
                rest.sub_(self._momenta[j], alpha=share)
        for m in self._undone[agent]:
            rest.sub_(heard["gradient"][m, agent], alpha=p.b(agent, m) / n)
        scale = p.b(agent, agent) / n
        if self._exact(agent):
            scale += p.update.alpha * self._k(agent, rest, heard)
        elif agent == p.agent and p.pull:
            k = self._k_of_others(agent, heard)
            rest[0] -= p.update.alpha * k * p.pull * p.unit
        return rest / scale

    def _k(self, agent: int, rest: Tensor, heard: Heard) -> float:
        """K of `dpdl-sound`, exactly.

        What remains is r times a positive number, and a cosine needs no more.
        """
        p = self._public
        k = float(p.graph.W[agent, agent]) / (1 + math.e)
        for m in self._undone[agent]:
            row = heard["gradient"][m, agent]
            cosine = float(torch.cosine_similarity(row, rest, dim=0))
            k += float(p.graph.W[agent, m]) / (1 + math.exp(cosine))
        return k

    def _k_of_others(self, agent: int, heard: Heard) -> float:
        """The part of K of `dpdl` that is due to the answers that were heard.

        The direction r is that of the agent's known records.
        """
        p, k = self._public, 0.0
        for m in self._undone[agent]:
            row = heard["gradient"][m, agent]
            cosine = math.copysign(1.0, p.pull) * float(row[0] / row.norm())
            k += float(p.graph.W[agent, m]) / (1 + math.exp(cosine))
        return k


@final
class Models:
    """Sees the model of every agent after every round, and infers W G of the round."""

    def __init__(self, known: Public) -> None:
        self._public = p = known
        i, n = p.agent, len(p.graph)
        moved = np.zeros(n)
        for j in p.neighbours(i):
            moved[j] = p.b(j, i) / n
        moved[i] = p.b(i, i) / n + p.update.alpha * p.expected_k(i)
        self.signal: Numbers = p.graph.W @ moved
        self._W = torch.from_numpy(np.array(p.graph.W)).float()
        # Before the first round models and momenta are zero.
        self._x: Tensor | None = None
        self._v: Tensor | None = None

    def listen(self, heard: Heard) -> Tensor:
        """Mixed momenta without the momenta of the round before."""
        x = torch.stack(list(heard["model"].values()))
        zero = 0 * x
        x_before = zero if self._x is None else self._x
        v_before = zero if self._v is None else self._v
        update = self._public.update
        v = (self._W @ x_before - x) / update.lr
        self._x, self._v = x, v
        return (v - update.momentum * self._W @ v_before) / self._public.unit


@final
@dataclass(frozen=True)
class Derived:
    """An adversary that is ready: it weighs the rows of every round alike."""

    ears: Ears
    known: Public
    combination: Combination
    rounds: int

    @property
    def mu(self) -> float:
        """1 / sigma_eff."""
        return self.combination.mu

    def scores(self, game: Game, played: Iterable[Heard], rate: float) -> Numbers:
        """The log-likelihood ratio of every coordinate, added up over the rounds."""
        scores = np.zeros(game.size)
        for rows in _rows(played, self.ears, self.known):
            scores += self.combination.score(rows, rate)
        return scores


def derive(game: Game, ears: Ears, crowd: str = "none") -> Derived | None:
    """An adversary that has rehearsed how noisy its rows are; None if it hears too little."""
    known = public_facts(game, crowd)
    signal = listener(ears, known).signal
    if not len(signal):
        return None
    rounds = 2 + SAMPLES_PER_ROW * len(signal) // COORDINATES

    def rehearsed(name: str) -> Rehearsed:
        home = replace(game.rehearsal(name, COORDINATES), rounds=rounds)
        rows = np.hstack(list(_rows(home.play(NOBODY, ears), ears, known)))
        return Rehearsed(covariance(rows), signal)

    weights = combine(rehearsed("deriving"), rehearsed("trying"))
    return Derived(ears, known, weights, game.rounds)


def _rows(played: Iterable[Heard], ears: Ears, known: Public) -> Iterator[Numbers]:
    ready = listener(ears, known)
    return (ready.listen(heard).double().numpy() for heard in played)
