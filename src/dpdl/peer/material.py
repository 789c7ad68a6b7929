"""The secrets of a round: one of this peer's own, and one shared with every other member.

    secret_t   32 bytes of the operating system, durable before they are used
    K_1        = HKDF(X25519 of two keys that were made for this view, see `first_links`)
    K_t        = HKDF(K_{t-1}, "next"), one step for every round number, skipped ones too

A view begins with new secrets of both kinds, so that it needs nothing of the file before it.

Who takes the disk later finds the secrets of the last two rounds and no older ones.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from dpdl.peer.round_key import RoundKey
from dpdl.peer.view import View
from dpdl.privacy.links import next_link, noise_key

BYTES = 32
NONE = bytes(BYTES)
"""In the place of a link to a member that was dropped."""


class Material(NamedTuple):
    """What the noise of one round is drawn from."""

    secret: bytes
    links: Mapping[str, bytes]  # by the other member, of the manifest

    def __repr__(self) -> str:
        return f"Material(a secret, {len(self.links)} links)"

    def noise_keys(self, view: View, name: str) -> dict[tuple[int, int], bytes]:
        """The keys of the noise on the links of a member, by the numbers of their two ends."""
        here = view.rank(name)
        pairs = {
            other: tuple(sorted((here, view.rank(other))))
            for other in view.names
            if other != name
        }
        return {
            (a, b): noise_key(self.links[other], view.number)
            for other, (a, b) in pairs.items()
        }


def material_for(
    file: RoundKey,
    view: int,
    round: int,
    others: Sequence[str],
    first: Callable[[], Mapping[str, bytes]],
) -> Material:
    """The secrets of a round, made and durable if there are none yet.

    Made but never used is as good as new: a round whose secret exists has not begun until the
    database says so. `others` are the other members of the manifest, in its order; `first` gives
    the links that the view begins with, of those who are in it.
    """
    known = file.last()
    if known is not None and known[:2] == (view, round):
        return _of(known[2], others)
    same_view = known if known is not None and known[0] == view else None
    links = _ratcheted(same_view, round, others, first)
    keys = (os.urandom(BYTES), *(links.get(name, NONE) for name in others))
    file.begin(view, round, keys)
    return _of(keys, others)


def material_of(
    file: RoundKey, view: int, round: int, others: Sequence[str]
) -> Material:
    """The secrets of a round that has begun; refused when the file has lost them."""
    return _of(file.material(view, round), others)


def _ratcheted(
    known: tuple[int, int, tuple[bytes, ...]] | None,
    round: int,
    others: Sequence[str],
    first: Callable[[], Mapping[str, bytes]],
) -> Mapping[str, bytes]:
    if known is None:
        links, steps = dict(first()), round - 1
    else:
        links, steps = dict(_of(known[2], others).links), round - known[1]
    for _ in range(steps):
        links = {name: next_link(key) for name, key in links.items()}
    return links


def _of(keys: tuple[bytes, ...], others: Sequence[str]) -> Material:
    return Material(keys[0], dict(zip(others, keys[1:], strict=True)))
