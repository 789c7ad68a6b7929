"""Numbers that limit a risk: rounded up, never down."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Decimal

DIGITS = 3
"""Digits of an epsilon."""


def up(value: float) -> str:
    """A number with three digits that is not smaller."""
    if value <= 0:
        return "0"
    exact = Decimal(str(value))
    unit = Decimal(1).scaleb(exact.adjusted() - DIGITS + 1)
    rounded = exact.quantize(unit, ROUND_CEILING)
    return f"{rounded:,.0f}" if rounded >= 1000 else f"{rounded.normalize():f}"


def best_guess(epsilon: float, delta: float) -> float:
    """How often anybody can be right about whether a record was used, when half of the cases are.

    Rounded up to 1e-4.

    (epsilon, delta)-differential privacy gives false negatives >= 1 - delta - e^epsilon false
    positives, and the same with both exchanged (Kairouz, Oh, Viswanath, The Composition Theorem for
    Differential Privacy, 2015). So their sum is at least 2 (1 - delta) / (1 + e^epsilon), and of
    all guesses at most (e^epsilon + delta) / (1 + e^epsilon) are right.
    """
    wrong = (1 - delta) * math.exp(-epsilon) / (1 + math.exp(-epsilon))
    return math.ceil(1e4 * (1 - wrong)) / 1e4
