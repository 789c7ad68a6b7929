"""Whom this site turned away: with which certificate, and not a line for every attempt.

In TLS 1.3 only the server knows why it refuses a client, and Python's ssl does not say what was
shown. After a refusal, the next connection from the same address is made with a context that reads
the handshake: the fingerprint then goes into the log, where it can be compared with cards.
"""

from __future__ import annotations

import hashlib
import ssl
from collections.abc import Callable
from typing import Any, final

MOST = 64
"""Addresses that are remembered."""
AGAIN = 60.0
"""Seconds after which the same is told again of the same address."""
CERTIFICATE = 11
"""The type of the message in which a certificate is shown."""
HEAD, CONTEXT, LIST, LENGTH = 4, 1, 3, 3
"""Bytes before a certificate: head of the message, length of its context, two more lengths."""
CALLBACK = "_msg_callback"


@final
class Refusals:
    """Remembers whom to look at, and what was told."""

    def __init__(
        self, tell: Callable[[str, str], None], clock: Callable[[], float]
    ) -> None:
        self._tell = tell
        self._clock = clock
        self._suspects: set[str] = set()
        self._told: dict[tuple[str, str], float] = {}

    def note(self, address: str, sentence: str, unknown: bool = False) -> None:
        """Somebody was turned away; `unknown`: it showed a certificate that nobody knows."""
        if unknown and len(self._suspects) < MOST:
            self._suspects.add(address)
        now = self._clock()
        if now - self._told.get((address, sentence), -AGAIN) < AGAIN:
            return
        if len(self._told) >= MOST:
            self._told.clear()
        self._told[address, sentence] = now
        self._tell(address, sentence)

    def is_suspect(self, address: str) -> bool:
        """Whether the next handshake with an address is to be read; this is said once."""
        found = address in self._suspects
        self._suspects.discard(address)
        return found


def watch(context: ssl.SSLContext) -> None:
    """Let errors of this context say, as a note, which certificate was refused."""
    shown: list[bytes] = []

    def read(
        conn: Any, way: str, version: Any, kind: Any, message: Any, data: bytes
    ) -> None:
        if way == "read" and message == CERTIFICATE:
            shown[:] = [certificate_in(data)]

    class Watched(ssl.SSLObject):
        """A connection whose certificate is remembered while it is checked."""

        def do_handshake(self) -> None:
            """As always; what was shown goes with the error."""
            shown.clear()
            try:
                super().do_handshake()
            except ssl.SSLCertVerificationError as failure:
                if shown and shown[0]:
                    failure.add_note(hashlib.sha256(shown[0]).hexdigest())
                raise

    if hasattr(context, CALLBACK):  # it is not documented, and only the log needs it
        setattr(context, CALLBACK, read)
        context.sslobject_class = Watched


def certificate_in(message: bytes) -> bytes:
    """The first certificate in a message of TLS 1.3 that shows some; empty if there is none."""
    start = HEAD + CONTEXT + (message[HEAD] if len(message) > HEAD else 0) + LIST
    length = int.from_bytes(message[start : start + LENGTH], "big")
    return message[start + LENGTH : start + LENGTH + length]
