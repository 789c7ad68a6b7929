from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dpdl.errors import InputError
from dpdl.keys import generator
from dpdl.tasks import partition as module
from dpdl.tasks.partition import (
    DESCRIPTIONS,
    RULES,
    Request,
    class_counts,
    dealt_by_mixes,
    partition,
)

Y = np.random.default_rng(0).permutation(np.repeat(np.arange(10), 200))


def split(
    rule: str, y: np.ndarray = Y, agents: int = 10, **changes: object
) -> list[np.ndarray]:
    options = {"alpha": 0.5, "least": 5, "seed": 1, **changes}
    return partition(rule, y, agents, **options)  # type: ignore[arg-type]


def skew(parts: list[np.ndarray], y: np.ndarray = Y) -> float:
    """Mean total variation distance between an agent's class mix and everybody's."""
    counts = class_counts(parts, y, 10)
    mixes = counts / counts.sum(axis=1, keepdims=True)
    overall = np.bincount(y, minlength=10) / len(y)
    return float(np.abs(mixes - overall).sum(axis=1).mean() / 2)


@settings(deadline=None, max_examples=150)
@given(
    rule=st.sampled_from(sorted(RULES)),
    labels=st.lists(st.integers(0, 6), min_size=1, max_size=120),
    agents=st.integers(1, 9),
    least=st.integers(1, 6),
    alpha=st.floats(0.0, 1e308, exclude_min=True),
    seed=st.integers(-(2**70), 2**70),
)
def test_every_split_is_disjoint_sorted_and_large_enough_or_refused(
    rule: str, labels: list[int], agents: int, least: int, alpha: float, seed: int
) -> None:
    y = np.array(labels)
    try:
        parts = partition(rule, y, agents, alpha=alpha, least=least, seed=seed)
    except InputError:
        assume(False)
    assert len(parts) == agents
    assert min(map(len, parts)) >= least
    for part in parts:
        assert part.dtype == np.int64
        assert (np.diff(part) > 0).all()
    together = np.concatenate(parts)
    assert len(np.unique(together)) == len(together) <= len(y)
    assert set(together.tolist()) <= set(range(len(y)))
    if rule in ("iid", "dirichlet-agent"):
        assert {len(part) for part in parts} == {len(y) // agents}
    else:
        assert len(together) == len(y)


@pytest.mark.parametrize("rule", sorted(RULES))
def test_same_seed_same_split_and_another_seed_another(rule: str) -> None:
    first, again, other = split(rule), split(rule), split(rule, seed=2)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))


