"""What the server's thread learns and the training thread must know."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import final

from dpdl.errors import DpdlError
from dpdl.peer.failures import Stopped

UNKNOWN = -1
"""What a neighbour has durable, before it has said so."""


@final
class Standing:
    """How far the neighbours are, and why this peer has to stop; safe between threads."""

    def __init__(self, neighbours: Iterable[str]) -> None:
        self._changed = threading.Condition()
        self._have = dict.fromkeys(neighbours, UNKNOWN)
        self._failure: DpdlError | None = None
        self._asked_to_stop = False

    def reset(self, neighbours: Iterable[str]) -> None:
        """Other neighbours, of which nothing is known yet."""
        with self._changed:
            self._have = dict.fromkeys(neighbours, UNKNOWN)

    def heard(self, name: str, have: int) -> None:
        """A neighbour says up to which round its results are durable; it never goes back."""
        with self._changed:
            if name in self._have and have > self._have[name]:
                self._have[name] = have
                self._changed.notify_all()

    def fail(self, failure: DpdlError) -> None:
        """This peer must not go on; the first reason stays."""
        with self._changed:
            self._failure = self._failure or failure
            self._changed.notify_all()

    def stop(self) -> None:
        """Somebody asked this peer to stop."""
        with self._changed:
            self._asked_to_stop = True
            self._changed.notify_all()

    def check(self) -> None:
        """Raise what makes this peer stop, if anything does."""
        if self._failure is not None:
            raise self._failure
        if self._asked_to_stop:
            raise Stopped("Stopped; everything is saved, and the same command goes on.")

    def least(self) -> int:
        """The last round whose result is durable at every neighbour."""
        with self._changed:
            return min(self._have.values(), default=UNKNOWN)

    def missing(self, round: int) -> list[str]:
        """The neighbours that may still need frames of this round."""
        with self._changed:
            return [name for name, have in self._have.items() if have < round]

    def wait(self, seconds: float) -> None:
        """Until something changes, or for so long."""
        with self._changed:
            self._changed.wait(seconds)
