"""Keys of links between two organisations: one chain per link, one key per round.

    K_0     = HKDF-SHA256(X25519(a, b); salt = hash of the manifest, info = "link", both names)
    K_{t+1} = HKDF-SHA256(K_t; info = "next")
    noise of round t in view v: HKDF-SHA256(K_t; info = "noise", v)

Both ends compute the same keys and send nothing for them. The chain goes forward only: who takes
K_t later cannot compute the keys of earlier rounds, nor K_t from the key of its noise.
"""

from __future__ import annotations

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

KEY_BYTES = 32
"""Length of every key here."""


def first_link(shared: bytes, salt: bytes, names: tuple[str, str]) -> bytes:
    """K_0 of a link, from what the two ends agreed on; the order of the names does not matter."""
    if names[0] == names[1]:
        raise ValueError(f"a link has two ends, not {names[0]!r} twice")
    return _derived(shared, salt, "link", *sorted(names))


def next_link(key: bytes) -> bytes:
    """K_{t+1}; a step is made for every round number, also for rounds that are skipped."""
    return _derived(key, b"", "next")


def noise_key(key: bytes, view: int) -> bytes:
    """The key of a round's noise; another view of the members has another one."""
    return _derived(key, b"", "noise", str(view))


def _derived(secret: bytes, salt: bytes, *info: str) -> bytes:
    assert len(secret) == KEY_BYTES
    # Lengths before the words: no two lists of words are the same bytes.
    words = [word.encode() for word in info]
    said = b"".join(len(word).to_bytes(2, "little") + word for word in words)
    return HKDF(SHA256(), KEY_BYTES, salt or None, b"dpdl" + said).derive(secret)
