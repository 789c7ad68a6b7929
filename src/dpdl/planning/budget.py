"""Budgets: how many rounds an agent may answer before it would give away more than it agreed to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from dpdl.errors import InputError, PrivacyRefused
from dpdl.planning.privacy_model import PrivacyModel
from dpdl.privacy.epsilon import Epsilon
from dpdl.privacy.limits import DELTA
from dpdl.privacy.threats import Threat


class Budget(NamedTuple):
    """What an agent agreed to give away."""

    epsilon: float
    delta: float


class Allowance(NamedTuple):
    """The first agent to run out, and after how many rounds."""

    rounds: int
    agent: int
    budget: Budget


def parse(text: str, agents: int, delta: float) -> list[Budget]:
    """The budgets of all agents: one epsilon for all, or one for each, with commas.

    `E:D` also sets the agent's delta.
    """
    form = (
        f"one epsilon (or epsilon:delta) for all, or one for each of {agents} agents, separated "
        "by commas"
    )
    try:
        pairs = [
            [float(number) for number in part.split(":")] for part in text.split(",")
        ]
        budgets = [Budget(*[*pair, delta][: max(2, len(pair))]) for pair in pairs]
    except (ValueError, TypeError):
        raise InputError(f"budget must be {form}, not {text!r}.") from None
    if not all(
        math.isfinite(b.epsilon) and b.epsilon > 0 and DELTA.holds(b.delta)
        for b in budgets
    ):
        raise InputError(
            f"budget must hold finite epsilons above 0 and deltas {DELTA.words}, not {text!r}."
        )
    if len(budgets) not in (1, agents):
        raise InputError(f"budget must be {form}, not {len(budgets)} values.")
    return budgets if len(budgets) == agents else budgets * agents


def allowance(
    model: PrivacyModel,
    threat: Threat,
    budgets: Sequence[Budget],
    most: int | None = None,
) -> Allowance:
    """The most rounds, up to `most`, that every agent's budget affords; refused if it is none."""
    most = most or model.rounds
    found = (
        (_rounds(model, threat, i, budget, most), i, budget)
        for i, budget in enumerate(budgets)
    )
    first = Allowance(*min(found))
    if first.rounds < 1:
        _refuse_beside(model, threat, first)
        cost = model.epsilon(first.agent, threat, 1, first.budget.delta)
        strictest = replace(model, delta=min(b.delta for b in budgets))
        needed = strictest.needed_sigma(min(budgets).epsilon, threat)
        price = "an unbounded epsilon" if math.isinf(cost) else f"{cost:.4g}"
        way = (
            f"sigma = {needed:.4g} affords all {model.rounds} rounds"
            if math.isfinite(needed)
            else "no sigma does"
        )
        raise PrivacyRefused(
            f"Agent {first.agent} has a budget of epsilon = {first.budget.epsilon:g}, but one "
            "round with sigma = "
            f"{model.sigma:.4g} costs {price} against {threat}; {way}."
        )
    return first


def _refuse_beside(model: PrivacyModel, threat: Threat, first: Allowance) -> None:
    """Refuse what is released beside the rounds, if a budget does not afford that alone."""
    alone = model.epsilon(first.agent, threat, 0, first.budget.delta)
    if alone >= first.budget.epsilon:
        raise PrivacyRefused(
            f"Agent {first.agent} has a budget of epsilon = {first.budget.epsilon:g}, but "
            f"that of the centre alone is {Epsilon(alone)} against {threat}; raise centre_noise, "
            "or leave centre out."
        )


def _rounds(
    model: PrivacyModel,
    threat: Threat,
    agent: int,
    budget: Budget,
    most: int,
) -> int:
    """By bisection: epsilon grows with the number of rounds."""

    def affords(rounds: int) -> bool:
        spent = model.epsilon(agent, threat, rounds, budget.delta)
        return spent <= budget.epsilon

    if affords(most):
        return most
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if affords(middle) else (low, middle)
    return low
