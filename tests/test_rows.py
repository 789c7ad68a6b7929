from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from dpdl.native.rows import kernels
from dpdl.rows import (
    Machine,
    entrywise,
    grouped,
    products,
    this_machine,
    weighted_sums,
)

with_kernels = pytest.mark.skipif(kernels() is None, reason="kernels were not compiled")
SIZES = [0, 1, 15, 16, 17, 44426]
LEVELS = (0, 1, 2)
PLAIN = Machine(kernels=None, cores=2)


def random(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(
        *shape, generator=torch.Generator().manual_seed(seed), dtype=dtype
    )


@pytest.fixture
def at_most():
    """Choose a variant of the kernels; the best one is chosen again afterwards."""
    library = kernels()
    assert library
    yield library.dpdl_use_at_most
    library.dpdl_use_at_most(2)


# ------------------------------------------------------------------ scalar products
def dots(a: Tensor, b: Tensor, machine: Machine | None = None) -> tuple[float, float]:
    along, square = products(a[None], b[None], [0], (len(a),), machine)
    return float(along), float(square)


@pytest.mark.parametrize("machine", [this_machine(), PLAIN], ids=["kernels", "plain"])
@pytest.mark.parametrize("size", SIZES)
def test_products_are_those_of_float64(size: int, machine: Machine) -> None:
    a, b = random(size), random(size, seed=1) + 0.3
    x, y = a.double().numpy(), b.double().numpy()
    along, square = dots(a, b, machine)
    assert abs(along - x @ y) <= 1e-12 * (
        np.abs(x) @ np.abs(y)
    )  # products are exact, sums are of float64
    assert square == pytest.approx(x @ x, rel=1e-12, abs=0)
    small = (1e-30 * a).double()
    assert dots(1e-30 * a, b, machine)[1] == pytest.approx(
        float(small @ small), rel=1e-12, abs=0
    )  # no float32


@pytest.mark.parametrize("size", SIZES)
def test_products_of_float64_rows(size: int) -> None:
    a, b = (
        random(size, dtype=torch.float64),
        random(size, seed=1, dtype=torch.float64) + 0.3,
    )
    assert dots(a, b) == pytest.approx((float(a @ b), float(a @ a)), rel=1e-12, abs=0)


@pytest.mark.parametrize("size", SIZES)
def test_where_a_row_starts_does_not_change_a_bit(size: int) -> None:
    a, b = random(size), random(size, seed=1)
    expected = dots(a, b)
    for start in (1, 2, 3, 5, 8, 15, 16):
        room = torch.full((size + 40,), 7.0)
        x, y = (
            room[start : start + size].copy_(a),
            random(size + 40, seed=2)[start // 2 :][:size].copy_(b),
        )
        assert dots(x, y) == expected


@with_kernels
@pytest.mark.parametrize("size", SIZES)
def test_all_machines_give_the_same_products(size: int, at_most) -> None:
    a, b = random(size), random(size, seed=1)
    found = []
    for level in LEVELS:
        at_most(level)
        found.append(dots(a, b))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("count", [1, 3, 40])
def test_products_of_many_rows_are_those_of_each_piece_of_each_row(count: int) -> None:
    sizes = (7000, 1, 0, 999)
    a, b = random(count, 8000), random(4, 8000, seed=1)
    at = [k % 4 for k in range(count)]
    along, square = products(a, b, at, sizes)
    assert along.dtype == square.dtype == torch.float64
    for k in range(count):
        for piece, (x, y) in enumerate(
            zip(a[k].split(sizes), b[at[k]].split(sizes), strict=True)
        ):
            assert (float(along[k, piece]), float(square[k, piece])) == dots(x, y)


# ------------------------------------------------------------------ weighted sums
def loops(
    rows: Tensor, at: Tensor, weight: Tensor, group: Tensor, count: int
) -> np.ndarray:
    out = np.zeros((count, *rows.shape[1:]))
    for k, g in enumerate(group.tolist()):
        out[g] += float(weight[k]) * rows[int(at[k])].double().numpy()
    return out


@pytest.mark.parametrize("machine", [this_machine(), PLAIN], ids=["kernels", "plain"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(), (1,), (5,), (2, 3), (3001,), (70_000,)])
def test_sums_are_those_of_a_plain_loop(shape, dtype, machine: Machine) -> None:
    rows, group = (
        random(9, *shape, dtype=dtype),
        torch.tensor([2, 0, 2, 3, 0, 2, 3]),
    )  # group 1 has no members
    at, weight = (
        torch.tensor([8, 0, 3, 3, 1, 7, 2]),
        random(7, seed=1, dtype=torch.float64),
    )
    found = weighted_sums(rows, at, weight, grouped(group, 4), machine)
    assert (found.shape, found.dtype) == ((4, *shape), dtype)
    tolerance = 1e-6 if dtype == torch.float32 else 1e-14
    assert np.abs(found.numpy() - loops(rows, at, weight, group, 4)).max() < tolerance
    assert not found[1].any()


def test_sums_of_some_columns() -> None:
    rows, group = random(4, 100), torch.tensor([0, 1, 0, 1])
    at, weight = torch.arange(4), random(4, seed=1).double()
    whole = weighted_sums(rows, at, weight, grouped(group, 2))
    for columns in (slice(3, 60), slice(99, 100), slice(0, 100, 3)):
        found = weighted_sums(rows[:, columns], at, weight, grouped(group, 2))
        assert (found - whole[:, columns]).abs().max() < 1e-6


@pytest.mark.parametrize("cores", [1, 2, 7])
def test_the_bits_of_a_sum_do_not_depend_on_how_it_is_shared(cores: int) -> None:
    rows, at, group = random(30, 4001), torch.arange(30), torch.arange(30) % 3
    weight = random(30, seed=1).double()
    alone = weighted_sums(rows, at, weight, grouped(group, 3))
    sharing = Machine(kernels(), cores, few=0)
    shared = weighted_sums(rows, at, weight, grouped(group, 3), sharing)
    assert torch.equal(shared, alone)


@with_kernels
def test_machines_that_round_together_give_the_same_sums_and_others_nearly(
    at_most,
) -> None:
    rows, at, group = random(30, 5001), torch.arange(30), torch.arange(30) % 3
    found = []
    for level in LEVELS:
        at_most(level)
        found.append(
            weighted_sums(rows, at, random(30, seed=1).double(), grouped(group, 3))
        )
    assert torch.equal(found[1], found[2])
    assert (found[0] - found[1]).abs().max() < 1e-5


class Counting:
    """The kernels, counting the entries of sums that they compute."""

    def __init__(self) -> None:
        self.entries = 0

    def dpdl_row_sums_float(self, groups: int, *more: int) -> None:
        library = kernels()
        assert library
        *_, width, _, _ = more
        self.entries += groups * width
        library.dpdl_row_sums_float(groups, *more)


@with_kernels
def test_equal_sums_are_computed_once_and_nearly_equal_ones_are_not() -> None:
    rows, group, at = random(3, 500), torch.arange(12) // 3, torch.arange(12) % 3
    weight = torch.full((12,), 1 / 3, dtype=torch.float64)

    def counted() -> tuple[Tensor, int]:
        library = Counting()
        machine = Machine(library, cores=2, few=0)
        found = weighted_sums(rows, at, weight, grouped(group, 4), machine)
        return found, library.entries

    equal, entries = counted()
    assert entries == 500
    assert all(torch.equal(equal[g], equal[0]) for g in range(4))
    weight[4] = np.nextafter(1 / 3, 1)
    at[[6, 7]] = at[[7, 6]]  # another order
    nearly, entries = counted()
    assert np.abs(nearly.numpy() - equal.numpy()).max() < 1e-6
    assert entries == 3 * 500


# ------------------------------------------------------------------ every entry
@pytest.mark.parametrize("rows", [0, 1, 7])
@pytest.mark.parametrize("together", [1, 25, 1000])
def test_a_formula_for_every_entry_is_that_of_the_whole(
    rows: int, together: int
) -> None:
    x, v = random(rows, 10), random(rows, 10, seed=1)
    before = x.clone()
    found = entrywise(lambda x, v: x - 0.3 * v, x, v, together=together)
    assert torch.equal(found, x - 0.3 * v)
    assert torch.equal(x, before)
