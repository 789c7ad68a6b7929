"""Attacks on the bits of the noise. They win against `leaky`, the sampler of old, and learn nothing from `Secure`.

Somebody sees one message, knows the deviation of its noise, and has two candidates for the gradient underneath. What
an ideal Gaussian leaves to be guessed is next to nothing: the candidates differ by 1/25.57 of a deviation.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from scipy import stats

from dpdl.privacy.grid import grid
from dpdl.privacy.noise import Secure
from tests.reference.leaky import PIECE, leaky_perturb

SIGMA, CLIP, BATCH, ENTRIES = 25.57, 2.0, 216, 44_426
STD = SIGMA * CLIP / BATCH
Perturb = Callable[[np.ndarray, float], np.ndarray]


def secure_perturb(row: np.ndarray, std: float) -> np.ndarray:
    out = torch.empty(row.size, dtype=torch.from_numpy(row).dtype)
    Secure().perturb(torch.from_numpy(row), std, "noise", into=out)
    return out.numpy()


@pytest.fixture(autouse=True)
def seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    """One seed in place of the operating system, so a test either always holds or never."""
    monkeypatch.setattr("os.urandom", np.random.Generator(np.random.Philox(11)).bytes)


# ---------------------------------------------------------------- float64: exp(-R^2 / 2) is a multiple of 2^-53
def off_the_grid(message: np.ndarray, candidate: np.ndarray) -> float:
    """How far exp(-R^2 / 2) 2^53 is from whole numbers on average: 1/4 if the candidate is wrong, about 0 if right.

    Only radii with exp(-R^2 / 2) < 2^-9 are used: there float64 has digits left.
    """
    z = (message - candidate) / STD
    distances = []
    for start in range(0, z.size, PIECE):
        first, second = np.split(z[start : start + PIECE], 2)
        v = np.exp(-(first**2 + second**2) / 2)
        v = v[v < 2.0**-9] * 2.0**53
        distances.append(np.abs(v - np.rint(v)))
    return float(np.concatenate(distances).mean())


def right_decisions(perturb: Perturb, games: int) -> int:
    """How often the attack finds out whether a record took part: its gradient has norm C / B, like everybody's."""
    rng = np.random.Generator(np.random.Philox(5))
    right = 0
    for _ in range(games):
        rest, record = rng.standard_normal((2, ENTRIES))
        rest, record = (
            CLIP / BATCH * row / np.linalg.norm(row) for row in (rest, record)
        )
        candidates = [rest, rest + record]
        taken = int(rng.integers(2))
        message = perturb(candidates[taken], STD)
        right += int(np.argmin([off_the_grid(message, c) for c in candidates])) == taken
    return right


def test_one_message_of_the_leaky_sampler_decides_membership() -> None:
    assert right_decisions(leaky_perturb, 6) == 6


def test_one_secure_message_decides_nothing() -> None:
    right = right_decisions(secure_perturb, 60)
    assert stats.binomtest(right, 60).pvalue > 1e-3


# ---------------------------------------------------------------- float32: the spacing of a sum tells its terms
def crafted(
    perturb: Perturb, monkeypatch: pytest.MonkeyPatch
) -> tuple[np.ndarray, np.ndarray]:
    """A float32 gradient that nearly cancels the noise to come, and the message about it.

    Such near misses happen once in 2^29 entries; an attacker waits for them, a test makes them.
    """
    monkeypatch.setattr("os.urandom", np.random.Generator(np.random.Philox(12)).bytes)
    gradient = -perturb(np.zeros(ENTRIES), STD).astype(np.float32)
    monkeypatch.setattr("os.urandom", np.random.Generator(np.random.Philox(12)).bytes)
    return gradient, perturb(gradient, STD)


def telling(message: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Entries that are not 0, but below 2^-29 of the gradient's: a sum in float64 has lost digits there."""
    size = np.abs(message.astype(np.float64))
    return (size > 0) & (size < 2.0**-29 * np.abs(gradient))


def trailing_zeros(message: np.ndarray) -> np.ndarray:
    """Of the 24 binary digits of float32 numbers, how many at the end are 0."""
    digits = np.rint(np.frexp(message.astype(np.float64))[0] * 2.0**24).astype(np.int64)
    return np.log2(digits & -digits).astype(np.int64)


def test_a_small_float32_entry_of_the_leaky_sampler_tells_a_gradient_from_zero(
    monkeypatch,
) -> None:
    gradient, message = crafted(leaky_perturb, monkeypatch)
    small = telling(message, gradient)
    assert small.sum() > 500
    lost = np.floor(
        np.log2(np.abs(gradient[small]) * 2.0**-29 / np.abs(message[small]))
    )
    assert (trailing_zeros(message[small]) >= lost).all()
    pure = leaky_perturb(np.zeros(ENTRIES, np.float32), STD)
    assert trailing_zeros(pure).mean() < 1.1


def test_no_float32_entry_of_a_secure_message_is_small_and_not_zero(
    monkeypatch,
) -> None:
    gradient, message = crafted(secure_perturb, monkeypatch)
    assert not telling(message, gradient).any()
    assert (message == 0).mean() > 0.9
    pure = secure_perturb(np.zeros(ENTRIES, np.float32), STD)
    assert (
        np.abs(pure[pure != 0]) >= grid(STD)
    ).all()  # nor is one of pure noise: there is nothing to tell apart
