"""What an adversary computes from what it heard: rows that a canary moves by a known amount, each with some noise.

An adversary turns the messages of a round into p rows of d numbers, in units of C / B, the most a record can move a
gradient. Its `signal` says how far a canary that took part moves its coordinate of every row. All it uses is what was
heard and what is public: W, alpha, beta, eta, N, B, C. `Combination` then weighs the rows against each other.

Who hears cross-gradients has those of agent i directly. Momenta give more. With G = g~ of a round,

    G^l = v~^l_t - beta sum_j w_lj v~^j_{t-1} = sum_{m in N_l} b_lm g_ddot^{lm} / N + alpha K^l r^l,   b = w^(-1/2),

for every agent l whose neighbours' momenta are heard. Subtract the answers to l that are heard. What is left of agent i
holds its self-gradient; what is left of a neighbour l whose answers are not heard holds g_ddot^{li}; the others hold
noise, which is of use if it is not independent of the rest.

Who sees models only has x_{t+1} = W (x_t - eta v~_t), hence the mixed momenta (W x_t - x_{t+1}) / eta, hence W G.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from dpdl.algorithms import Algorithm, SoundDPDL
from dpdl.algorithms.dpdl import Calibrated
from dpdl.audit.view import Ears, Edge, Heard
from dpdl.errors import InputError
from dpdl.graph import Graph

Numbers = npt.NDArray[np.float64]
RIDGE = 1e-10
"""Keeps rows apart that are equal but for rounding. Small, so that noise that can be subtracted is."""


@final
@dataclass(frozen=True)
class Public:
    """What everybody knows."""

    algorithm: Calibrated
    graph: Graph
    agent: int  # who may have the record
    unit: float  # C / B

    def b(self, i: int, j: int) -> float:
        """w_ij^(-1/2)."""
        return float(self.graph.W[i, j] ** -0.5)

    def neighbours(self, i: int) -> list[int]:
        """N_i without i."""
        return [int(j) for j in self.graph.neighbours(i) if j != i]

    def usual_k(self, agent: int) -> float:
        """K = sum_j w_ij C^{ij} when cross-gradients are nearly orthogonal to r: each C^{ij} is 1/2.

        In `dpdl` the own answer is nearly orthogonal to r too, up to the cosine that the canaries of the batch have
        with it. In `dpdl-sound` it is r, and its cosine is 1.
        """
        own = float(self.graph.W[agent, agent])
        return 0.5 + own * (1 / (1 + math.e) - 0.5) if isinstance(self.algorithm, SoundDPDL) else 0.5


def public(algorithm: Algorithm, graph: Graph, agent: int, unit: float) -> Public:
    """What everybody knows, if the attack knows the algorithm."""
    if not isinstance(algorithm, Calibrated):
        raise InputError(f"The audit knows dpdl and dpdl-sound, not {type(algorithm).__name__}.")
    if algorithm.weight_decay or algorithm.lr_decay != 1:
        raise InputError("The audit wants weight_decay = 0 and lr_decay = 1.")
    return Public(algorithm, graph, agent, unit)


class Adversary(Protocol):
    """Listens round by round."""

    @property
    def signal(self) -> Numbers:
        """How far a canary that takes part moves every row: (p,)."""
        ...

    def listen(self, heard: Heard) -> Tensor | None:
        """The rows of a round, (p, d) in units of C / B; None when there is nothing to compute yet."""
        ...


def adversary(ears: Ears, known: Public) -> Adversary:
    """A fresh one, that has heard nothing."""
    return Models(known) if ears.threat.kind == "final-model" else Links(known, ears)


@final
class Links:
    """Hears cross-gradients and momenta on some links, or on all."""

    def __init__(self, known: Public, ears: Ears) -> None:
        self._public = known
        i, n = known.agent, len(known.graph)
        around = {agent: known.neighbours(agent) for agent in range(n)}
        audible = {j for j in range(n) if any(ears.hears("momentum", j, k) for k in around[j])}
        self._direct: list[Edge] = [(i, k) for k in around[i] if ears.hears("gradient", i, k)]
        # Agents whose momentum can be undone, each with those of its answers that are heard.
        self._undone = {
            agent: [m for m in around[agent] if ears.hears("gradient", m, agent)]
            for agent in range(n)
            if {agent, *around[agent]} <= audible
        }
        self._complete = {agent for agent, answers in self._undone.items() if answers == around[agent]}
        self._momenta: dict[int, Tensor] = {}
        self.signal: Numbers = np.array([1.0] * len(self._direct) + [self._moves(agent) for agent in self._undone])

    def _moves(self, agent: int) -> float:
        """How far a canary moves the remainder of an agent, after the scaling of `_remainder`."""
        p, i = self._public, self._public.agent
        if agent == i:
            whole = 1 + p.algorithm.alpha * len(p.graph) * p.usual_k(i) / p.b(i, i)
            return 1.0 if self._exact(agent) else whole
        hidden = i in p.neighbours(agent) and i not in self._undone[agent]
        return p.b(agent, i) / p.b(agent, agent) if hidden else 0.0

    def _exact(self, agent: int) -> bool:
        """Whether only the perturbed self-gradient remains of an agent, so that its factor can be computed."""
        return isinstance(self._public.algorithm, SoundDPDL) and agent in self._complete

    def listen(self, heard: Heard) -> Tensor | None:
        """Direct cross-gradients, then remainders."""
        momenta = {source: row for (source, _), row in heard["momentum"].items()}
        rows = [heard["gradient"][edge] for edge in self._direct]
        rows += [self._remainder(agent, momenta, heard) for agent in self._undone]
        self._momenta = momenta
        return torch.stack(rows) / self._public.unit if rows else None

    def _remainder(self, agent: int, momenta: dict[int, Tensor], heard: Heard) -> Tensor:
        """G^l without the answers that were heard, in units of b_ll / N or of one self-gradient."""
        p, n = self._public, len(self._public.graph)
        rest = momenta[agent].clone()
        for j in [agent, *p.neighbours(agent)]:
            if j in self._momenta:  # before the first round momenta are zero
                rest.sub_(self._momenta[j], alpha=p.algorithm.momentum * float(p.graph.W[agent, j]))
        for m in self._undone[agent]:
            rest.sub_(heard["gradient"][m, agent], alpha=p.b(agent, m) / n)
        scale = p.b(agent, agent) / n
        if self._exact(agent):
            scale += p.algorithm.alpha * self._k(agent, rest, heard)
        return rest / scale

    def _k(self, agent: int, rest: Tensor, heard: Heard) -> float:
        """K of `dpdl-sound`, exactly: what remains is r times a positive number, and a cosine asks for no more."""
        p = self._public
        k = float(p.graph.W[agent, agent]) / (1 + math.e)
        for m in self._undone[agent]:
            cosine = float(torch.cosine_similarity(heard["gradient"][m, agent], rest, dim=0))
            k += float(p.graph.W[agent, m]) / (1 + math.exp(cosine))
        return k


@final
class Models:
    """Sees the model of every agent at the start of every round, and infers W G of the round before."""

    def __init__(self, known: Public) -> None:
        self._public = p = known
        i, n = p.agent, len(p.graph)
        moved = np.zeros(n)
        for j in p.neighbours(i):
            moved[j] = p.b(j, i) / n
        moved[i] = p.b(i, i) / n + p.algorithm.alpha * p.usual_k(i)
        self.signal: Numbers = p.graph.W @ moved
        self._W = torch.from_numpy(np.array(p.graph.W)).float()
        self._x: Tensor | None = None
        self._v: Tensor | None = None

    def listen(self, heard: Heard) -> Tensor | None:
        """Nothing in the first round: its models are public."""
        by_source = {source: row for (source, _), row in heard["model"].items()}
        x = torch.stack([by_source[j] for j in range(len(self._W))])
        before, self._x = self._x, x
        if before is None:
            self._v = torch.zeros_like(x)
            return None
        assert self._v is not None
        v = (self._W @ before - x) / self._public.algorithm.lr
        rows = v - self._public.algorithm.momentum * self._W @ self._v
        self._v = v
        return rows / self._public.unit


@final
@dataclass(frozen=True)
class Combination:
    """One number per canary and round, with unit noise, that a canary moves by `mu` = 1 / sigma_eff."""

    weights: Numbers
    mu: float

    def __call__(self, rows: Tensor) -> Numbers:
        """The combined row: (p, d) -> (d,)."""
        return np.asarray(self.weights @ rows.double().numpy())

    def score(self, rows: Tensor, rate: float) -> Numbers:
        """log(1 - q + q exp(mu s - mu^2 / 2)): the log-likelihood ratio of a sampled Gaussian, the optimal test."""
        gain = self.mu * self(rows) - self.mu**2 / 2
        if rate >= 1:
            return gain
        return np.asarray(np.logaddexp(math.log1p(-rate), math.log(rate) + gain))


def combine(rehearsed: Iterable[Tensor], signal: Numbers) -> Combination:
    """The best linear combination for the covariance S that the rows have without records: weights S^-1 signal.

    The covariance is measured and not taken from the proof. So an adversary profits from noise that is weaker than
    promised, or shared between messages.
    """
    total, count = np.zeros((len(signal), len(signal))), 0
    for rows in rehearsed:
        values = rows.double().numpy()
        total += values @ values.T
        count += values.shape[1]
    covariance = total / count
    covariance += RIDGE * np.trace(covariance) / len(signal) * np.eye(len(signal))
    direction = np.asarray(np.linalg.solve(covariance, signal), np.float64)
    mu = math.sqrt(max(float(signal @ direction), 0.0))
    return Combination(direction / mu if mu else direction, mu)
