"""An audit from end to end: play, attack, certify, and put the result beside what is claimed and what is proven."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
from scipy.special import ndtri

from dpdl.algorithms import SoundDPDL
from dpdl.audit.certify import Certificate, Numbers, clopper_pearson, gdp
from dpdl.audit.game import Game, Linear, Present
from dpdl.audit.statistics import Adversary, Combination, adversary, combine, public
from dpdl.audit.view import Ears
from dpdl.errors import InputError
from dpdl.keys import generator
from dpdl.parallel import one_thread_per_operation
from dpdl.privacy.clipping import PerSample
from dpdl.privacy.mechanism import PrivateGradient
from dpdl.privacy.noise import Randomness, Reproducible
from dpdl.privacy.theorem1 import Theorem1
from dpdl.privacy.threats import Threat
from dpdl.run.planner import Question

SAMPLES_PER_ROW = 1000
"""Numbers to rehearse with for every row to be weighed: the loss against the best weights is then about 0.1 %."""

FEWEST_CANARIES = 20

Watch = Callable[[int], None]
"""Is told the round that is done."""


class Measured(NamedTuple):
    """A value and its confidence interval."""

    value: float
    low: float
    high: float


@final
@dataclass(frozen=True)
class Scores:
    """The scores of canaries that were in and of canaries that were out."""

    inside: Numbers
    outside: Numbers
    mu: float  # 1 / sigma_eff of the adversary's statistic, from its signal and the noise it rehearsed with
    rounds: int  # in which there was something to compute

    def sigma_eff(self, confidence: float) -> Measured:
        """sigma_eff measured when every record takes part in every round, with its confidence interval.

        Scores are then Gaussian, in and out with one deviation, and their standardised distance is
        sqrt(rounds) / sigma_eff.
        """
        n, m = len(self.inside), len(self.outside)
        pooled = (self.inside.var(ddof=1) * (n - 1) + self.outside.var(ddof=1) * (m - 1)) / (n + m - 2)
        distance = float((self.inside.mean() - self.outside.mean()) / math.sqrt(pooled))
        error = math.sqrt(1 / n + 1 / m + distance**2 / (2 * (n + m - 2)))
        reach = float(ndtri(0.5 + confidence / 2)) * error
        root = math.sqrt(self.rounds)
        return Measured(*(root / d if d > 0 else math.inf for d in (distance, distance + reach, distance - reach)))


@final
@dataclass(frozen=True)
class AuditResult:
    """Claim, lower bounds and proof for one noise multiplier, one threat and one delta."""

    threat: Threat
    sigma: float
    rate: float  # q of the attacked agent
    agent: int  # whose record was attacked
    claimed: float  # epsilon by Theorem 1
    proven: float  # epsilon by the accountant; infinity when nothing is proven
    by_counting: Certificate  # Clopper-Pearson
    by_gdp: Certificate
    sigma_eff_proven: float
    sigma_eff_attack: float  # of the adversary's statistic
    sigma_eff_measured: Measured | None  # None under sampling: the coins are private

    @property
    def certified(self) -> float:
        """The larger of the lower bounds that rest on no assumption; that by GDP is one when the rate is 1."""
        return max(self.by_counting.epsilon, self.by_gdp.epsilon if self.rate >= 1 else 0.0)

    @property
    def refutes_claim(self) -> bool:
        """Whether more than Theorem 1's epsilon was certified."""
        return self.certified > self.claimed

    @property
    def refutes_proof(self) -> bool:
        """Whether more than the accountant's epsilon was certified: then the proof or the code is wrong."""
        return self.certified > self.proven

    @property
    def verdict(self) -> str:
        """One plain sentence."""
        if self.refutes_proof:
            return "The attack certifies more than the accountant proves: the proof or the code is wrong."
        gain = "more" if self.refutes_claim else "no more"
        rest = (
            "it stays below what the accountant proves"
            if math.isfinite(self.proven)
            else "the accountant proves nothing here"
        )
        return f"The attack certifies {gain} than Theorem 1 claims; {rest}."


