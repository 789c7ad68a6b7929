"""Noise that the two ends of a link share, on the public grid of what it is added to.

    y_i = u_i + sum over links of +-Z,   u_i = R_h(x_i + z_i),   h = grid(std of z_i)
    Z   = h floor(Z' / h + 1/2),         Z' = R_{h'}(N(0, (c std)^2)),   h' = grid(c std)

u_i is what `perturb_on_grid` gives, and Z is drawn at both ends from one key. All are multiples of
h, and sums of them are exact: what one end adds is what the other subtracts, to the last bit, and
y_i = R_h(x_i + z_i + sum +-Z). `docs/noise.md` proves that this tells no more than the Gaussian
mechanism with noise z_i + sum +-N(0, (c std)^2), as long as `check_link_noise` lets it pass.
"""

from __future__ import annotations

import math
import os
import threading
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from dpdl.errors import InputError, RunFailed
from dpdl.privacy.grid import grid, perturb_on_grid

if TYPE_CHECKING:
    from dpdl.privacy.mechanism import Mechanism

ROUGHEST = 2.0**15
"""Largest max(1, c)^2 (1 / c^2 + 2 degree) for which the grid of Z is fine enough.

A density is then off by a factor 1 +- 2.1 exp(-157) for every link of the graph.
"""
FARTHEST = 20
"""No number that the sampler draws is further from its mean, in deviations."""
FINEST = 1024
"""More than std / grid(std)."""
RARE = 1e-40
"""Of a batch that is too large: over any run much less than the smallest delta."""


def add_link_noise(
    key: bytes, row: np.ndarray, std: float, own: float, into: np.ndarray
) -> None:
    """Write row + Z to `into`, or row - Z if std is below 0; Z is a function of key and |std|.

    `own` is the deviation of the noise that the row has. A row that is not on its grid is refused:
    digits between the steps would leave as they are.
    """
    step = grid(own)
    _check_row(row, step)
    shared = np.zeros_like(row)
    perturb_on_grid(key, shared, abs(std), shared)
    if grid(std) < step:
        # Halves go up, always: every step then has a cell of the same width.
        np.floor(shared / step + 0.5, out=shared)
        shared *= step
    (np.add if std > 0 else np.subtract)(row, shared, out=into)


def _check_row(row: np.ndarray, step: float) -> None:
    """Refuse what is between the steps, or so far out that a sum would be rounded."""
    steps = np.abs(row) * (1 / step)
    near = np.rint(steps)
    # What is not a number comes from models that diverged, which everybody has seen; it passes.
    if ((near < steps) | (near > steps)).any():
        raise InputError(
            "Secure noise of links is added to perturbed gradients and to nothing else; this row "
            "is not on the grid of its noise. weight_decay must be 0."
        )
    if (steps > _exact(row.itemsize)).any():
        raise RunFailed(
            "A gradient is too large for the noise of its links to be added exactly; use dtype "
            "float64, a larger sigma or a smaller batch."
        )


def _exact(bytes_each: int) -> int:
    """Whole numbers up to this one are exact in float32 or float64."""
    return 1 << (24 if bytes_each == 4 else 53)


def check_link_noise(
    mechanism: Mechanism,
    factor: float,
    degree: int,
    bytes_each: int,
    least: float | None = None,
) -> None:
    """Refuse link noise for which there is no proof; all that this looks at is public.

    `factor` is c, the largest of them if links differ, and `least` then the smallest above 0.
    `degree` is the largest number of links of an agent. Passed are only mechanisms
    whose rows stay where sums are exact, whatever the records are, but for batches of a size that
    comes up with probability RARE.
    """
    if not factor * mechanism.std:
        return
    if max(1, factor) ** 2 * ((least or factor) ** -2 + 2 * degree) > ROUGHEST:
        least, most = ROUGHEST**-0.5, math.sqrt((ROUGHEST - 1) / (2 * degree))
        raise InputError(
            f"Secure noise of links needs a correlation of 0, or from {least:.2g} to {most:.3g} "
            f"where an agent has {degree} neighbours, not {factor:g}."
        )
    largest = mechanism.largest_batch(RARE) / mechanism.noise_multiplier
    noise = FARTHEST * (1 + factor * math.sqrt(degree))
    if FINEST * (largest + noise) > _exact(bytes_each):
        raise InputError(
            "Secure noise of links cannot be added exactly to gradients of so large a batch with "
            "so small a sigma; use dtype float64."
        )


class _Half(NamedTuple):
    """What one end of a link has drawn, and the other one not yet."""

    where: tuple[int, ...]
    subtracts: bool
    key: bytes


@final
class LinkKeys:
    """Keys of links whose ends are in one process: made by the first end, taken by the second.

    A key serves both ends once and is then forgotten. A run that is repeated gets others.
    """

    def __init__(self) -> None:
        self._halves: dict[tuple[str, tuple[int, ...]], _Half] = {}
        self._lock = threading.Lock()

    def key(self, purpose: str, where: tuple[int, ...], subtracts: bool) -> bytes:
        """The key of link `where[1:]` in round `where[0]`, for one of its ends."""
        link = purpose, where[1:]
        with self._lock:
            half = self._halves.get(link)
            if half is None:
                made = _Half(where, subtracts, os.urandom(32))
                self._halves[link] = made
                return made.key
            if half.where != where or half.subtracts == subtracts:
                raise RunFailed(
                    f"Only one end of link {where[1]}-{where[2]} drew its noise in round "
                    f"{half.where[0]}: a run was cut off there, or the other end is in another "
                    "process. Plan the run again."
                )
            del self._halves[link]
            return half.key
