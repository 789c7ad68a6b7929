"""Where batches and noise come from.

`Reproducible` is for simulation: everything depends on a seed, and whoever knows the seed can
subtract the noise. `Secure` is for real data: every draw is keyed afresh by the operating system,
so nobody can repeat it, and its noise lies on a public grid (`grid.py`), so that no bit tells what
the noise was added to.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, final

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from torch import Tensor

from dpdl.keys import cipher_key, generator
from dpdl.native import noise
from dpdl.privacy.grid import PIECE, perturb_on_grid
from dpdl.privacy.link_noise import LinkKeys, add_link_noise

__all__ = ["Randomness", "Reproducible", "Secure", "perturb_on_grid"]


class Randomness(Protocol):
    """Independent streams, one per (purpose, *where)."""

    @property
    def repeatable(self) -> bool:
        """Whether an address gives the same numbers again; if so, the noise protects nobody."""
        ...

    def uniform(self, count: int, purpose: str, *where: int) -> np.ndarray:
        """Numbers in [0, 1), float64."""
        ...

    def perturb(
        self, row: Tensor, std: float, purpose: str, *where: int, into: Tensor
    ) -> None:
        """Write row + N(0, std^2), entry by entry, to `into`.

        Both are contiguous rows on the CPU, and may be the same.
        """
        ...

    def pair(
        self,
        row: Tensor,
        std: float,
        own: float,
        purpose: str,
        *where: int,
        into: Tensor,
    ) -> None:
        """Write row + Z to `into`, Z ~ N(0, std^2): the same Z at both ends of a link.

        Where std is below 0, that is row - Z. `where` is a round and the two ends, the lower one
        first; `own` is the deviation of the noise that the row has.
        """
        ...


@final
@dataclass(frozen=True)
class Reproducible:
    """Seeded streams: for simulation, not private, because the seed is known."""

    seed: int = field(repr=False)  # whoever reads it can subtract the noise
    repeatable = True
    pooled = (
        True  # noise of all pairs may be drawn at once: nobody has to know that of one
    )

    def uniform(self, count: int, purpose: str, *where: int) -> np.ndarray:
        """From the generator of the key."""
        return generator(self.seed, purpose, *where).random(count)

    def perturb(
        self, row: Tensor, std: float, purpose: str, *where: int, into: Tensor
    ) -> None:
        """Float32: Box-Muller on the key's ChaCha20 stream. Float64, for checks: its generator."""
        values, out = row.view(-1).numpy(), into.view(-1).numpy()
        if values.dtype == np.float32:
            perturb_by_key(cipher_key(self.seed, purpose, *where), values, std, out)
            return
        normals = generator(self.seed, purpose, *where).standard_normal(values.size)
        np.add(values, std * normals, out=out)

    def pair(
        self,
        row: Tensor,
        std: float,
        own: float,
        purpose: str,
        *where: int,
        into: Tensor,
    ) -> None:
        """From the key of the link, which both ends know because all know the seed."""
        self.perturb(row, std, purpose, *where, into=into)


@final
@dataclass(frozen=True)
class Secure:
    """A fresh ChaCha20 key of the operating system for every draw; noise on a public grid.

    What leaves is a multiple of `grid(std)` whatever was perturbed, and computed from what an ideal
    Gaussian mechanism would send, up to the error of the sampler, which `docs/noise.md` bounds. No
    bit of it tells more than that. The two ends of a link find each other in this object: they must
    be in one process.
    """

    repeatable = False
    links: LinkKeys = field(default_factory=LinkKeys, repr=False, compare=False)

    def uniform(self, count: int, purpose: str, *where: int) -> np.ndarray:
        """53 random bits each; the address is not used, no stream is ever drawn twice.

        A coin compared with q shows heads with probability ceil(2^53 q) / 2^53: above q by less
        than 2^-53.
        """
        return uniform_by_key(os.urandom(32), count)

    def perturb(
        self, row: Tensor, std: float, purpose: str, *where: int, into: Tensor
    ) -> None:
        """Under a key that is used for this row only."""
        perturb_on_grid(
            os.urandom(32), row.view(-1).numpy(), std, into.view(-1).numpy()
        )

    def pair(
        self,
        row: Tensor,
        std: float,
        own: float,
        purpose: str,
        *where: int,
        into: Tensor,
    ) -> None:
        """Under a key that is used once at each end."""
        key = self.links.key(purpose, where, std < 0)
        add_link_noise(key, row.view(-1).numpy(), std, own, into.view(-1).numpy())


