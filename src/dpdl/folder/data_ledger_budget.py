"""Whether a budget has room for more rounds: all are composed by the accountant, not added up."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

from dpdl.errors import InputError, PrivacyRefused
from dpdl.folder.data_ledger_books import Totals, added, steps_of
from dpdl.folder.data_ledger_entries import Charge, LedgerTerms
from dpdl.privacy.accounting import epsilon
from dpdl.privacy.filter import filtered_epsilon
from dpdl.privacy.limits import DELTA
from dpdl.privacy.relations import CHANGES


@final
@dataclass(frozen=True)
class Spending:
    """Where a budget stands, as epsilons for one delta; infinity: nothing bounds it."""

    spent: float  # by all rounds that left
    reserved: float  # by these and all that are reserved, composed
    budget: float
    delta: float


def spending(terms: LedgerTerms, spent: Totals, committed: Totals) -> Spending:
    """Where a budget stands."""
    return Spending(
        composed(terms, spent),
        composed(terms, committed),
        terms.epsilon,
        terms.delta,
    )


def composed(terms: LedgerTerms, totals: Totals) -> float:
    """The epsilon of all these rounds together, for the delta of the budget."""
    # In one order whoever asks, so that equal totals give equal bits.
    every = sorted(totals.items(), key=lambda pair: repr(pair[0]))
    steps = [pair for pair in every if pair[1]]
    if terms.adaptive:
        return filtered_epsilon(steps, terms.epsilon, terms.delta, terms.relation)
    return epsilon(steps, terms.delta, terms.relation)


def refuse_beyond(
    where: str, terms: LedgerTerms, committed: Totals, charges: Sequence[Charge]
) -> None:
    """Refuse rounds that a budget has no room for, and say how many it has room for."""
    wanted = composed(terms, added(committed, steps_of(charges)))
    if wanted <= terms.epsilon:
        return
    total = sum(charge.count for charge in charges)
    fit = rounds_that_fit(terms, committed, charges)
    before = composed(terms, committed)
    cost = "an unbounded epsilon" if math.isinf(wanted) else f"{wanted:.4g}"
    raise PrivacyRefused(
        f"Ledger {where!r} allows epsilon = {terms.epsilon:g} for delta = {terms.delta:g}, and "
        f"{before:.4g} is spent or reserved; with this run it would be {cost}. There is room for "
        f"{fit} of its {total} rounds."
    )


def rounds_that_fit(
    terms: LedgerTerms, committed: Totals, charges: Sequence[Charge]
) -> int:
    """How many of the first rounds of some charges a budget has room for."""

    def fits(rounds: int) -> bool:
        steps = steps_of(first_rounds(charges, rounds))
        return composed(terms, added(committed, steps)) <= terms.epsilon

    return largest(fits, sum(charge.count for charge in charges))


def largest(fits: Callable[[int], bool], most: int) -> int:
    """The largest number up to `most` that fits, where 0 does: by bisection."""
    if fits(most):
        return most
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def first_rounds(charges: Sequence[Charge], rounds: int) -> list[Charge]:
    """The first so many rounds of some charges."""
    found: list[Charge] = []
    for charge in charges:
        count = min(charge.count, rounds)
        rounds -= count
        if count:
            found.append(charge.times(count))
    return found


def budget_in(text: str) -> tuple[float, float]:
    """The epsilon and the delta of a text such as `6:1e-6`."""
    parts = text.split(":")
    try:
        epsilon, delta = (float(part) for part in parts)
    except ValueError:
        raise InputError(
            f"budget must be EPSILON:DELTA, such as 6:1e-6, not {text!r}."
        ) from None
    check_budget(epsilon, delta)
    return epsilon, delta


def check_budget(epsilon: float, delta: float) -> None:
    """Refuse what is no budget."""
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise InputError(
            f"The epsilon of a budget must be a finite number above 0, not {epsilon}."
        )
    if not DELTA.holds(delta):
        raise InputError(f"The delta of a budget must be {DELTA.words}, not {delta}.")


def check_relation(relation: str) -> None:
    """Refuse what is no relation."""
    if relation not in CHANGES:
        raise InputError(
            f"relation must be one of {', '.join(CHANGES)}, not {relation!r}."
        )
