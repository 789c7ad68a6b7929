"""What a mailbox holds: a frame, a hello or a document that only its receiver can open.

    12-byte nonce | AES-256-GCM(key, nonce, content; associated data = path)
    key = HKDF(X25519 of the two agreement keys, salt = manifest hash, info = "seal" source target)

The key is of one run and one direction, and the path names run, source, target and number: an
envelope that is moved elsewhere, or sent back, does not open. A random nonce may seal the same
content again; 2^32 envelopes under one key stay within the bounds of GCM.
"""

from __future__ import annotations

import secrets
from typing import final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from dpdl.peer.keys import AgreementKey, hkdf

NONCE = 12
"""Bytes of the nonce."""
OVERHEAD = NONCE + 16
"""Bytes that an envelope has more than what is in it."""


@final
class Seal:
    """Closes and opens the envelopes from one site to another in one run."""

    __slots__ = ("_cipher",)

    def __init__(self, secret: bytes, run: str, source: str, target: str) -> None:
        """`secret` is what only the two sites have, `run` the hash of the manifest."""
        info = f"seal {source} {target}".encode("ascii")
        self._cipher = AESGCM(hkdf(secret, run.encode("ascii"), info))

    @classmethod
    def between(
        cls, own: AgreementKey, other: str, run: str, source: str, target: str
    ) -> Seal:
        """From one's private and the other's public agreement key; both sites find the same."""
        return cls(own.shared(other), run, source, target)

    def closed(self, path: str, content: bytes) -> bytes:
        """The envelope for a path; each has a nonce of its own."""
        nonce = secrets.token_bytes(NONCE)
        return nonce + self._cipher.encrypt(nonce, content, path.encode("ascii"))

    def opened(self, path: str, envelope: bytes) -> bytes | None:
        """What is in an envelope; None: it was not made by the source for this path."""
        if len(envelope) < OVERHEAD:
            return None
        nonce, sealed = envelope[:NONCE], envelope[NONCE:]
        try:
            return self._cipher.decrypt(nonce, sealed, path.encode("ascii"))
        except InvalidTag:
            return None