def uniform_by_key(key: bytes, count: int) -> np.ndarray:
    """Numbers in [0, 1) of 53 bits each, a function of the 32-byte key."""
    stream = _stream(key, bytes(16)).update(bytes(8 * count))
    return (np.frombuffer(stream, "<u8") >> np.uint64(11)) * 2.0**-53


def perturb_by_key(
    key: bytes,
    row: np.ndarray,
    std: float,
    into: np.ndarray,
    compiled: bool = True,
) -> None:
    """Write row + N(0, std^2) to `into`; both have one dimension and are float32.

    The noise is a function of the 32-byte key alone. Not `compiled`, numpy computes the same up to
    the rounding of the normals.
    """
    kernels = noise.kernels() if compiled else None
    if kernels is not None and row.flags.c_contiguous and into.flags.c_contiguous:
        kernels.dpdl_perturb(key, row.size, row.ctypes.data, std, into.ctypes.data)
        return
    stream = _stream(key, bytes(16))
    _add(row, std, lambda size: keyed_normals(stream, size, compiled), into)


_ZEROS = bytes(8 * PIECE)


def _add(
    values: np.ndarray,
    std: float,
    normals: Callable[[int], np.ndarray],
    out: np.ndarray,
) -> None:
    """Write values + std times the next float64 normals to `out`; the sum is rounded once."""
    for start in range(0, values.size, PIECE):
        piece = values[start : start + PIECE]
        sums = normals(piece.size)
        sums *= std
        sums += piece
        out[start : start + PIECE] = sums


def _stream(key: bytes, nonce: bytes) -> CipherContext:
    return Cipher(ChaCha20(key, nonce), mode=None).encryptor()


def _words(stream: CipherContext, count: int) -> np.ndarray:
    """The next 64-bit words, at most PIECE."""
    words = np.empty(count, np.uint64)
    stream.update_into(memoryview(_ZEROS)[: 8 * count], words.data.cast("B"))
    return words


def normals(words: np.ndarray, compiled: bool = True) -> np.ndarray:
    """Box-Muller on 53 bits of each of an even number of words, which may be overwritten."""
    kernels = noise.kernels() if compiled else None
    if kernels is not None:
        kernels.dpdl_normals(words.ctypes.data, words.size // 2)
        return words.view(np.float64)
    u, turn = np.split((words >> np.uint64(11)) * 2.0**-53, 2)
    radius, angle = np.sqrt(-2.0 * np.log1p(-u)), 2.0 * np.pi * turn
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])


def keyed_normals(
    stream: CipherContext, size: int, compiled: bool = True
) -> np.ndarray:
    """What `dpdl_perturb` in `noise.c` computes in float32."""
    groups = -(-size // 256)
    # Group, block, pair, and which word of the pair.
    words = _words(stream, 128 * groups).view("<u4").reshape(groups, 16, 8, 2)
    # (w + 1/2) / 2^32 as a part of 2^64.
    middle = 2 * words.astype(np.uint64) + 1 << np.uint64(31)
    w, v = np.moveaxis(middle, (3, 2), (0, 2))
    # -w: a radius is computed from 1 - u.
    drawn = normals(np.concatenate([-w.ravel(), v.ravel()]), compiled)
    return np.stack(list(drawn.reshape(2, groups, 8, 16)), axis=2).reshape(-1)[:size]
