"""Arithmetic of many rows: equal rows, formulas for every entry, scalar products, weighted sums.

A number is computed by one thread in one order, so its bits do not depend on how many rows there
are, where they begin in memory, or how many cores share the work. Torch is named in annotations
only, so that algorithms can use this file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from dpdl.native.rows import kernels
from dpdl.parallel import cores, each

if TYPE_CHECKING:
    import ctypes

    import numpy.typing as npt
    from torch import Tensor

    Numbers = npt.NDArray[np.int64]
    Weights = npt.NDArray[np.float64]

TOGETHER = 1 << 17
"""Entries that a formula is applied to at a time: intermediate values stay in the cache."""
FEW = 1 << 18
"""Up to this many entries, handing work to other cores costs more than it saves."""


@final
@dataclass(frozen=True)
class Machine:
    """What products and sums are computed with.

    The last bits of a sum may depend on `kernels`, on nothing else.
    """

    kernels: ctypes.CDLL | None  # None: torch computes
    cores: int  # that work is divided among
    few: int = FEW  # entries that are not divided


@cache
def this_machine() -> Machine:
    """The kernels, if they were compiled, and all cores of this process."""
    return Machine(kernels(), cores())


def first_equal(rows: Tensor) -> list[int]:
    """For every row, the number of the first row with the same entries."""
    seen: dict[bytes, list[int]] = {}
    first = []
    for k, row in enumerate(rows.unbind(0)):
        alike = seen.setdefault(row[:16].numpy().tobytes(), [])
        twin = next((m for m in alike if rows[m].equal(row)), k)
        if twin == k:
            alike.append(k)
        first.append(twin)
    return first


def entrywise(
    formula: Callable[..., Tensor], *matrices: Tensor, together: int = TOGETHER
) -> Tensor:
    """A formula for every entry of matrices of equal shape, on all cores.

    It is applied to about `together` entries at a time.
    """
    out = matrices[0].new_empty(matrices[0].shape)
    size = max(1, together // max(1, out[:1].numel()))
    blocks = zip(*(matrix.split(size) for matrix in (out, *matrices)), strict=True)
    each(lambda block: block[0].copy_(formula(*block[1:])), blocks)
    return out


# ------------------------------------------------------------------ scalar products
def products(
    a: Tensor,
    b: Tensor,
    at: Sequence[int],
    sizes: Sequence[int],
    machine: Machine | None = None,
) -> tuple[Tensor, Tensor]:
    """<a[k], b[at[k]]> and <a[k], a[k]>, piece by piece of the rows.

    Each is of shape (rows of a, pieces), in float64.
    """
    on = machine or this_machine()
    out = a.new_empty(len(a), len(sizes), 2).double()

    def some(part: slice) -> None:
        _multiply(on.kernels, a[part], b, at[part], sizes, out[part])

    if a.numel() <= on.few:
        some(slice(0, len(a)))
    else:
        share = -(-len(a) // (2 * on.cores))
        each(some, [slice(start, start + share) for start in range(0, len(a), share)])
    return out[..., 0], out[..., 1]


def _multiply(
    library: ctypes.CDLL | None,
    a: Tensor,
    b: Tensor,
    at: Sequence[int],
    sizes: Sequence[int],
    out: Tensor,
) -> None:
    if library and _kind(a) == _kind(b) == "float32":
        which, ends = np.array(at, np.int64), np.cumsum(sizes, dtype=np.int64)
        library.dpdl_row_products(
            len(a),
            a.data_ptr(),
            a.stride(0),
            b.data_ptr(),
            b.stride(0),
            which.ctypes.data,
            len(ends),
            ends.ctypes.data,
            out.data_ptr(),
        )
        return
    for k, j in enumerate(at):
        pieces = zip(a[k].split(sizes), b[j].split(sizes), strict=True)
        for piece, (of_a, of_b) in enumerate(pieces):
            # Copies, whose bits do not depend on where a piece begins in memory.
            x, y = of_a.double(), of_b.double()
            out[k, piece, 0] = (x * y).sum()
            out[k, piece, 1] = (x * x).sum()


def _kind(rows: Tensor) -> str | None:
    """The type of the entries, if they lie side by side in every row."""
    side_by_side = rows.stride(1) == 1 or rows.shape[1] == 1
    return str(rows.dtype).removeprefix("torch.") if side_by_side else None


# ------------------------------------------------------------------ weighted sums
class Groups(NamedTuple):
    """What is added up: the members of group g are order[bounds[g]:bounds[g + 1]], ascending."""

    order: Numbers
    bounds: Numbers


def grouped(group: Tensor, count: int) -> Groups:
    """Members by the number of their group, which is one of `count`."""
    numbers = group.numpy()
    ends = np.cumsum(np.bincount(numbers, minlength=count), dtype=np.int64)
    return Groups(
        np.argsort(numbers, kind="stable"),
        np.concatenate([np.zeros(1, np.int64), ends]),
    )


def weighted_sums(
    rows: Tensor,
    at: Tensor,
    weight: Tensor,
    groups: Groups,
    machine: Machine | None = None,
) -> Tensor:
    """For every group the sum over its members k of weight[k] rows[at[k]]: (groups, ...).

    Members are added in ascending order.
    """
    on = machine or this_machine()
    flat = rows.flatten(1) if rows.dim() > 1 else rows[:, None]
    which, weights = at.numpy()[groups.order], weight.double().numpy()[groups.order]
    count, width, bounds = len(groups.bounds) - 1, flat.shape[1], groups.bounds
    out = flat.new_empty(count, width)
    if flat.numel() <= on.few:
        _add(on.kernels, flat, which, weights, bounds, out)
        return out.view(count, *rows.shape[1:])

    # Equal sums are computed once: on a complete graph with equal weights all averages are equal.
    twin = _first_alike(which, weights, bounds)
    some = sorted(set(twin))
    # The entries of few sums are shared by the cores.
    strip = -(-width // -(-2 * on.cores // len(some)))

    def one(piece: tuple[int, int]) -> None:
        g, start = piece
        part = slice(start, start + strip)
        _add(
            on.kernels,
            flat[:, part],
            which,
            weights,
            bounds[g : g + 2],
            out[g : g + 1, part],
        )

    each(one, [(g, start) for g in some for start in range(0, width, strip)])
    each(
        lambda g: out[g].copy_(out[twin[g]]), [g for g in range(count) if twin[g] != g]
    )
    return out.view(count, *rows.shape[1:])


def _add(
    library: ctypes.CDLL | None,
    rows: Tensor,
    at: Numbers,
    weight: Weights,
    bounds: Numbers,
    out: Tensor,
) -> None:
    """out[g] = sum of weight[k] rows[at[k]] over k from bounds[g] to bounds[g + 1]."""
    kind = _kind(rows)
    if library and kind in ("float32", "float64"):
        in_float = kind == "float32"
        add = library.dpdl_row_sums_float if in_float else library.dpdl_row_sums_double
        add(
            len(out),
            bounds.ctypes.data,
            at.ctypes.data,
            weight.ctypes.data,
            rows.data_ptr(),
            rows.stride(0),
            rows.shape[1],
            out.data_ptr(),
            out.stride(0),
        )
        return
    for g, total in enumerate(out.zero_().unbind(0)):
        for k in range(bounds[g], bounds[g + 1]):
            total.add_(rows[at[k]], alpha=weight[k])


def _first_alike(at: Numbers, weight: Weights, bounds: Numbers) -> list[int]:
    """For every group, the first one with the same members and weights."""
    first: dict[tuple[bytes, bytes], int] = {}
    members = [slice(start, end) for start, end in pairwise(bounds.tolist())]
    return [
        first.setdefault((at[m].tobytes(), weight[m].tobytes()), g)
        for g, m in enumerate(members)
    ]
