"""Noise on a grid follows the law that `docs/noise.md` proves. One key each, so a test always holds or never."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dpdl.errors import InputError
from dpdl.privacy import grid as module
from dpdl.privacy.grid import excess, grid
from dpdl.privacy.limits import SMALLEST_DELTA
from tests.privacy.rows import KEY, drawn, entries_of, words_of


def test_moments_and_tails_of_twenty_million_numbers(kernels) -> None:
    n, step = 20_000_000, grid(1.0)
    edges = [
        (math.floor(beyond / step) + 0.5) * step for beyond in (1, 2, 3, 4, 5)
    ]  # between two multiples
    sums, outside = np.zeros(3), np.zeros((2, len(edges)), np.int64)
    for part in range(4):
        values = drawn(0.0, size=n // 4, key=bytes([part]) * 32)
        squares = values * values
        sums += values.sum(), squares.sum(), (squares * squares).sum()
        outside += [
            [(side > edge).sum() for edge in edges] for side in (values, -values)
        ]
    mean, variance, fourth = sums / n
    assert abs(mean) < 4 / math.sqrt(n)
    assert abs(variance - 1 - step**2 / 12) < 4 * math.sqrt(2 / n)
    assert abs(fourth - 3) < 4 * math.sqrt(96 / n)
    for edge, counts in zip(edges, outside.T.tolist(), strict=True):
        for count in counts:
            assert stats.binomtest(count, n, stats.norm.sf(edge)).pvalue > 1e-4


def test_numbers_are_normal_once_a_cell_is_filled(kernels) -> None:
    values = drawn(0.0, size=500_000)
    within = grid(1.0) * np.random.Generator(np.random.Philox(6)).uniform(
        -0.5, 0.5, values.size
    )
    assert stats.kstest(values + within, "norm").pvalue > 1e-3


def test_rounding_adds_a_twelfth_of_the_squared_step_and_nothing_else() -> None:
    """What y has beside x + z: uniform in a cell, and independent of z."""
    step, size = grid(1.0), 2**18
    middle = np.array([2**31] + [0] * 7 + [2**31], np.uint64)[:, None]
    z = module.normals(*words_of(KEY, size), middle, 1.0)
    rest = drawn(0.0, size=size)[entries_of(np.arange(size // 2))] - z
    assert rest.var() == pytest.approx(step**2 / 12, rel=4 * math.sqrt(0.8 / size))
    assert stats.kstest(rest.ravel() / step, "uniform", args=(-0.5, 1)).pvalue > 1e-3
    assert abs(np.corrcoef(rest.ravel(), z.ravel())[0, 1]) < 4 / math.sqrt(size)


@pytest.mark.parametrize("offset", [0.0, 0.3, -0.5, 1e6 + 0.3, 2.0**40 + 0.25])
def test_cells_are_hit_with_the_probability_of_a_gaussian_around_any_number(
    kernels, offset: float
) -> None:
    step, reach = grid(1.0), 400
    x = offset * step
    k = np.rint(drawn(x, size=4_000_000) / step - math.floor(offset)).astype(np.int64)
    edges = (np.arange(-reach, reach + 2) - 0.5 + math.floor(offset) - offset) * step
    expected = np.diff(stats.norm.cdf(edges)) * k.size
    counts = np.bincount(k[np.abs(k) <= reach] + reach, minlength=2 * reach + 1)
    inside = counts.sum()
    assert stats.binomtest(int(inside), k.size, expected.sum() / k.size).pvalue > 1e-4
    assert stats.chisquare(counts, expected * inside / expected.sum()).pvalue > 1e-4


def test_the_two_numbers_of_a_pair_are_independent(kernels) -> None:
    """64 by 64 cells, each with 1/4096 of the mass."""
    values = drawn(0.0, size=2**22).reshape(-1, 2, 16)
    fine = np.random.Generator(np.random.Philox(7)).uniform(
        -0.5, 0.5, values.shape
    ) * grid(1.0)
    row, column = np.moveaxis(
        (64 * stats.norm.cdf(values + fine)).astype(np.int64), 1, 0
    )
    counts = np.bincount((64 * row + column).ravel(), minlength=4096)
    assert stats.chisquare(counts).pvalue > 1e-4


# ---------------------------------------------------------------- what that costs
def test_the_cost_of_a_real_sampler_is_what_the_documentation_says() -> None:
    """LeNet, ten answers, 1,000 rounds: 4.4e8 numbers."""
    numbers = 44_426 * 10 * 1_000
    assert excess(numbers, 0.5, 1e-5) == pytest.approx(2.2e-5, rel=0.05)
    assert excess(numbers, 0.5, SMALLEST_DELTA) == pytest.approx(4.4e-5, rel=0.05)
    assert excess(1e12, 20.0, SMALLEST_DELTA) < 0.01
    assert excess(numbers, 200.0, 1e-5) == math.inf
    with pytest.raises(InputError, match="delta from 1e-30"):
        excess(numbers, 0.5, SMALLEST_DELTA / 2)


def test_points_of_a_lattice_are_as_many_as_the_lemma_allows() -> None:
    """The counting lemma of `docs/noise.md`, on a lattice coarse enough to be counted and with cells to match."""
    fine, s = 2.0**-11, 0.5
    middle = (np.arange(2**11) + 0.5) * fine
    r, angle = np.sqrt(-2 * np.log(middle))[:, None], 2 * np.pi * middle
    cell = (
        np.stack(
            [np.rint(r * np.cos(angle) / s), np.rint(r * np.sin(angle) / s)]
        ).astype(int)
        + 8
    )
    counts = (
        np.bincount(
            np.ravel_multi_index(tuple(cell.reshape(2, -1)), (17, 17)), minlength=289
        )
        * fine**2
    )
    at = np.arange(-8, 9)
    mass = np.diff(stats.norm.cdf((np.arange(-8, 10) - 0.5) * s))
    near = np.hypot(
        *np.meshgrid(*[np.maximum(np.abs(at) - 0.5, 0) * s] * 2)
    )  # of a cell, the distance from the middle
    turns = np.minimum(2, 4 * s / (2 * np.pi * np.maximum(near, 1e-9)))
    slope = np.where(
        near < 1, math.exp(-0.5), near * np.exp(-(near**2) / 2)
    )  # the largest R v of a cell, or more
    allowed = fine * turns + fine * 4 * s * slope + 24 * fine**2
    difference = np.abs(counts.reshape(17, 17) - np.outer(mass, mass))
    assert (difference <= allowed).all()
    assert (difference > 0.01 * allowed).any()
