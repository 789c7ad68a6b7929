"""An audit from end to end: rehearse, play, attack, certify, and compare with what is proven."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Protocol, TypeVar

import numpy as np

from dpdl.audit.algebra import derivable, derive
from dpdl.audit.canaries import CROWDS, LinearModel, public_accuracy
from dpdl.audit.certify import clopper_pearson, gdp
from dpdl.audit.combine import Numbers
from dpdl.audit.ears import Ears, Heard
from dpdl.audit.game import Game
from dpdl.audit.learnt import learn
from dpdl.audit.randomness import Renamed
from dpdl.audit.result import AuditResult, Scores
from dpdl.errors import InputError, unknown
from dpdl.keys import generator
from dpdl.parallel import one_thread_per_operation
from dpdl.planning.privacy_model import PrivacyModel
from dpdl.privacy.clip import PerSample
from dpdl.privacy.epsilon import UNKNOWN, Epsilon
from dpdl.privacy.gradient import PrivateGradient
from dpdl.privacy.noise import Randomness, Reproducible
from dpdl.privacy.theorem1 import Theorem1
from dpdl.privacy.threats import Threat

FEWEST_TRIALS = 20
CHOOSING_ROUNDS, CHOOSING_CANARIES = 5, 1000
"""The size of the rehearsal that decides between two adversaries."""

A = TypeVar("A")
CountWatch = Callable[[int], None]
"""Called with how many rounds, or trials, are done."""


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
        """A number for every coordinate, larger if its record seems to be in; for this rate."""
        ...


def audit(
    model: PrivacyModel,
    theorem1: Theorem1 | None,
    threat: Threat,
    *,
    trials: int | None = None,
    crowd: str = "none",
    confidence: float = 0.95,
    randomness: Randomness | None = None,
    seed: int = 0,
    watch: CountWatch | None = None,
) -> AuditResult:
    """Attack the agent that gives away most, with as many canaries as the model has parameters.

    With `trials` there is one record and that many runs with it and without it; the number of
    parameters is then only that, and `crowd` says where the agent's other records pull.
    """
    agents = range(len(model.graph))
    agent = max(agents, key=lambda i: model.epsilon(i, threat))
    game = honest_game(model, agent, randomness or Reproducible(seed))
    scores = (
        attack_canaries(game, threat, seed, watch)
        if trials is None
        else try_one(game, threat, trials, crowd, watch)
    )
    inside, outside, delta = scores.inside, scores.outside, model.delta
    return AuditResult(
        threat,
        model.sigma,
        game.rate,
        agent,
        Epsilon(theorem1.epsilon(model.sigma)) if theorem1 else UNKNOWN,
        Epsilon(model.epsilon(agent, threat)),
        clopper_pearson(inside, outside, delta, confidence),
        gdp(inside, outside, delta, confidence),
        model.step(agent, threat).sigma,
        1 / scores.mu if scores.mu else math.inf,
        scores.sigma_eff(confidence) if game.rate >= 1 else None,
    )


def honest_game(model: PrivacyModel, agent: int, randomness: Randomness) -> Game:
    """The game that a privacy model is about, with its own mechanism."""
    if model.size < FEWEST_TRIALS:
        raise InputError(
            f"canaries must be at least {FEWEST_TRIALS}, not {model.size}: fewer certify "
            "nothing."
        )
    if not auditable(model):
        raise InputError(
            "The audit plays add-remove with Poisson sampling and every sample clipped."
        )
    if model.sigma == 0:
        raise InputError("sigma must be a finite number above 0, not 0.")
    algorithm, graph = model.algorithm, model.graph
    if not randomness.repeatable:
        if why := algorithm.needs_shared_seed:
            raise InputError(f"randomness 'secure' is not for this algorithm: {why}.")
        model.check_secure(bytes_each=4)
    algorithm.check(graph)
    # C is a unit: everything is proportional to it.
    mechanism = replace(model.mechanism, clip=PerSample(1.0))
    factors = algorithm.noise_factors(graph)
    grad = PrivateGradient(
        LinearModel(model.size), mechanism, randomness, factors, public_accuracy
    )
    records = list(model.records)
    return Game(algorithm, graph, grad, mechanism, records, model.rounds, agent)


def auditable(model: PrivacyModel) -> bool:
    """Whether the game is about this mechanism and this relation."""
    mechanism = model.mechanism
    plain = mechanism.bounds_record and not mechanism.sampling.fixed
    return plain and model.relation == "add-remove"


def attack_canaries(
    game: Game, threat: Threat, seed: int = 0, watch: CountWatch | None = None
) -> Scores:
    """Rehearse, listen to T rounds, and score every canary; each is in by a fair coin."""
    present = generator(seed, "canary").random(game.size) < 0.5
    ears = Ears(threat, game.graph, game.agent)
    with one_thread_per_operation():
        adversary = rehearse(game, ears)
        played = _watched(game.play(present, ears), watch)
        scores = adversary.scores(game, played, game.rate)
    return Scores(scores[present], scores[~present], adversary.mu, adversary.rounds)


def try_one(
    game: Game, threat: Threat, trials: int, crowd: str, watch: CountWatch | None = None
) -> Scores:
    """Score one record in independent runs, as many with it as without it.

    With a crowd, how many others take part matters more than the coin of the record: then the score
    is linear.
    """
    if trials < FEWEST_TRIALS:
        raise InputError(
            f"trials must be at least {FEWEST_TRIALS}, not {trials}: fewer certify "
            "nothing."
        )
    if crowd not in CROWDS:
        raise unknown("crowd", crowd, CROWDS)
    ears = Ears(threat, game.graph, game.agent)
    rate = game.rate if crowd == "none" else 1.0
    scores: dict[bool, list[float]] = {False: [], True: []}
    with one_thread_per_operation():
        derived = derive(game, ears, crowd) if derivable(game.algorithm) else None
        adversary = derived or rehearse(game, ears)
        for k in _watched(range(trials), watch):
            for inside, found in scores.items():
                run = game.with_noise(_of_trial(game.grad.randomness, k, inside))
                played = run.play_one(inside, crowd, ears)
                found.append(float(adversary.scores(run, played, rate)[0]))
    played_in, played_out = np.array(scores[True]), np.array(scores[False])
    return Scores(played_in, played_out, adversary.mu, adversary.rounds)


def rehearse(game: Game, ears: Ears) -> Adversary:
    """The adversary that does best at home, without anything of the run that it will attack."""
    derived = derive(game, ears) if derivable(game.algorithm) else None
    if derived is None:
        return learn(game, ears)
    short = replace(game, rounds=min(game.rounds, CHOOSING_ROUNDS))
    learnt = learn(short, ears)
    if better(short, ears, derived, learnt) is derived:
        return derived
    return learnt if short.rounds == game.rounds else learn(game, ears)


def better(game: Game, ears: Ears, one: Adversary, other: Adversary) -> Adversary:
    """Of two adversaries the one that does better in a rehearsal; the first if they are equal."""
    home = game.rehearsal("choosing", CHOOSING_CANARIES)
    coins = generator(0, "choosing").random(min(CHOOSING_CANARIES, *game.records))
    present = coins < 0.5
    played = list(home.play(present, ears))

    def distance(adversary: Adversary) -> float:
        scores = adversary.scores(home, played, home.rate)[: len(present)]
        apart = float(scores[present].mean() - scores[~present].mean())
        return apart / float(scores.std() or 1.0)

    return one if distance(one) >= distance(other) else other


def _of_trial(randomness: Randomness, k: int, inside: bool) -> Randomness:
    """Every run has streams of its own; secure randomness never repeats one."""
    if not randomness.repeatable:
        return randomness
    return Renamed(randomness, f"trial {k} {'with' if inside else 'without'}")


def _watched(items: Iterable[A], watch: CountWatch | None) -> Iterator[A]:
    for k, item in enumerate(items, 1):
        yield item
        if watch:
            watch(k)
