"""Noise on a grid: its bits, its errors, and what is refused."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dpdl.errors import InputError
from dpdl.privacy import grid as module
from dpdl.privacy.grid import MARGIN, grid
from tests.privacy.rows import KEY, drawn, entries_of, words_of
from tests.reference import grid_noise as reference

U = 2.0**-53
TYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
ENDS = (
    0,
    1,
    2**21 - 1,
    2**21,
    2**29,
    2**30,
    2**31 - 1,
    2**31,
    2**31 + 2**30,
    3037000499,
    2**32 - 2**14,
    2**32 - 1,
)


def any_words(pairs: int, seed: int = 0) -> np.ndarray:
    """w, a and nine more words of every pair, (pairs, 11): those at the ends of their ranges first, then any."""
    rng = np.random.Generator(np.random.Philox(seed))
    words = rng.integers(0, 2**32, (pairs, 11), np.uint32)
    ends = list(itertools.product(ENDS, ENDS, (0, 2**32 - 1)))
    words[: len(ends), :2] = [end[:2] for end in ends]
    words[: len(ends), 2:] = [[end[2]] * 9 for end in ends]
    far = slice(
        len(ends), len(ends) + 200
    )  # radii far out and close to 0: leading zeros, or ones, in any number
    words[far, 0] = np.where(np.arange(200) % 2, 0, 2**32 - 1)
    for k, row in enumerate(words[far]):
        row[2 : 2 + k % 8] = row[0]
    return words


# ---------------------------------------------------------------- bits
@pytest.mark.parametrize("std", [1.0, 0.2367, 3e-7, 6e9])
def test_numbers_are_those_of_decimal_arithmetic(compiled: bool, std: float) -> None:
    rng = np.random.Generator(np.random.Philox(1))
    row = std * rng.standard_normal(600) * 10 ** rng.uniform(-3, 6, 600)
    assert drawn(row, std, compiled=compiled).tolist() == reference.perturbed(
        KEY, row.tolist(), std
    )


def beside_edges(
    pairs: np.ndarray, z: np.ndarray, side: int
) -> tuple[np.ndarray, np.ndarray]:
    """A row made for its noise z, (2, pairs), and what it must become.

    The sums of these pairs lie 2^-30 of a step beside where rounding changes. 32 bits of radius and angle cannot tell
    on which side. Only the further digits of the second stream can.
    """
    row, entries = np.zeros(32 * (int(pairs.max()) // 16 + 1)), entries_of(pairs)
    steps = entries % 5
    row[entries] = (steps + 0.5 + side * 2.0**-30) * grid(1.0) - z
    return row, (steps + (side > 0)) * grid(1.0)


@pytest.mark.parametrize("side", [-1, 1])
def test_a_sum_beside_an_edge_falls_on_its_side(compiled: bool, side: int) -> None:
    pairs, exact = np.arange(64), []
    for pair in pairs.tolist():
        p, i = divmod(pair, 16)
        words = reference.block(KEY, 2 * (i % 8) + i // 8, 0)
        exact.append(
            reference.normals(
                words[2 * p], words[2 * p + 1], reference.block(KEY, pair, 1)[:9]
            )
        )
    row, expected = beside_edges(pairs, np.array(exact, np.float64).T, side)
    assert np.array_equal(drawn(row, compiled=compiled)[entries_of(pairs)], expected)


@pytest.mark.parametrize("side", [-1, 1])
def test_a_radius_far_out_or_close_to_zero_is_computed_from_all_its_digits(
    compiled: bool, side: int
) -> None:
    """Where 32 bits of the uniform say too little about the radius, sums are wrong by more than the margin."""
    w, a = words_of(KEY, 2**21)
    pairs = np.flatnonzero((w < module.LEAST) | (w >= module.MOST))
    more = np.array(
        [reference.block(KEY, pair, 1)[:9] for pair in pairs.tolist()], np.uint64
    ).T
    row, expected = beside_edges(
        pairs, module.normals(w[pairs], a[pairs], more, 1.0), side
    )
    assert len(pairs) > 400
    assert np.array_equal(drawn(row, compiled=compiled)[entries_of(pairs)], expected)


@TYPES
def test_every_machine_and_numpy_give_the_same_bits(kernels, dtype) -> None:
    rng = np.random.Generator(np.random.Philox(2))
    for size in (0, 1, 2, 15, 17, 255, 256, 257, module.PIECE + 1, 300_001):
        row = rng.standard_normal(size) * 10 ** rng.uniform(-6, 6, size)
        rows = []
        for level in (0, 1, 2):
            kernels.dpdl_use_at_most(level)
            rows.append(drawn(row, 0.37, dtype=dtype))
        rows.append(drawn(row, 0.37, dtype=dtype, compiled=False))
        assert all(np.array_equal(rows[0], other) for other in rows[1:])


@TYPES
def test_every_number_is_a_multiple_of_the_grid_whatever_is_perturbed(
    compiled: bool, dtype
) -> None:
    rng = np.random.Generator(np.random.Philox(3))
    for std in (1e-30, 0.0237, 1.0, 1023.99, 1e30):
        row = (std * rng.standard_normal(3000) * 10 ** rng.uniform(-9, 7, 3000)).astype(
            dtype
        )
        steps = drawn(row, std, dtype=dtype, compiled=compiled).astype(
            np.float64
        ) / grid(std)
        assert (steps == np.rint(steps)).all()
        assert (
            np.abs(steps - row / grid(std)).max()
            < 8192 + 2.0**-20 * np.abs(steps).max()
        )


def test_the_grid_is_the_power_of_two_below_a_512th_of_the_deviation() -> None:
    for std in (1.0, 1.5, 0.999, 2.0**-90, 3e29, -0.7):
        step = grid(std)
        assert math.frexp(step)[0] == 0.5
        assert abs(std) / 1024 < step <= abs(std) / 512


def test_what_is_not_finite_counts_as_zero(compiled: bool) -> None:
    row = np.array([0.0, 1.0, np.nan, np.inf, -np.inf, 5.0])
    with np.errstate(all="ignore"):
        assert (
            drawn(row, compiled=compiled).tolist()
            == drawn(
                np.array([0.0, 1.0, 0.0, 0.0, 0.0, 5.0]), compiled=compiled
            ).tolist()
        )


def test_an_entry_far_above_the_noise_keeps_its_value(compiled: bool) -> None:
    for x in (2.0**60, -(2.0**53) - 2, 2.0**42 + 0.25):
        assert np.abs(drawn(x, size=64, compiled=compiled) - x).max() < max(
            6, 2.0**-52 * abs(x)
        )


def test_the_noise_of_the_other_sign(compiled: bool) -> None:
    row = np.linspace(-3, 3, 777)
    assert np.array_equal(
        drawn(-row, -0.3, compiled=compiled), -drawn(row, 0.3, compiled=compiled)
    )


def test_a_row_in_any_place_gets_the_noise_of_its_key(compiled: bool) -> None:
    room = np.zeros((600, 2))
    module.perturb_on_grid(KEY, room[:, 1], 1.0, room[:, 1], compiled)
    assert np.array_equal(room[:, 1], drawn(0.0, size=600, compiled=compiled))
    assert not room[:, 0].any()
    assert not np.array_equal(
        room[:, 1], drawn(0.0, size=600, key=bytes(32), compiled=compiled)
    )


# ---------------------------------------------------------------- errors, as the proof uses them
def both_ways(words: np.ndarray, kernels) -> np.ndarray:
    """The normals by C and by numpy, which are the same bits: (pairs, 2)."""
    out = np.empty((len(words), 2))
    kernels.dpdl_grid_normals(
        len(words), np.ascontiguousarray(words).ctypes.data, out.ctypes.data
    )
    columns = words.T.astype(np.uint64)
    assert np.array_equal(
        module.normals(columns[0], columns[1], columns[2:], 1.0).T, out
    )
    return out


def test_normals_are_as_exact_as_the_proof_needs(kernels) -> None:
    """The proof allows 13 units 2^-53 of the radius, and 9 from radius 3 on; these are 3 at most."""
    words = any_words(2000)
    found = both_ways(words, kernels)
    radii, errors = [], []
    for row, pair in zip(words.tolist(), found.tolist(), strict=True):
        exact = reference.normals(row[0], row[1], row[2:])
        radii.append(float(reference.radius([row[0], *row[2:10]])))
        errors.append(
            max(
                float(abs(reference.Decimal(z) - e))
                for z, e in zip(pair, exact, strict=True)
            )
        )
    r, e = np.array(radii), np.array(errors)
    assert r.max() > 19 and r.min() < 1e-40
    assert (e <= 4 * U * r).all()


@pytest.mark.parametrize("level", [0, 1, 2])
def test_rough_normals_are_closer_than_the_margin_whatever_digits_follow(
    kernels, level: int
) -> None:
    """Of a step, at the largest scale: the ends of what w and a leave open are the worst cases."""
    kernels.dpdl_use_at_most(level)
    rng = np.random.Generator(np.random.Philox(4))
    ends = [np.arange(end - 4096, end + 4096) for end in (module.LEAST, module.MOST)]
    w = np.concatenate(
        [*ends, rng.integers(module.LEAST, module.MOST, 100_000)]
    ).astype(np.uint64)
    a = rng.integers(0, 2**32, w.size, np.uint64)
    rough = np.empty((2, w.size))
    kernels.dpdl_grid_rough(
        w.size, w.ctypes.data, a.ctypes.data, rough[0].ctypes.data, rough[1].ctypes.data
    )
    used = (w >= module.LEAST) & (w < module.MOST)
    assert np.array_equal(rough.any(axis=0), used)
    worst = 0.0
    for radius_digits, angle_digits in itertools.product((0, 2**32 - 1), repeat=2):
        more = np.array([radius_digits] * 8 + [angle_digits], np.uint64)[:, None]
        worst = max(
            worst, 1024 * np.abs(rough - module.normals(w, a, more, 1.0))[:, used].max()
        )
    assert 0.4 * MARGIN < worst < 0.8 * MARGIN


# ---------------------------------------------------------------- what is refused, and what it costs
@pytest.mark.parametrize("std", [0.0, 1e-31, -1e31, math.inf, math.nan])
def test_a_deviation_without_a_grid_is_refused(std: float) -> None:
    with pytest.raises(InputError, match="standard deviation from 1e-30 to 1e\\+30"):
        drawn(0.0, std)


def test_other_types_are_refused() -> None:
    with pytest.raises(InputError, match="float32 or float64, not float16"):
        drawn(0.0, dtype=np.float16)
