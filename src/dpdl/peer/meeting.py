"""How a peer meets the others: approvals, hellos, and the farewell."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, TimeoutError
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple, final

from dpdl.errors import InputError
from dpdl.peer.approvals import KIND as APPROVAL
from dpdl.peer.approvals import Approvals
from dpdl.peer.failures import SecondInstance
from dpdl.peer.hello import HAVE, Greeter, Hello
from dpdl.peer.manifest import Manifest
from dpdl.peer.network import Network
from dpdl.peer.standing import Standing
from dpdl.peer.store import Met, Store
from dpdl.peer.transport import PATIENCE
from dpdl.peer.view import View

QUIET = 5.0
"""Seconds after which a wait is spoken of."""
POLL = 0.5
"""Seconds between two looks for documents."""


class _Asked(NamedTuple):
    """A hello, and what was known of the neighbour's start when it was sent."""

    known: Met | None
    answer: Future[bytes]


@final
@dataclass(frozen=True)
class Meeting:
    """One member among the others, outside of rounds."""

    name: str
    manifest: Manifest
    network: Network
    greeter: Greeter
    store: Store
    standing: Standing
    check: Callable[[], None]
    say: Callable[[str], None]
    linger: float

    # ------------------------------------------------------------------ approvals
    def gather_approvals(self, approvals: Approvals, folder: Path) -> None:
        """Wait until all members have approved; each passes on what it has."""
        approvals.collect(folder)
        own = self.store.documents(APPROVAL).get(self.name)
        if own is None:
            raise InputError(
                f"{self.name} has not approved this run: dpdl peer approve "
                f"{folder / 'manifest.toml'} --person NAME."
            )
        others = [name for name in self.manifest.names if name != self.name]
        for name in others:
            self.network.send_document(name, APPROVAL, self.name, own)
        documents = Documents(self.network, APPROVAL, others)
        said: list[str] = []
        began, troubles = time.monotonic(), set[str]()
        while missing := approvals.missing():
            if missing != said:
                self.say(f"Waiting for the approval of {', '.join(missing)}.")
                said = missing
            if time.monotonic() - began > QUIET:
                self._say_why(missing, troubles)
            for name, content in documents.found(missing):
                self._hear(approvals, name, content)
            self.standing.wait(POLL)
            self.check()
            approvals.collect(folder)

    def _say_why(self, names: list[str], said: set[str]) -> None:
        """Why some cannot be reached, each reason once; `said` are those of before."""
        for trouble in map(self.network.since, names):
            if trouble is not None and trouble.sentence not in said:
                said.add(trouble.sentence)
                self.say(trouble.sentence)

    def _hear(self, approvals: Approvals, name: str, content: bytes) -> None:
        """What another passes on; a wrong one must not end this process."""
        try:
            approvals.accept(name, content)
        except InputError as failure:
            self.store.log("refused", f"{APPROVAL} of {name}: {failure}")

    # ------------------------------------------------------------------ hello
    def greet(self) -> None:
        """Say hello to all neighbours; nothing is committed before all have answered."""
        rounds = self.manifest.experiment_of().rounds
        if self.store.here.done >= rounds:  # else they must show what they have of mine
            for name, have in self.store.documents(HAVE).items():
                self.standing.heard(name, int(have))
        names = self.standing.missing(rounds)
        asked = {name: self._asked(name) for name in names}
        for name, first in asked.items():
            self.standing.heard(name, self._greeted(name, first).have)
        self.check()
        if not self.greeter.heard.is_set():
            self.greeter.heard.set()
            for name in names:  # with the head of the ledger; nobody waits for it
                self._asked(name)

    def _asked(self, name: str) -> _Asked:
        known = self.store.neighbour(name)
        said = partial(self.greeter.text_for, name)
        return _Asked(known, self.network.hello(name, said))

    def _greeted(self, name: str, asked: _Asked) -> Hello:
        """The answer of a neighbour.

        A process that was killed may have answered, and the one that followed it said hello, before
        that answer is read. So a neighbour of which more is known than when it was asked is asked
        again: who answers then is alive.
        """
        while True:
            content = self._answer(name, asked.answer)
            try:
                return self.greeter.judged(name, content)
            except SecondInstance:
                if self.store.neighbour(name) == asked.known:
                    raise
                asked = self._asked(name)

    def _answer(self, name: str, future: Future[bytes]) -> bytes:
        try:
            return self._await(name, future)
        except SecondInstance as failure:
            self.greeter.doubted(failure, name)
            raise

    def _await(self, name: str, future: Future[bytes]) -> bytes:
        began, said = time.monotonic(), False
        while True:
            try:
                return future.result(PATIENCE)
            except TimeoutError:
                self.check()
            if not said and time.monotonic() - began > QUIET:
                trouble = self.network.since(name)
                why = f": {trouble.sentence}" if trouble else "."
                self.say(f"Waiting for {name}{why}")
                said = True

    # ------------------------------------------------------------------ farewell
    def stay(self, view: View, rounds: int) -> None:
        """Serve until no neighbour needs a frame any more, and all know that I am done.

        Who has answered knows it durably, and does not wait for me when it starts again.
        """
        telling = [self._asked(name).answer for name in view.neighbours(self.name)]
        while self.standing.missing(rounds):
            self.standing.wait(PATIENCE)
            self.standing.check()
        until = time.monotonic() + self.linger
        while not all(future.done() for future in telling):
            if time.monotonic() > until:
                break
            self.standing.check()
            self.standing.wait(PATIENCE)


@final
class Documents:
    """Asks several members for documents, one question each at a time."""

    def __init__(self, network: Network, kind: str, whom: list[str]) -> None:
        self._network, self._kind, self._whom = network, kind, whom
        self._asked: dict[tuple[str, str], Future[bytes | None]] = {}

    def found(self, names: list[str]) -> list[tuple[str, bytes]]:
        """Those of the named documents that have come since; the others are asked for again."""
        come = []
        for whom in self._whom:
            for name in names:
                future = self._asked.pop((whom, name), None)
                if future is not None and future.done():
                    content = future.result()
                    if content is not None:
                        come.append((name, content))
                    future = None
                self._asked[whom, name] = future or self._network.fetch_document(
                    whom, self._kind, name
                )
        return come
