"""An audit from end to end: rehearse, play, attack, certify, and put the result beside what is proven."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Protocol, TypeVar

import numpy as np

from dpdl.algorithms import SoundDPDL
from dpdl.algorithms.disclosure import PairedNoise
from dpdl.audit.algebra import derivable, derive
from dpdl.audit.certify import clopper_pearson, gdp
from dpdl.audit.combine import Numbers
from dpdl.audit.game import Game
from dpdl.audit.learnt import learn
from dpdl.audit.randomness import Renamed
from dpdl.audit.records import CROWDS, Linear, public_accuracy
from dpdl.audit.result import AuditResult, Scores
from dpdl.audit.view import Ears, Heard
from dpdl.errors import InputError, unknown
from dpdl.keys import generator
from dpdl.parallel import one_thread_per_operation
from dpdl.privacy.clipping import PerSample
from dpdl.privacy.mechanism import PrivateGradient
from dpdl.privacy.noise import Randomness, Reproducible
from dpdl.privacy.sampling import Poisson
from dpdl.privacy.theorem1 import Theorem1
from dpdl.privacy.threats import Threat
from dpdl.run.planner import Question

FEWEST_TRIALS = 20
CHOOSING_ROUNDS, CHOOSING_CANARIES = 5, 1000
"""Of the rehearsal that decides between two adversaries."""

A = TypeVar("A")
Watch = Callable[[int], None]
"""Is told how many rounds, or trials, are done."""


class Adversary(Protocol):
    """Has rehearsed, and scores what it hears."""

    @property
    def mu(self) -> float:
        """1 / sigma_eff of what it makes of a round, as rehearsed."""
        ...

    @property
    def rounds(self) -> int:
        """How many rounds show in what it hears."""
        ...

    def scores(self, game: Game, played: Iterable[Heard], rate: float) -> Numbers:
        """A number for every coordinate, larger if its record seems to be in, when records have this rate."""
        ...


def audit(
    question: Question,
    theorem1: Theorem1 | None,
    sigma: float,
    threat: Threat,
    *,
    canaries: int = 2000,
    trials: int | None = None,
    crowd: str = "none",
    confidence: float = 0.95,
    randomness: Randomness | None = None,
    seed: int = 0,
    watch: Watch | None = None,
) -> AuditResult:
    """Attack the agent that gives away most. `question.size` must be the number of canaries.

    With `trials` there is one record and that many runs with it and without it; `canaries` is then only the size of
    the model, and `crowd` says where the agent's other records pull.
    """
    agent = max(range(len(question.graph)), key=lambda i: question.epsilon(i, sigma, threat))
    game = honest_game(question, sigma, canaries, agent, randomness or Reproducible(seed))
    scores = attack(game, threat, seed, watch) if trials is None else try_one(game, threat, trials, crowd, watch)
    return AuditResult(
        threat,
        sigma,
        game.rate,
        agent,
        theorem1.epsilon(sigma) if theorem1 else None,
        question.epsilon(agent, sigma, threat),
        clopper_pearson(scores.inside, scores.outside, question.delta, confidence),
        gdp(scores.inside, scores.outside, question.delta, confidence),
        question.step(agent, sigma, threat).sigma,
        1 / scores.mu if scores.mu else math.inf,
        scores.sigma_eff(confidence) if game.rate >= 1 else None,
    )


def honest_game(question: Question, sigma: float, canaries: int, agent: int, randomness: Randomness) -> Game:
    """The game that a question is about: per-sample clipping, Poisson sampling, this sigma."""
    if canaries < FEWEST_TRIALS:
        raise InputError(f"canaries must be at least {FEWEST_TRIALS}, not {canaries}: fewer certify nothing.")
    if question.size != canaries:
        raise InputError(f"The proof is for {question.size} parameters, the game has {canaries}: they must be equal.")
    if question.fixed or not question.bounded or question.relation != "add-remove":
        raise InputError("The audit plays add-remove with Poisson sampling and every sample clipped.")
    if not math.isfinite(sigma) or sigma <= 0:
        raise InputError(f"sigma must be a finite number above 0, not {sigma!r}.")
    algorithm = question.algorithm
    if not randomness.repeatable and isinstance(algorithm.disclosure, PairedNoise):
        raise InputError("randomness 'secure' is not for noise that cancels: neighbours have no common secret yet.")
    algorithm.check(question.graph)
    factors = algorithm.noise_factors(question.graph) if isinstance(algorithm, SoundDPDL) else None
    clip = PerSample(1.0, question.batch)  # C is a unit: everything is proportional to it
    grad = PrivateGradient(Linear(canaries), clip, sigma, question.batch, randomness, factors, public_accuracy)
    sampling = Poisson(question.batch, tuple(question.records))
    return Game(algorithm, question.graph, grad, sampling, list(question.records), question.rounds, agent)


def attack(game: Game, threat: Threat, seed: int = 0, watch: Watch | None = None) -> Scores:
    """Rehearse, put a canary in every coordinate by a fair coin, listen to T rounds, and score every canary."""
    present = generator(seed, "canary").random(game.size) < 0.5
    ears = Ears(threat, game.graph, game.agent)
    with one_thread_per_operation():
        adversary = rehearse(game, ears)
        scores = adversary.scores(game, _watched(game.play(present, ears), watch), game.rate)
    return Scores(scores[present], scores[~present], adversary.mu, adversary.rounds)


def try_one(game: Game, threat: Threat, trials: int, crowd: str, watch: Watch | None = None) -> Scores:
    """Score one record in independent runs, as many with it as without it.

    With a crowd, how many others take part says more than the coin of the record: then the score is linear.
    """
    if trials < FEWEST_TRIALS:
        raise InputError(f"trials must be at least {FEWEST_TRIALS}, not {trials}: fewer certify nothing.")
    if crowd not in CROWDS:
        raise unknown("crowd", crowd, CROWDS)
    ears = Ears(threat, game.graph, game.agent)
    rate = game.rate if crowd == "none" else 1.0
    scores: dict[bool, list[float]] = {False: [], True: []}
    with one_thread_per_operation():
        adversary = (derive(game, ears, crowd) if derivable(game.algorithm) else None) or rehearse(game, ears)
        for k in _watched(range(trials), watch):
            for inside, found in scores.items():
                run = game.with_noise(_of_trial(game.grad.randomness, k, inside))
                found.append(float(adversary.scores(run, run.play_one(inside, crowd, ears), rate)[0]))
    return Scores(np.array(scores[True]), np.array(scores[False]), adversary.mu, adversary.rounds)


def rehearse(game: Game, ears: Ears) -> Adversary:
    """The adversary that does best at home, where nothing of the run that it will attack is known."""
    if not derivable(game.algorithm):
        return learn(game, ears)
    short = replace(game, rounds=min(game.rounds, CHOOSING_ROUNDS))
    home = short.rehearsal("choosing", CHOOSING_CANARIES)
    present = generator(0, "choosing").random(min(CHOOSING_CANARIES, *game.records)) < 0.5
    played = list(home.play(present, ears))

    def distance(adversary: Adversary) -> float:
        scores = adversary.scores(home, played, home.rate)[: len(present)]
        return float(scores[present].mean() - scores[~present].mean()) / float(scores.std() or 1.0)

    derived, learnt = derive(game, ears), learn(short, ears)
    if derived is not None and distance(derived) >= distance(learnt):
        return derived
    return learnt if short.rounds == game.rounds else learn(game, ears)


def _of_trial(randomness: Randomness, k: int, inside: bool) -> Randomness:
    """Every run has streams of its own; secure randomness never repeats one."""
    return Renamed(randomness, f"trial {k} {'with' if inside else 'without'}") if randomness.repeatable else randomness


def _watched(items: Iterable[A], watch: Watch | None) -> Iterator[A]:
    for k, item in enumerate(items, 1):
        yield item
        if watch:
            watch(k)
