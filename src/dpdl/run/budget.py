"""Budgets: how many rounds an agent may answer before it would give away more than it agreed to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from dpdl.errors import InputError, PrivacyRefused
from dpdl.privacy.threats import Threat
from dpdl.run.planner import Question


class Allowance(NamedTuple):
    """The first agent to run out, and after how many rounds."""

    rounds: int
    agent: int
    budget: float


def parse(text: str, agents: int) -> list[float]:
    """One epsilon for all agents, or one for each, separated by commas."""
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"budget must be one epsilon or {agents} separated by commas, not {text!r}.") from None
    if not all(math.isfinite(value) and value > 0 for value in values):
        raise InputError(f"budget must hold finite numbers above 0, not {text!r}.")
    if len(values) not in (1, agents):
        raise InputError(f"budget must be one epsilon or one for each of {agents} agents, not {len(values)}.")
    return values if len(values) == agents else values * agents


def allowance(
    question: Question, sigma: float, threat: Threat, budgets: Sequence[float], most: int | None = None
) -> Allowance:
    """The largest number of rounds, up to `most`, that no agent pays too much for; refused when not even one is."""
    most = most or question.rounds
    found = ((_rounds(question, sigma, threat, i, budget, most), i, budget) for i, budget in enumerate(budgets))
    first = Allowance(*min(found))
    if first.rounds < 1:
        cost = question.epsilon(first.agent, sigma, threat, 1)
        needed = question.sigma(min(budgets), threat)
        price = "an unbounded epsilon" if math.isinf(cost) else f"{cost:.4g}"
        way = f"sigma = {needed:.4g} affords all {question.rounds} rounds" if math.isfinite(needed) else "no sigma does"
        raise PrivacyRefused(
            f"Agent {first.agent} has a budget of epsilon = {first.budget:g}, but one round with sigma = {sigma:.4g} "
            f"costs {price} against {threat}; {way}."
        )
    return first


def _rounds(question: Question, sigma: float, threat: Threat, agent: int, budget: float, most: int) -> int:
    """By bisection: epsilon grows with the number of rounds."""
    if question.epsilon(agent, sigma, threat, most) <= budget:
        return most
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if question.epsilon(agent, sigma, threat, middle) <= budget else (low, middle)
    return low
