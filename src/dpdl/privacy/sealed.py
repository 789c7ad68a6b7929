"""Batches and noise from a secret of one round: for a peer, which may have to repeat a round.

    batch: ChaCha20 under BLAKE2b(secret; "batch", purpose, *where), 53 bits a coin
    noise: `perturb_on_grid` under BLAKE2b(secret; "noise", purpose, *where, std, SHA-256(row))
    links: `add_link_noise` under BLAKE2b(key of the link; "link", purpose, *where)

A peer that was killed in mid-round executes the round again. With fresh noise that would be a
second release; so the noise is a function of a secret that was durable before its first use. The
row is in the key because a neighbour may send another model when the round is repeated: with the
same noise on another gradient, the difference of the two messages would be free of it. As it is,
equal rows give equal messages, and other rows get noise that has nothing to do with the first: for
each row it is a Gaussian on a public grid, as that of `Secure`.

The noise of a link must be the same at both ends, which have different rows; its key has none.
"""

from __future__ import annotations

import hashlib
import struct
import threading
from collections.abc import Mapping
from typing import final

import numpy as np
from torch import Tensor

from dpdl.errors import RunFailed
from dpdl.privacy.grid import perturb_on_grid
from dpdl.privacy.link_noise import add_link_noise
from dpdl.privacy.noise import uniform_by_key

KEY_BYTES = 32
"""Length of a round's secret, and of the key of a link."""
Where = tuple[str | int, ...]


@final
class Sealed:
    """The randomness of one agent, round by round; nobody else can repeat it.

    `begin` starts an execution of a round. In it every address gives numbers once: two rows never
    get the same noise, and no batch is drawn twice. The same secret gives the same numbers again.
    """

    repeatable = False

    def __init__(self) -> None:
        self._secret: bytes | None = None
        self._links: Mapping[tuple[int, int], bytes] = {}
        self._used: set[Where] = set()
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return "Sealed()"

    def begin(
        self, secret: bytes, links: Mapping[tuple[int, int], bytes] | None = None
    ) -> None:
        """Start a round: its secret, and the key of every link (lower, higher number)."""
        links = dict(links or {})
        lengths = {len(key) for key in (secret, *links.values())}
        assert lengths == {KEY_BYTES}, "a secret has 32 bytes"
        with self._lock:
            self._secret, self._links, self._used = secret, links, set()

    def uniform(self, count: int, purpose: str, *where: int) -> np.ndarray:
        """53 random bits each."""
        secret = self._once("batch", purpose, *where)
        return uniform_by_key(_key(secret, b"batch", purpose, where), count)

    def perturb(
        self, row: Tensor, std: float, purpose: str, *where: int, into: Tensor
    ) -> None:
        """Noise that belongs to this row: another row at this address gets another one."""
        secret = self._once("noise", purpose, *where)
        values = row.view(-1).numpy()
        about = struct.pack("<d", std) + hashlib.sha256(values.data).digest()
        key = _key(secret, b"noise", purpose, where, about)
        perturb_on_grid(key, values, std, into.view(-1).numpy())

    def pair(
        self,
        row: Tensor,
        std: float,
        own: float,
        purpose: str,
        *where: int,
        into: Tensor,
    ) -> None:
        """From the key that the other end has, too; once for each sign."""
        self._once("link" if std > 0 else "other end of a link", purpose, *where)
        key = _key(self._link(where[-2], where[-1]), b"link", purpose, where)
        add_link_noise(key, row.view(-1).numpy(), std, own, into.view(-1).numpy())

    def _link(self, lower: int, higher: int) -> bytes:
        try:
            return self._links[lower, higher]
        except KeyError:
            raise RunFailed(
                f"Link {lower}-{higher} has no key in this round."
            ) from None

    def _once(self, *where: str | int) -> bytes:
        """The secret of the round, unless this address was used in it."""
        with self._lock:
            if self._secret is None:
                raise RunFailed("Noise was asked for before any round was begun.")
            if where in self._used:
                raise RunFailed(
                    f"The {where[0]} of {_named(where[1:])} was drawn twice in one round; a second "
                    "draw would be a second release."
                )
            self._used.add(where)
            return self._secret


def _named(where: Where) -> str:
    purpose, *numbers = where
    return f"{purpose!r} at {', '.join(map(str, numbers))}"


def _key(
    secret: bytes, kind: bytes, purpose: str, where: tuple[int, ...], about: bytes = b""
) -> bytes:
    """The 256-bit key of an address; `kind` keeps batches, noise and links apart."""
    name = "\x1f".join([purpose, *map(str, where)]).encode() + b"\x1f" + about
    return hashlib.blake2b(name, key=secret, digest_size=32, person=kind).digest()
