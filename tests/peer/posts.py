"""Peers that exchange frames within one process: their databases are real, the network is not."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

from dpdl import graph
from dpdl.peer.ahead import Pattern
from dpdl.peer.frame import Slot
from dpdl.peer.keys import SigningKey
from dpdl.peer.store import Store
from dpdl.peer.transport import Peers, Speaker
from dpdl.peer.view import View

NAMES = ("mercy", "olav", "vita")
KEYS = {name: SigningKey.create() for name in NAMES}
RUN = "ab" * 32
VIEW = View(0, NAMES, graph.build("ring", 3, "metropolis", 0))


class Heads:
    """A ledger that has only its heads, the last one at the end."""

    def __init__(self, *heads: str) -> None:
        self.heads = heads or ("00" * 32,)

    @property
    def head(self) -> str:
        return self.heads[-1]

    def holds(self, head: str) -> bool:
        return head in self.heads


@dataclass
class Wires:
    """Hands frames over as soon as their sender has them in its database."""

    me: str
    stores: dict[str, Store]
    asked: list[tuple[str, Slot]] = field(default_factory=list)
    published: int = 0
    alter: Callable[[bytes], bytes] = bytes
    haves: list[int] = field(default_factory=list)

    def ask(
        self, name: str, slot: Slot, length: int, have: Callable[[], int]
    ) -> Future[bytes]:
        self.asked.append((name, slot))
        self.haves.append(have())
        future: Future[bytes] = Future()

        def wait() -> None:
            while not future.cancelled():
                try:
                    found = self.stores[name].frame(slot, self.me)
                except Exception:  # the test is over, and the database closed
                    return
                if found is not None:
                    assert len(found) == length
                    future.set_result(self.alter(found))
                    return
                time.sleep(0.002)

        threading.Thread(target=wait, daemon=True).start()
        return future

    def publish(self) -> None:
        self.published += 1


def stores_in(path: Path) -> dict[str, Store]:
    found = {}
    for name in NAMES:
        (path / name).mkdir()
        found[name] = Store.create(path / name, RUN, "a build", b"state 0")
    return found


def speaker(name: str) -> Speaker:
    return Speaker(RUN, name, KEYS[name], {n: key.public for n, key in KEYS.items()})


def nothing() -> None:
    """No reason to stop."""


def peers_of(
    name: str,
    stores: dict[str, Store],
    wires: Wires,
    check: Callable[[], None] = nothing,
) -> Peers:
    return Peers(speaker(name), VIEW, stores[name], wires, lambda: Pattern(1, 9), check)
