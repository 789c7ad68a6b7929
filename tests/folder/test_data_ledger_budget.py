"""Whether a budget has room."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from dpdl.errors import InputError, PrivacyRefused
from dpdl.folder.data_ledger_books import steps_of
from dpdl.folder.data_ledger_budget import (
    budget_in,
    check_budget,
    check_relation,
    composed,
    first_rounds,
    largest,
    refuse_beyond,
    rounds_that_fit,
    spending,
)
from dpdl.folder.data_ledger_entries import Charge, LedgerTerms
from dpdl.privacy.accounting import epsilon
from dpdl.privacy.filter import filtered_epsilon
from tests.folder.data_ledgers import LARGE, ROUND


def terms(budget: float = 1.0, relation: str = "add-remove") -> LedgerTerms:
    return LedgerTerms(
        version="1",
        id="a",
        epsilon=budget,
        delta=1e-5,
        relation=relation,
        about="x",
        time="t",
    )


OTHER = Charge(sigma=8.09, batch=216, records=6000, count=1000)
"""These cost 0.5."""


def test_rounds_are_composed_by_the_accountant_whatever_their_order() -> None:
    charges = [ROUND.times(1000), OTHER]
    direct = epsilon([(c.step, c.count) for c in charges], 1e-5)
    assert composed(terms(), steps_of(charges)) == pytest.approx(direct, rel=1e-12)
    assert composed(terms(), steps_of(charges)) == composed(
        terms(), steps_of(charges[::-1])
    )
    assert composed(terms(), {}) == 0.0
    alone = [composed(terms(), steps_of([c])) for c in charges]
    assert max(alone) < direct < sum(alone), "less than the sum, more than each"


def test_two_halves_cost_what_the_whole_costs() -> None:
    halves = steps_of([ROUND.times(400), ROUND.times(600)])
    assert composed(terms(), halves) == composed(terms(), steps_of([ROUND.times(1000)]))


def test_the_relation_is_that_of_the_terms() -> None:
    totals = steps_of([OTHER])
    assert composed(terms(relation="replace-one"), totals) > 1.5 * composed(
        terms(), totals
    )


def test_a_ledger_for_planning_by_results_counts_by_one_renyi_order() -> None:
    totals = steps_of([OTHER])
    found = composed(replace(terms(), adaptive=True), totals)
    assert found == filtered_epsilon([(OTHER.step, 1000)], 1.0, 1e-5)
    assert found > composed(terms(), totals)
    assert composed(replace(terms(), adaptive=True), {}) == 0.0


def test_a_spending_has_both_epsilons() -> None:
    found = spending(terms(), steps_of([ROUND.times(10)]), steps_of([OTHER]))
    assert found.spent == composed(terms(), {ROUND.step: 10})
    assert found.reserved == composed(terms(), steps_of([OTHER]))
    assert (found.budget, found.delta) == (1.0, 1e-5)


def test_what_fits_exactly_is_not_refused() -> None:
    cost = composed(terms(), steps_of([OTHER]))
    refuse_beyond("x", terms(cost), {}, [OTHER])
    with pytest.raises(PrivacyRefused):
        refuse_beyond("x", terms(cost * 0.999), {}, [OTHER])


def test_a_refusal_says_what_is_left_and_how_many_rounds_fit() -> None:
    before = steps_of([ROUND.times(1000)])
    with pytest.raises(PrivacyRefused) as refused:
        refuse_beyond("here", terms(0.4), before, [OTHER])
    text = str(refused.value)
    fit = rounds_that_fit(terms(0.4), before, [OTHER])
    assert "'here' allows epsilon = 0.4" in text and "0.25 is spent or reserved" in text
    assert f"room for {fit} of its 1000 rounds" in text and len(text) < 290
    refuse_beyond("here", terms(0.4), before, [OTHER.times(fit)])
    with pytest.raises(PrivacyRefused):
        refuse_beyond("here", terms(0.4), before, [OTHER.times(fit + 1)])


def test_rounds_without_noise_never_fit() -> None:
    nothing = Charge(sigma=0.0, batch=1, records=10, count=5)
    with pytest.raises(PrivacyRefused, match=r"unbounded.*room for 0 of its 5"):
        refuse_beyond("x", terms(1e6), {}, [nothing])
    assert composed(terms(), steps_of([nothing])) == math.inf


def test_rounds_that_fit_are_the_first_ones_of_several_charges() -> None:
    assert first_rounds([ROUND.times(2), LARGE.times(3)], 3) == [ROUND.times(2), LARGE]
    assert first_rounds([ROUND.times(2)], 0) == []
    assert first_rounds([ROUND.times(2)], 9) == [ROUND.times(2)]


@pytest.mark.parametrize("most", [1, 2, 7, 100])
def test_the_largest_number_that_fits_is_found(most: int) -> None:
    for last in range(most + 1):
        assert largest(lambda n, last=last: n <= last, most) == last


def test_a_budget_is_an_epsilon_and_a_delta() -> None:
    assert budget_in("6:1e-6") == (6.0, 1e-6)
    for text in ("6", "6:", "6:1e-6:1", "x:1e-6", "", "6,1e-6"):
        with pytest.raises(InputError, match="EPSILON:DELTA"):
            budget_in(text)
    for text in ("0:1e-6", "-1:1e-6", "inf:1e-6", "nan:1e-6"):
        with pytest.raises(InputError, match="above 0"):
            budget_in(text)
    for text in ("6:0", "6:1", "6:nan", "6:-1"):
        with pytest.raises(InputError, match="delta of a budget"):
            budget_in(text)


def test_other_budgets_and_relations_are_refused() -> None:
    check_budget(1.0, 1e-5)
    check_relation("replace-one")
    with pytest.raises(InputError, match="add-remove, replace-one"):
        check_relation("same")
