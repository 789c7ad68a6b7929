"""The number of records is a declared constant: nothing else that is public depends on how many there are."""

from __future__ import annotations

import math

import pytest
import torch

import dpdl
from dpdl.audit.certify import gdp_epsilon
from dpdl.errors import InputError
from dpdl.planning.plan import plan
from dpdl.privacy.accounting import Step, epsilon
from dpdl.privacy.declared import (
    check_few,
    declared,
    largest_batch,
    most_records,
    parse,
    rounded,
)
from dpdl.privacy.sampling import Poisson
from dpdl.tasks.data import Dataset
from tests.training.small import changed


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (1, 1),
        (9, 9),
        (10, 10),
        (99, 99),
        (100, 100),
        (109, 100),
        (5999, 5900),
        (60_000, 60_000),
    ],
)
def test_default_is_the_number_cut_to_two_digits(count: int, said: int) -> None:
    assert rounded(count) == said
    assert said <= count <= most_records(said)


def of_size(total: int, **options) -> tuple:
    """All public numbers of a plan for two agents that share so many records."""
    x = torch.linspace(-1, 1, 6 * total).view(total, 6)
    y = torch.arange(total) % 3
    data = Dataset("own", x, y, x[:9], y[:9], 3, mean=(0.0,), std=(1.0,))
    settings = {
        "agents": 2,
        "graph": "complete",
        "partition": "iid",
        "batch": 16,
        "rounds": 30,
        "sigma": None,
        **options,
    }
    p = plan(changed(**settings), data=data, model=torch.nn.Linear(6, 3))
    q, sigma = p.privacy, p.privacy.sigma
    spent = [q.epsilon(0, t) for t in dpdl.privacy.threats.DEFAULT_THREATS]
    return (
        sigma,
        list(q.records),
        spent,
        p.theorem1 and p.theorem1.epsilon(sigma),
        p.public.mechanism,
    )


@pytest.mark.parametrize(
    "options",
    [
        {"algorithm": "dpdl-sound", "noise": "accountant", "epsilon": 2.0},
        {"algorithm": "dpdl", "noise": "theorem1", "epsilon": 2.0},
        {
            "algorithm": "dp-dpsgd",
            "noise": "accountant",
            "epsilon": 1.0,
            "relation": "replace-one",
        },
        {
            "algorithm": "dp-dpsgd",
            "noise": "accountant",
            "epsilon": 1.0,
            "records": "150",
        },
    ],
)
def test_one_record_more_changes_nothing_that_is_public(options) -> None:
    """202 and 203 records of each of two agents: sigma, rates, epsilons and claims are the same."""
    assert of_size(404, **options) == of_size(406, **options)


def test_records_that_pull_the_other_way_move_a_sum_by_one_gradient_only() -> None:
    """200 records of gradient -C and one of +C, all in every round, 25 rounds, sigma_eff 10.

    With the rate 200 / 201 the mean of the sum would move from -200 C to -198 C, epsilon = 4.38 or more, where 1.993 is
    accounted for. With the declared number it moves to -199 C.
    """
    sampling = Poisson(200, (200,))
    without, with_it = (
        200 * sampling.rate(0) * -1.0,
        sampling.rate(0) * (200 * -1.0 + 1.0),
    )
    moved = with_it - without
    accounted = epsilon([(Step(10.0, 200, 200), 25)], 1e-5)
    assert accounted == pytest.approx(1.993, abs=0.002)
    assert gdp_epsilon(moved * math.sqrt(25) / 10, 1e-5) <= accounted
    by_true_number = 200 / 201 * (200 * -1.0 + 1.0) - without
    assert gdp_epsilon(by_true_number * math.sqrt(25) / 10, 1e-5) > 2 * accounted


def test_declared_numbers_are_checked() -> None:
    assert declared(None, [205, 5999]) == [200, 5900]
    assert declared("exact", [205, 5999]) == [205, 5999]
    assert declared("150", [205, 5999]) == [150, 150]
    assert declared("150,5000", [205, 5999]) == [150, 5000]
    for text, words in (
        ("206", "agent 0"),
        ("1,2,3", "one for each of 2"),
        ("many", "exact"),
        ("0", "at least 1"),
    ):
        with pytest.raises(InputError, match=words):
            declared(text, [205, 5999])
    assert parse("7", 3) == [7, 7, 7]


def test_refusal_does_not_tell_the_true_number() -> None:
    with pytest.raises(InputError) as refused:
        declared("300", [287, 290])
    assert "287" not in str(refused.value)


def test_bound_on_the_largest_batch_needs_a_number_near_the_truth() -> None:
    check_few([100], [110])
    with pytest.raises(InputError, match="declare a number nearer"):
        check_few([100], [111])
    with pytest.raises(InputError, match="declare a number nearer"):
        of_size(404, algorithm="dpdl", noise="theorem1", epsilon=2.0, records="150")


def test_largest_batch_is_exceeded_as_rarely_as_it_says() -> None:
    from scipy.stats import binom

    for batch, said, failure in ((216, 6000, 1e-12), (20, 100, 1e-3), (1, 10, 0.01)):
        largest = largest_batch(batch / said, said, failure)
        others = most_records(said)
        assert (
            binom.sf(largest - 1, others, batch / said)
            <= failure
            < binom.sf(largest - 2, others, batch / said)
        )
    assert (
        largest_batch(1.0, 100, 1e-9) == 111
    )  # all of them, and the record in question