def audit(
    question: Question,
    theorem1: Theorem1,
    sigma: float,
    threat: Threat,
    *,
    canaries: int = 2000,
    confidence: float = 0.95,
    randomness: Randomness | None = None,
    seed: int = 0,
    watch: Watch | None = None,
) -> AuditResult:
    """Attack the agent that gives away most. `question.size` must be the number of canaries."""
    agent = max(range(len(question.graph)), key=lambda i: question.epsilon(i, sigma, threat))
    game = honest_game(question, sigma, canaries, agent, randomness or Reproducible(seed))
    scores = attack(game, threat, seed, watch)
    step = question.step(agent, sigma, threat)
    return AuditResult(
        threat,
        sigma,
        game.rate,
        agent,
        theorem1.epsilon(sigma),
        question.epsilon(agent, sigma, threat),
        clopper_pearson(scores.inside, scores.outside, question.delta, confidence),
        gdp(scores.inside, scores.outside, question.delta, confidence),
        step.sigma,
        1 / scores.mu if scores.mu else math.inf,
        scores.sigma_eff(confidence) if game.rate >= 1 else None,
    )


def honest_game(question: Question, sigma: float, canaries: int, agent: int, randomness: Randomness) -> Game:
    """The game that a question is about: per-sample clipping, Poisson sampling, this sigma."""
    if canaries < FEWEST_CANARIES:
        raise InputError(f"canaries must be at least {FEWEST_CANARIES}, not {canaries}: fewer certify nothing.")
    if question.size != canaries:
        raise InputError(f"The proof is for {question.size} parameters, the game has {canaries}: they must be equal.")
    if question.fixed or not question.bounded or question.relation != "add-remove":
        raise InputError("The audit plays add-remove with Poisson sampling and every sample clipped.")
    if not math.isfinite(sigma) or sigma <= 0:
        raise InputError(f"sigma must be a finite number above 0, not {sigma!r}.")
    algorithm = question.algorithm
    factors = algorithm.noise_factors(question.graph) if isinstance(algorithm, SoundDPDL) else None
    clip = PerSample(1.0, question.batch)  # C is a unit: everything is proportional to it
    grad = PrivateGradient(Linear(canaries), clip, sigma, question.batch, randomness, factors)
    return Game(algorithm, question.graph, grad, question.records[agent], question.rounds, agent)


def attack(game: Game, threat: Threat, seed: int = 0, watch: Watch | None = None) -> Scores:
    """Rehearse, put every canary in by a fair coin, listen to T rounds, and score every canary."""
    present = generator(seed, "canary").random(game.canaries) < 0.5
    with one_thread_per_operation():
        combination = rehearse(game, threat)
        scores, rounds = listen(game, present, threat, combination, watch)
    return Scores(scores[present], scores[~present], combination.mu, rounds)


def rehearse(game: Game, threat: Threat) -> Combination:
    """How the adversary weighs its rows: learnt from runs without records, never from the run it attacks."""
    ears, listener = _listener(game, threat)
    rounds = 2 + SAMPLES_PER_ROW * len(listener.signal) // game.canaries
    heard = (listener.listen(heard) for heard in game.rehearse(ears, rounds))
    return combine((rows for rows in heard if rows is not None), listener.signal)


def listen(
    game: Game, present: Present, threat: Threat, combination: Combination, watch: Watch | None = None
) -> tuple[Numbers, int]:
    """The score of every canary after T rounds, and in how many of them there was something to compute."""
    ears, listener = _listener(game, threat)
    scores, rounds = np.zeros(game.canaries), 0
    for t, heard in enumerate(game.play(present, ears), 1):
        rows = listener.listen(heard)
        if rows is not None:
            scores += combination.score(rows, game.rate)
            rounds += 1
        if watch:
            watch(t)
    return scores, rounds


def _listener(game: Game, threat: Threat) -> tuple[Ears, Adversary]:
    ears = Ears(threat, game.graph, game.agent)
    unit = game.grad.clip.clip_norm / game.grad.batch_size
    return ears, adversary(ears, public(game.algorithm, game.graph, game.agent, unit))