@pytest.mark.parametrize("rule", sorted(RULES))
def test_tensors_and_arrays_split_the_same(rule: str) -> None:
    for a, b in zip(split(rule), split(rule, y=torch.from_numpy(Y)), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("rule", ["dirichlet-class", "dirichlet-agent"])
def test_classes_become_more_unequal_as_alpha_falls(rule: str) -> None:
    alphas = (1000, 1, 0.3, 0.1)
    means = [
        np.mean([skew(split(rule, alpha=a, least=1, seed=s)) for s in range(8)])
        for a in alphas
    ]
    assert means == sorted(means)
    assert means[0] < 0.12
    assert means[-1] > 0.55


@pytest.mark.parametrize("alpha", [0.01, 0.3, 1.0, 20.0])
def test_drawn_shares_have_the_moments_of_the_dirichlet_law(alpha: float) -> None:
    shares = module._dirichlet(np.random.default_rng(5), alpha, 4, 40_000)
    assert np.allclose(shares.sum(axis=1), 1)
    assert np.allclose(shares.mean(axis=0), 0.25, atol=0.01)
    assert np.allclose(shares.var(axis=0), 0.25 * 0.75 / (4 * alpha + 1), rtol=0.05)


def test_dirichlet_class_shares_have_the_moments_of_the_dirichlet_law() -> None:
    y = np.repeat(np.arange(10), 1000)
    splits = [
        partition("dirichlet-class", y, 5, alpha=0.5, least=1, seed=s)
        for s in range(100)
    ]
    shares = np.stack([class_counts(parts, y, 10) for parts in splits])
    assert shares.var() / 1000**2 == pytest.approx(0.2 * 0.8 / (5 * 0.5 + 1), rel=0.06)


def test_dirichlet_agents_draw_mixes_of_their_own() -> None:
    y = np.repeat(np.arange(10), 2000)
    for seed in range(5):
        counts = class_counts(
            split("dirichlet-agent", y, 10, alpha=1.0, seed=seed), y, 10
        )
        distances = np.abs(counts[:, None] - counts[None]).sum(axis=2) / 4000
        assert distances[np.triu_indices(10, 1)].min() > 0.12


def test_mixes_are_restricted_to_the_classes_that_have_records_left() -> None:
    mixes = np.array([[1.0, 0.0, 0.0], [0.8, 0.1, 0.1]])
    found = module._restricted(mixes, np.array([0, 100, 300]))
    assert np.allclose(found, [[0, 0.25, 0.75], [0, 0.5, 0.5]])
    assert np.allclose(module._restricted(mixes, np.array([1, 1, 1])), mixes)


def dealt_by_a_loop(
    mixes: np.ndarray, sizes: np.ndarray, draw: np.random.Generator
) -> np.ndarray:
    """One record after the other, the plain way: counts (agents, classes)."""
    agents, left = len(mixes), sizes.copy()
    counts = np.zeros((agents, len(sizes)))
    for agent in draw.permutation(np.repeat(np.arange(agents), sizes.sum() // agents)):
        weights = np.where(left > 0, mixes[agent], 0)
        weights = weights if weights.sum() > 0 else left
        pick = draw.choice(len(sizes), p=weights / weights.sum())
        counts[agent, pick] += 1
        left[pick] -= 1
    return counts


def test_dirichlet_agent_deals_as_a_plain_loop_does() -> None:
    mixes = np.array([[0.9, 0.1, 0.0], [0.6, 0.4, 0.0], [1.0, 0.0, 0.0]])
    sizes = np.array([12, 9, 9])
    y = np.repeat(np.arange(3), sizes)

    def dealt(seed: int) -> np.ndarray:
        request = Request(
            y, agents=3, alpha=0.5, least=1, seed=seed, classes_per_agent=2
        )
        parts = dealt_by_mixes(request, mixes, generator(seed, "partition"))
        return class_counts(parts, y, 3)

    fast = [dealt(seed) for seed in range(600)]
    slow = [dealt_by_a_loop(mixes, sizes, np.random.default_rng(s)) for s in range(600)]
    assert np.abs(np.mean(fast, axis=0) - np.mean(slow, axis=0)).max() < 0.35
    assert np.abs(np.std(fast, axis=0) - np.std(slow, axis=0)).max() < 0.25


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 5), st.integers(1, 20), st.integers(0, 10**6))
def test_agent_with_shards_of_k_classes_holds_at_most_k(
    k: int, agents: int, seed: int
) -> None:
    sizes = np.random.default_rng(seed).integers(50, 400, 5)
    y = np.repeat(np.arange(5), sizes)
    if agents * k < 5:
        with pytest.raises(
            InputError, match=f"at least {-(-5 // agents)} classes per agent"
        ):
            split("shards", y, agents, classes_per_agent=k)
        return
    parts = split("shards", y, agents, classes_per_agent=k, seed=seed, least=1)
    assert (class_counts(parts, y, 5) > 0).sum(axis=1).max() <= k


def test_shards_of_equal_classes_are_equal() -> None:
    parts = split("shards", agents=10, classes_per_agent=2)
    assert {len(part) for part in parts} == {200}
    assert set(class_counts(parts, Y, 10).ravel().tolist()) <= {0, 100, 200}


def test_iid_and_quantity_keep_the_class_mix() -> None:
    assert skew(split("iid")) < 0.12
    parts = split("quantity", alpha=1.0, least=100)
    assert skew(parts) < 0.2
    sizes = sorted(len(part) for part in parts)
    assert sizes[0] >= 100
    assert sizes[-1] > 2 * sizes[0]
    assert sum(sizes) == len(Y)


def test_too_many_agents_are_told_the_largest_number() -> None:
    for rule in RULES:
        with pytest.raises(InputError, match="at most 40 agents are possible"):
            split(rule, agents=41, least=50)


def test_dirichlet_class_gives_up_with_a_hint() -> None:
    with pytest.raises(InputError, match=r"1000 draws.*larger alpha"):
        split("dirichlet-class", agents=20, alpha=0.01, least=50)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"alpha": 0.0}, "alpha must be a finite number greater than 0"),
        ({"alpha": -1.0}, "alpha"),
        ({"alpha": float("nan")}, "alpha"),
        ({"alpha": float("inf")}, "alpha"),
        ({"least": 0}, "least must be a whole number of at least 1"),
        ({"agents": 0}, "agents"),
        ({"agents": 2.5}, "agents"),
        ({"agents": True}, "agents"),
        ({"classes_per_agent": 0}, "classes_per_agent"),
        ({"y": np.zeros((2, 2), dtype=int)}, "Labels"),
        ({"y": np.zeros(0, dtype=int)}, "Labels"),
        ({"y": np.array([0.5])}, "Labels"),
        ({"y": np.array([-1, 2])}, "Labels"),
    ],
)
def test_wrong_requests_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        split("iid", **changes)


def test_unknown_rule_names_the_nearest() -> None:
    with pytest.raises(InputError, match="Did you mean 'dirichlet-class'"):
        split("dirichlet-clas")
    assert set(DESCRIPTIONS) == set(RULES)


def test_class_counts_count() -> None:
    y = np.array([0, 2, 2, 1])
    assert class_counts([np.array([0, 1]), np.array([2])], y, 4).tolist() == [
        [1, 0, 1, 0],
        [0, 0, 1, 0],
    ]
    with pytest.raises(
        InputError, match="classes must be greater than the largest label 2"
    ):
        class_counts([np.array([0])], y, 2)


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(sorted(RULES)),
    st.lists(st.integers(0, 4), min_size=40, max_size=200),
    st.integers(0, 99),
)
def test_sizes_depend_on_the_number_of_records_of_every_class_alone(
    rule: str, labels: list[int], seed: int
) -> None:
    y = np.array(labels)
    try:
        sizes = [
            len(part)
            for part in split(
                rule, y, agents=4, least=2, seed=seed, classes_per_agent=3
            )
        ]
    except InputError:
        assume(False)
    again = split(rule, np.sort(y), agents=4, least=2, seed=seed, classes_per_agent=3)
    assert [len(part) for part in again] == sizes
