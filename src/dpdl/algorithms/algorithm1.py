"""What Algorithm 1 discloses: its update carries the agent's gradient r without noise of its own.

With b_lm = w_lm^(-1/2), the update of agent l is

    sum_m b_lm g_ddot^{lm} + alpha N K^l r^l,     K^l = sum_m w_lm C^{lm}.

A listener who knows the noise of the agents J knows the rest of it up to noise zeta of deviation
|b| sigma, with |b|^2 = sum over m outside J of b_lm^2. The coefficients C^{lm} depend on zeta, too,
so the update is

    Y = zeta + beta r + gain K(r, zeta) r,        gain = alpha N / |b|,   beta = b_li / |b|

(in units of C / B and divided by |b|), a curved function of a Gaussian. `docs/privacy.md` proves
what follows. Whoever compares two data sets that differ in one record compares Y with a shift of
zeta by at most

    own update of agent i:    beta + gain (kappa + w_ii x) / (1 - c)
    another agent's:          beta + gain  w_li (1 - beta^2) x / (1 - c)
    with   x = largest / (4 rho),   c = gain coupling x,
           coupling = sum over hidden m of w_lm b_lm / |b|:

c is how much the un-noised term contracts its own mask, `largest` bounds a batch and rho the length
of a noisy answer from below. The shift varies with zeta by at most a rate l times the size of two
entries of zeta; the log-likelihood ratio therefore is that of a shifted Gaussian up to a remainder
R, and the round is dominated by a single Gaussian release whose mu is a little larger
(`dominating`). Above c = 1 nothing is proven.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, final

from dpdl.algorithms.disclosure import MOST_COALITIONS, Setting
from dpdl.graph import Graph
from dpdl.privacy.accounting import Effect
from dpdl.privacy.threats import EAVESDROPPER, FINAL_MODEL, ONE_NEIGHBOUR, Threat

KAPPA = 0.7581
"""Lipschitz constant of x -> x / (1 + exp(cos(r, x))): a proven bound; 1/2 is attainable."""
TINY = 1e-5
"""Below this mu, a probability of almost one half has lost the digits that count."""
LARGEST = 1e9
"""The noise multiplier beyond which none is looked for: a model may be too small for any."""
MANY = 10**6
"""Entries beyond which a simple bound on their length is as good as the exact one."""
CLOSE = 1e-6
"""How far above the smallest sufficient sigma, as a share of it, `sigma` may be."""


class Update(NamedTuple):
    """An update with an answer of agent i, as a listener sees it who knows the noise of some."""

    own: bool  # the update of agent i itself: it holds r as well
    gain: float  # alpha N / |b|
    beta: float  # b_li / |b|
    weight: float  # w_li
    coupling: float  # sum over hidden m of w_lm b_lm / |b|
    hidden: int  # answers whose noise the listener does not know


class View(NamedTuple):
    """All that a listener hears of one agent in a round."""

    direct: int  # answers of agent i that it received
    updates: tuple[Update, ...]


@final
@dataclass(frozen=True)
class Algorithm1:
    """DPDL as written, for one cosine over the whole vector; one cosine per tensor has no proof."""

    alpha: float
    cosine: str
    kappa: float = KAPPA
    adaptive = True
    sized = True

    def rounds(self, graph: Graph, agent: int, rounds: int) -> int:
        """All of them."""
        return rounds

    def active(self, graph: Graph, agent: int, t: int) -> bool:
        """Always."""
        return True

    def exposure(self, graph: Graph, agent: int, threat: Threat) -> float:
        """The squared shifts for large sigma, summed: what remains when c and R vanish.

            |J| + (b_ii + alpha N kappa)^2 / sum_{l in N_i - J} b_il^2
                + sum_{l in N_i - J - i} b_li^2 / sum_{m in N_l - J} b_lm^2

        Whoever sees the cross-gradients subtracts them, which is as if all neighbours were in J.
        """
        # The proof needs many entries per cosine, and a bias has few.
        if self.cosine == "tensor":
            return math.inf
        return max(
            self._limit(view) for view in views(graph, self.alpha, agent, threat)
        )

    def proof(self, threat: Threat) -> str:
        """A bound with all its terms; it ends where there is little noise."""
        if self.cosine == "tensor":
            return "nothing: one cosine per tensor has no proof"
        how = {
            "eavesdropper": "answers, and r beneath noise that it contracts",
            "neighbours": "the worst K, beneath the noise of others",
            "final-model": "the updates, beneath the noise of all",
        }
        return f"upper bound: {how[threat.kind]}; `unbounded` for little noise"

    def _limit(self, view: View) -> float:
        return view.direct + sum(
            (u.beta + u.gain * self.kappa * u.own) ** 2 for u in view.updates
        )

    def effect(self, graph: Graph, agent: int, threat: Threat, at: Setting) -> Effect:
        """That of the worst coalition.

        A bound for a listener who hears more holds as well, and may be smaller.
        """
        if self.cosine == "tensor" or at.sigma <= 0:
            return Effect(0.0)
        hear_more = {
            threat,
            EAVESDROPPER,
            *([ONE_NEIGHBOUR] if threat == FINAL_MODEL else []),
        }
        mu = min(
            max(self._mu(view, at) for view in views(graph, self.alpha, agent, one))
            for one in hear_more
        )
        return Effect(1 / mu, at.failure)

    def sigma(
        self, graph: Graph, agent: int, threat: Threat, at: Setting, effective: float
    ) -> float:
        """By bisection: more noise never helps a listener."""

        def enough(sigma: float) -> bool:
            return (
                self.effect(graph, agent, threat, at._replace(sigma=sigma)).sigma
                >= effective
            )

        low = effective * math.sqrt(self.exposure(graph, agent, threat))
        high = low
        while not enough(high):
            low, high = high, 2 * high
            if high > LARGEST:
                return math.inf
        while high > low * (1 + CLOSE):
            middle = math.sqrt(low * high)
            low, high = (low, middle) if enough(middle) else (middle, high)
        return high

    def worse(self, graph: Graph, a: int, b: int, threat: Threat) -> bool:
        """Only agents that are seen alike are compared."""
        return views(graph, self.alpha, a, threat) == views(
            graph, self.alpha, b, threat
        )

    def _mu(self, view: View, at: Setting) -> float:
        """1 / sigma_eff of one listener; infinity when nothing is proven."""
        # One quarter each for batches, lengths of answers, two entries of every zeta; one is spare.
        share = at.failure / 4
        answers = sum(update.hidden for update in view.updates)
        rho = at.sigma * shortest(at.size - 2, share / answers)
        reach = at.sigma * math.sqrt(2 * math.log(len(view.updates) / share))
        squares, remainder = float(view.direct), 0.0
        for update in view.updates:
            bound = self._shift(update, at.largest, rho, reach, at.sigma)
            if bound is None:
                return math.inf
            squares += bound[0] ** 2
            remainder += bound[1]
        return dominating(math.sqrt(squares) / at.sigma, remainder)

    def _shift(
        self, u: Update, largest: int, rho: float, reach: float, sigma: float
    ) -> tuple[float, float] | None:
        """How far one record shifts zeta, and what the curvature adds to the privacy loss.

        None if c >= 1.
        """
        if rho <= 0:
            return None
        x = largest / (4 * rho)
        c = u.gain * u.coupling * x
        if c >= 1:
            return None
        turned = self.kappa + u.weight * x if u.own else u.weight * (1 - u.beta**2) * x
        moved = u.gain * turned / (1 - c)
        shift = u.beta + moved
        bend = (u.gain * u.coupling / rho) * (
            1.1 * u.own + 0.85 * largest * (moved + 1) / rho
        )
        varies = bend / (1 - c) * reach
        quadratic = ((reach + shift) * varies + varies**2 / 2) / sigma**2
        return shift, quadratic + 2 * bend / (1 - c)


def dominating(mu: float, remainder: float) -> float:
    """The mu of a Gaussian pair that dominates one of `mu` with a loss off by up to `remainder`.

    Two bounds hold, see `docs/privacy.md`: the mu' with the same hockey-stick divergence at epsilon
    = 0, and mu + 2 R / mu, where the larger loss is larger wherever it is positive.
    """
    from scipy.special import log_ndtr, ndtri

    if not math.isfinite(remainder):
        return math.inf
    simple = mu + 2 * remainder / mu
    if mu < TINY:
        return min(simple, _dominating_tiny(mu, remainder))
    apart = math.exp(log_ndtr(-remainder / mu - mu / 2)) + math.exp(
        log_ndtr(remainder / mu - mu / 2) - remainder
    )
    return min(simple, -2 * float(ndtri(apart / 2))) if apart > 0 else simple


def _dominating_tiny(mu: float, remainder: float) -> float:
    """The first of these bounds without the difference of two numbers that are almost equal.

    With a = R / mu the divergence at epsilon = 0 is Phi(a + mu/2) - Phi(a - mu/2), which is at most
    mu phi(a - mu/2), plus (1 - e^-R) Phi(a - mu/2).
    """
    from scipy.special import erfinv, ndtr

    at = remainder / mu - mu / 2
    density = math.exp(-(max(at, 0.0) ** 2) / 2) / math.sqrt(2 * math.pi)
    apart = mu * density - math.expm1(-remainder) * float(ndtr(at))
    return 2 * math.sqrt(2) * float(erfinv(apart)) if apart < 1 else math.inf


def shortest(entries: int, failure: float) -> float:
    """A norm that so many standard normal entries fall below with probability `failure` at most.

    0 where there is no such bound.

    The quantile of chi^2; of very many entries P(chi^2_k <= k - 2 sqrt(k t)) <= exp(-t) (Laurent
    and Massart, 2000).
    """
    from scipy.special import gammaincinv

    if entries < 1:
        return 0.0
    if entries <= MANY:
        return math.sqrt(2 * float(gammaincinv(entries / 2, failure)))
    return math.sqrt(entries - 2 * math.sqrt(entries * math.log(1 / failure)))


@lru_cache(maxsize=4096)
def views(graph: Graph, alpha: float, agent: int, threat: Threat) -> tuple[View, ...]:
    """What each coalition of a threat hears of an agent; those that hear alike count once."""
    around = [int(j) for j in graph.neighbours(agent) if j != agent]
    k = {"final-model": 0, "neighbours": threat.neighbours}.get(
        threat.kind, len(around)
    )
    if k >= len(around) or math.comb(len(around), k) > MOST_COALITIONS:
        return (_view(graph, alpha, agent, tuple(around)),)
    coalitions = itertools.combinations(around, k)
    return tuple(dict.fromkeys(_view(graph, alpha, agent, J) for J in coalitions))


def _view(graph: Graph, alpha: float, i: int, J: tuple[int, ...]) -> View:
    owners = [i, *(int(j) for j in graph.neighbours(i) if j != i and j not in J)]
    return View(
        len(J), tuple(sorted(_update(graph, alpha, i, owner, J) for owner in owners))
    )


def _update(
    graph: Graph, alpha: float, i: int, owner: int, J: tuple[int, ...]
) -> Update:
    weights = [float(graph.W[owner, m]) for m in graph.neighbours(owner) if m not in J]
    length = math.sqrt(sum(1 / w for w in weights))  # |b|
    w = float(graph.W[owner, i])
    coupling = sum(math.sqrt(weight) for weight in weights) / length
    return Update(
        owner == i,
        alpha * len(graph) / length,
        w**-0.5 / length,
        w,
        coupling,
        len(weights),
    )
