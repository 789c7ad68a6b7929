"""Gaussian noise on a public grid: what leaves in secure mode.

The proof is in `docs/noise.md`, the compiled version in `native/grid.c`.

    y = h rint((x + z) / h),   z ~ N(0, std^2),   h = grid(std)

The sum is rounded, never x alone: so y is computed from what the ideal Gaussian mechanism would
send, and costs no more. Numbers drawn on a computer are not ideal. But the grid is far coarser than
they are fine: every pair of cells of the grid is hit with the ideal probability up to a factor 1 +-
LARGEST_ERROR, and `excess` says what that can cost.

That the digits of floating-point noise give secrets away is known from Mironov, "On significance of
the least significant bits for differential privacy" (2012), and for Gaussians by Box and Muller
from Jin, McMurtry, Rubinstein and Ohrimenko, "Are we there yet? Timing and floating-point attacks
on differential privacy systems" (2022).
"""

from __future__ import annotations

import math
import struct

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

from dpdl.errors import InputError
from dpdl.native import grid as native
from dpdl.privacy.limits import SMALLEST_DELTA

LARGEST_ERROR = 2.0**-33
"""Relative error of the probability of two cells that are within 16 deviations of the middle."""
BEYOND = 2.0**-184
"""Bound on the probability that a pair is further away than that: exp(-16^2 / 2), and a little."""
SMALLEST_STD, LARGEST_STD = 1e-30, 1e30


def grid(std: float) -> float:
    """The step h of the grid: the power of two with std / 1024 < h <= std / 512.

    It is public, because std is.
    """
    if not SMALLEST_STD <= abs(std) <= LARGEST_STD:
        raise InputError(
            f"Secure noise needs a standard deviation from {SMALLEST_STD:g} to {LARGEST_STD:g}, "
            f"not {std:g}."
        )
    return math.ldexp(1.0, math.frexp(std)[1] - 10)


def excess(numbers: float, epsilon: float, delta: float) -> float:
    """What a real sampler adds to an epsilon when so many numbers leave: 2 tau.

    Where the ideal mechanism is (epsilon, delta)-private, the real one is private with

        epsilon + 2 tau   and   (exp(tau) + 0.001) delta,
        tau = b sqrt(2 m log(1 / beta)) + 2 m e^2,

    with m pairs of numbers, e = LARGEST_ERROR, b = -log(1 - e), beta = delta exp(-epsilon) / 5000.
    A row of odd length counts one number more. Infinite where one of m pairs strays too far with a
    probability above beta: not before epsilon = 20 and 1e12 numbers.
    """
    if not SMALLEST_DELTA <= delta < 1:
        raise InputError(
            f"Secure noise supports a delta from {SMALLEST_DELTA:g} to 1, not {delta:g}."
        )
    pairs = math.ceil(numbers / 2)
    beta = delta * math.exp(-epsilon) / 5000
    if pairs * BEYOND > beta:
        return math.inf
    spread = math.sqrt(2 * pairs * math.log(1 / beta))
    tau = -math.log1p(-LARGEST_ERROR) * spread + 2 * pairs * LARGEST_ERROR**2
    return 2 * tau


def perturb_on_grid(
    key: bytes,
    row: np.ndarray,
    std: float,
    into: np.ndarray,
    compiled: bool = True,
) -> None:
    """Write row + N(0, std^2), rounded to `grid(std)`, to `into`.

    Both are float32 or float64, of one dimension, and may be the same. The noise is a function of
    the 32-byte key alone. A key is for one row: two rows with the same noise show their difference.
    Entries that are not finite count as 0; clipping lets none come here. With -std the noise has
    the other sign. Not `compiled`, numpy computes the same bits.
    """
    if row.dtype not in (np.float32, np.float64):
        raise InputError(
            f"Secure noise is made for rows of float32 or float64, not {row.dtype}."
        )
    assert (
        len(key) == 32
        and row.ndim == 1
        and (into.shape, into.dtype) == (row.shape, row.dtype)
    )
    step = grid(std)
    kernels = native.kernels() if compiled else None
    if kernels is None:
        into[:] = _perturbed(key, row, std / step, step)
        return
    perturb = (
        kernels.dpdl_perturb_on_grid_float
        if row.itemsize == 4
        else kernels.dpdl_perturb_on_grid_double
    )
    values = np.ascontiguousarray(row)
    out = into if into.flags.c_contiguous else np.empty_like(values)
    perturb(key, values.size, values.ctypes.data, std, step, out.ctypes.data)
    if out is not into:
        into[:] = out


