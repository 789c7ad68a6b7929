"""Where batches and noise come from.

`Reproducible` is for simulation: everything depends on a seed, and whoever knows the seed can subtract the noise.
`Secure` is for real data: every draw is keyed afresh by the operating system, so nobody can repeat it.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from typing import Protocol, final

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from torch import Tensor

from dpdl.keys import generator


class Randomness(Protocol):
    """Independent streams, one per (purpose, *where)."""

    @property
    def repeatable(self) -> bool:
        """Whether the same address gives the same numbers again; if so, the noise protects nobody."""
        ...

    def uniform(self, count: int, purpose: str, *where: int) -> np.ndarray:
        """Numbers in [0, 1), float64."""
        ...

    def perturb(self, rows: Tensor, std: float, purpose: str, *where: int) -> None:
        """Add N(0, std^2) to every entry of a contiguous CPU row, in place."""
        ...


@final
@dataclass(frozen=True)
class Reproducible:
    """Seeded streams: for simulation, not private, because the seed is known."""

    seed: int
    repeatable = True

    def uniform(self, count: int, purpose: str, *where: int) -> np.ndarray:
        """From the generator of the key."""
        return generator(self.seed, purpose, *where).random(count)

    def perturb(self, rows: Tensor, std: float, purpose: str, *where: int) -> None:
        """Noise of the same type as the row."""
        values = rows.numpy()
        noise = _room(values)
        generator(self.seed, purpose, *where).standard_normal(out=noise, dtype=noise.dtype)
        noise *= std
        values += noise


@final
@dataclass(frozen=True)
class Secure:
    """A fresh ChaCha20 key from the operating system for every draw; Gaussian by Box-Muller in float64.

    The sum is formed in float64 and rounded once, so the bits of a float32 row do not reveal the noise's grid.
    """

    repeatable = False

    def uniform(self, count: int, purpose: str, *where: int) -> np.ndarray:
        """53 random bits each; the address is not used, no stream is ever drawn twice."""
        return (_keystream(count) >> np.uint64(11)) * 2.0**-53

    def perturb(self, rows: Tensor, std: float, purpose: str, *where: int) -> None:
        """Two normals from every two uniforms."""
        values = rows.numpy()
        half = (values.size + 1) // 2
        u, turn = np.split(self.uniform(2 * half, purpose, *where), 2)
        radius = np.sqrt(-2.0 * np.log1p(-u))
        angle = 2.0 * np.pi * turn
        normal = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[: values.size]
        values[...] = values + std * normal.reshape(values.shape)


_rooms = threading.local()


def _room(values: np.ndarray) -> np.ndarray:
    """This thread's array of the same shape and type; a fresh one every time would cost as much as the noise."""
    room: np.ndarray | None = getattr(_rooms, "room", None)
    if room is None or room.shape != values.shape or room.dtype != values.dtype:
        room = _rooms.room = np.empty_like(values)
    return room


def _keystream(words: int) -> np.ndarray:
    """64-bit words of a ChaCha20 stream whose key nobody keeps."""
    stream = Cipher(ChaCha20(os.urandom(32), os.urandom(16)), mode=None).encryptor()
    return np.frombuffer(stream.update(bytes(8 * words)), np.uint64)
