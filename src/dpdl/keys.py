"""Randomness that is addressed, never drawn in order.

A random stream is named by a key `(seed, purpose, *where)`, for instance `(7, "noise", round, i,
j)`. What it yields depends on the key alone: not on who else is hosted here, on threads, or on what
was drawn before. That is what lets one process, several threads and several machines compute the
same numbers.
"""

from __future__ import annotations

import hashlib

import numpy as np


def digest(seed: int, purpose: str, *where: int) -> int:
    """The 128-bit integer of a key (BLAKE2b); different keys give different integers."""
    return int.from_bytes(
        hashlib.blake2b(_name(seed, purpose, *where), digest_size=16).digest(), "little"
    )


def cipher_key(seed: int, purpose: str, *where: int) -> bytes:
    """The 256-bit key of a cipher whose keystream is the key's stream (BLAKE2b)."""
    return hashlib.blake2b(_name(seed, purpose, *where), digest_size=32).digest()


def generator(seed: int, purpose: str, *where: int) -> np.random.Generator:
    """The generator of a key: Philox, which is counter-based and the same on every platform."""
    return np.random.Generator(np.random.Philox(key=digest(seed, purpose, *where)))


def _name(seed: int, purpose: str, *where: int) -> bytes:
    return "\x1f".join([str(seed), purpose, *map(str, where)]).encode()