# ------------------------------------------------------------------ `native/grid.c` by numpy
PIECE = 16_384
"""Entries perturbed at a time, a multiple of 256: intermediate results stay in the cache."""
MARGIN = 2.0**-13
"""Of a step: a sum that is closer to an edge is computed again, from all digits."""
LEAST, MOST = 2**21, 2**32 - 2**14
"""The first 32 digits of v between which they say enough about the radius."""
_LOG_4, _PART = 1.3862943611198906, float.fromhex("0x1.921fb54442d18p-64")
_HALF_ROOT = float.fromhex("0x1.6a09e667f3bcdp-1")
_LOG = (
    0.3333333333333367,
    0.1999999999970717,
    0.14285714371236238,
    0.11111099281821835,
    0.090917824308804,
    0.07657017949204162,
    0.07398052643729958,
)
_SIN = (
    -0.16666666666666632,
    0.008333333333322418,
    -0.00019841269829812313,
    2.755731369355535e-06,
    -2.5050758382251443e-08,
    1.589681169738674e-10,
)
_COS = (
    0.041666666666666595,
    -0.001388888888887305,
    2.4801587288846527e-05,
    -2.7557314177764463e-07,
    2.087570062880713e-09,
    -1.1358525236798388e-11,
)


def _perturbed(key: bytes, row: np.ndarray, scale: float, step: float) -> np.ndarray:
    out = np.empty_like(row)
    stream = Cipher(ChaCha20(key, bytes(16)), mode=None).encryptor()
    for start in range(0, row.size, PIECE):
        piece = row[start : start + PIECE]
        groups = -(-piece.size // 256)
        x = np.zeros(256 * groups)
        x[: piece.size] = piece
        blocks = np.frombuffer(stream.update(bytes(1024 * groups)), "<u4").reshape(
            groups, 8, 2, 8, 2
        )
        w, a = blocks.transpose(4, 0, 3, 2, 1).reshape(2, -1).astype(np.uint64)
        y = _piece(key, start // 2, w, a, x.reshape(-1, 2, 16), scale, step)
        out[start : start + PIECE] = y.reshape(-1)[: piece.size]
    return out


def _piece(
    key: bytes,
    first: int,
    w: np.ndarray,
    a: np.ndarray,
    x: np.ndarray,
    scale: float,
    step: float,
) -> np.ndarray:
    """Entries (x, 2, 16) with the noise of their pairs; `first` is the number of the first pair."""
    q = x * (1 / step)
    q = np.where(np.isfinite(q), q, 0.0)
    whole = np.rint(q)
    rest = np.moveaxis(q - whole, 1, 0).reshape(2, -1)
    middle = np.array([2**31, 0, 0, 0, 0, 0, 0, 0, 2**31], np.uint64)[:, None]
    sums = rest + normals(w, a, middle, scale)
    undecided = (
        (np.abs(sums - np.rint(sums)) > 0.5 - MARGIN).any(axis=0)
        | (w < LEAST)
        | (w >= MOST)
    )
    pairs = np.flatnonzero(undecided)
    more = (
        np.stack([_more(key, first + pair) for pair in pairs.tolist()], axis=1)
        if pairs.size
        else middle
    )
    sums[:, pairs] = rest[:, pairs] + normals(w[pairs], a[pairs], more, scale)
    near = np.moveaxis(np.rint(sums).reshape(2, -1, 16), 0, 1)
    return np.asarray((whole + near) * step)


def _more(key: bytes, pair: int) -> np.ndarray:
    """Nine more words of a pair."""
    state = struct.pack("<QQ", pair, 1)
    return np.frombuffer(
        Cipher(ChaCha20(key, state), mode=None).encryptor().update(bytes(36)), "<u4"
    ).astype(np.uint64)


def normals(w: np.ndarray, a: np.ndarray, more: np.ndarray, scale: float) -> np.ndarray:
    """The two normals of every pair, times `scale`, (2, pairs); bits as in `grid.c`."""
    r = scale * _radius(w, more[:8])
    cosine, sine = _direction(a << np.uint64(32) | more[8])
    return np.stack([cosine * r, sine * r])


def _radius(w: np.ndarray, more: np.ndarray) -> np.ndarray:
    flip = (w >> np.uint64(31)) * np.uint64(2**32 - 1)
    tail: float | np.ndarray = 0.5
    for digits in more[::-1]:
        tail = ((digits ^ flip).astype(np.float64) + tail) * 2.0**-32
    from_end = ((w ^ flip).astype(np.float64) + tail) * 2.0**-32
    part, exponent = np.frexp(np.where(flip, 1.0 - from_end, from_end))
    low = part < _HALF_ROOT
    exponent = exponent - low
    f = np.where(exponent == 0, -from_end, part * (1.0 + low) - 1.0)
    s = f / (2.0 + f)
    z = s * s
    return np.asarray(
        np.sqrt(-4.0 * (s + s * (z * _polynomial(_LOG, z))) - _LOG_4 * exponent)
    )


def _direction(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    quarter = ((t + np.uint64(2**61)) >> np.uint64(62)).astype(np.int64)
    angle = ((t << np.uint64(2)).view(np.int64).astype(np.float64) + 2.0) * _PART
    z = angle * angle
    s = angle + angle * (z * _polynomial(_SIN, z))
    c = 1.0 - (0.5 * z - z * z * _polynomial(_COS, z))
    turned = np.stack([c, -s, -c, s])
    every = np.arange(t.size)
    return turned[quarter, every], turned[(quarter + 3) % 4, every]


def _polynomial(terms: tuple[float, ...], z: np.ndarray) -> np.ndarray:
    p = np.full_like(z, terms[-1])
    for term in terms[-2::-1]:
        p = p * z + term
    return p
