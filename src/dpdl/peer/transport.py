"""Rows between organisations: committed before they leave, signed, checked when they arrive.

An exchange goes in this order, so that a peer that dies anywhere in it says nothing else when it
runs the round again:

    1  frames for all neighbours, and what the exchange before received, become durable
    2  they are published
    3  the neighbours' frames are fetched and checked

In a round that is run again, frames that are durable already are compared with what was computed,
and not signed again; a neighbour's frame must be the one that was received before.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from concurrent.futures import Future, TimeoutError
from dataclasses import dataclass
from typing import Protocol, final

from torch import Tensor

from dpdl.errors import RunFailed
from dpdl.peer.ahead import Look, Pattern
from dpdl.peer.failures import Violation
from dpdl.peer.frame import (
    Frame,
    FrameHead,
    Payload,
    Slot,
    digest_of,
    make_frame,
    payload_of,
    rows_of,
)
from dpdl.peer.frame_bytes import evidence, frame_length, received
from dpdl.peer.keys import SigningKey
from dpdl.peer.store import Pin, Store, nothing
from dpdl.peer.view import View
from dpdl.transport import Address

PATIENCE = 0.2
"""Seconds after which a peer that waits looks whether it was asked to stop."""
VIOLATION = "violation"
"""The kind of event that evidence against a neighbour is logged under."""


def unheard(expected: FrameHead, content: bytes) -> None:
    """Nobody listens."""


class Fetcher(Protocol):
    """As much of `Network` as an exchange needs."""

    def ask(
        self, name: str, slot: Slot, length: int, have: Callable[[], int]
    ) -> Future[bytes]:
        """The frame of a neighbour, whenever it is there."""
        ...

    def publish(self) -> None:
        """Frames have become durable."""
        ...


@final
@dataclass(frozen=True)
class Speaker:
    """Who exchanges: a member of a view of a run, with its key and those of the others."""

    run: str
    name: str
    key: SigningKey
    keys: Mapping[str, str]  # public ones, by member
    largest_norm: float | None = None  # of a received row

    def head(self, slot: Slot, look: Look, source: str, target: str) -> FrameHead:
        """The header of a frame, but for its payload."""
        return FrameHead(
            run=self.run,
            view=slot.view,
            round=slot.round,
            step=slot.step,
            channel=look.channel,
            source=source,
            target=target,
            dtype=look.dtype,
            shape=look.shape,
        )


@final
class Peers:
    """This process as one member of a view; all others are elsewhere."""

    apart = True

    def __init__(
        self,
        me: Speaker,
        view: View,
        store: Store,
        network: Fetcher,
        pattern: Callable[[], Pattern],
        check: Callable[[], None],
        fault: Callable[[str], None] = nothing,
        heard: Callable[[FrameHead, bytes], None] = unheard,
    ) -> None:
        """`check` raises what makes this peer stop; it is called before anything is committed.

        `fault` is called at named points, where tests let it fail; `heard` with every frame that
        arrives and the header that is expected, before anything of it is used.
        """
        self._fault = fault
        self._heard = heard
        self.rank = view.rank(me.name)
        self.size = len(view.names)
        self._me = me
        self._view = view
        self._store = store
        self._network = network
        self._check = check
        self._patterns = {name: pattern() for name in view.neighbours(me.name)}
        self._asked: dict[tuple[str, Slot], Future[bytes]] = {}
        self._pins: list[Pin] = []
        self._have = store.here.done
        self.received = 0  # bytes, headers included
        self.sent = 0

    def have(self) -> int:
        """The last round whose result is durable here: neighbours may forget it."""
        return self._have

    # ------------------------------------------------------------------ the seam
    def swap(
        self,
        address: Address,
        out: Mapping[int, Tensor],
        expect: Mapping[int, int],
        like: Tensor,
    ) -> dict[int, Tensor]:
        """Commit, publish, fetch; a neighbour that is away is waited for."""
        if not out and not expect:
            return {}
        slot = Slot(self._view.number, address.round, address.number)
        kind = str(like.dtype).removeprefix("torch.")
        self._check()
        if out:
            rows = {self._view.names[r]: some for r, some in out.items()}
            self._commit(slot, address.channel, rows)
            self._fault("publish:before")
            self._network.publish()
            self._fault("publish:after")
        looks = {
            self._view.names[r]: Look(address.channel, kind, (k, *like.shape[1:]))
            for r, k in expect.items()
        }
        waiting = {name: self._ask(name, slot, look) for name, look in looks.items()}
        self._fault("fetch:before")
        got = {
            self._view.rank(name): self._take(name, slot, looks[name], future)
            for name, future in waiting.items()
        }
        self._fault("fetch:after")
        return got

    # ------------------------------------------------------------------ out
    def _commit(self, slot: Slot, channel: str, rows: Mapping[str, Tensor]) -> None:
        committed = self._store.committed(slot)
        frames, digests = {}, _Digests()
        for name, some in rows.items():
            payload = payload_of(some)
            kind = str(some.dtype).removeprefix("torch.")
            look = Look(channel, kind, tuple(some.shape))
            head = self._me.head(slot, look, self._me.name, name)
            digest = digests.of(payload)
            if name in committed:
                self._compare(slot, name, committed[name].head.sha256, digest)
            else:
                frames[name] = make_frame(head, payload, self._me.key, digest)
        if frames or self._pins:
            self._store.commit(slot, frames, self._pins)
            self._pins = []
            self._have = slot.round - 1  # durable with the first frames of a round
        self.sent += sum(len(frame.payload) for frame in frames.values())

    def _compare(self, slot: Slot, name: str, before: str, now: str) -> None:
        if before != now:
            raise RunFailed(
                f"Round {slot.round} was run again and gave another frame for {name} than was "
                "committed before; nothing was sent. Use the build and the machine of before, "
                f"or let all members say: dpdl peer drop {self._me.run[:12]} --nobody."
            )

    # ------------------------------------------------------------------ in
    def _ask(self, name: str, slot: Slot, look: Look) -> Future[bytes]:
        self._patterns[name].note(slot.round, slot.step, look)
        self._take_back(name, slot)
        found = self._asked.pop((name, slot), None)
        found = found or self._asking(name, slot, look)
        self._ask_ahead(name, slot)
        return found

    def _take_back(self, name: str, slot: Slot) -> None:
        """What was asked ahead and is not part of the algorithm must not keep others waiting."""
        earlier = [key for key in self._asked if key[0] == name and key[1] < slot]
        for key in earlier:
            self._asked.pop(key).cancel()

    def _asking(self, name: str, slot: Slot, look: Look) -> Future[bytes]:
        head = self._me.head(slot, look, name, self._me.name)
        return self._network.ask(name, slot, frame_length(head), self.have)

    def _take(self, name: str, slot: Slot, look: Look, future: Future[bytes]) -> Tensor:
        content = self._arrived(name, future)
        expected = self._me.head(slot, look, name, self._me.name)
        self._heard(expected, content)
        frame = self._checked(name, expected, content)
        pin = Pin(slot, name, frame.header, frame.signature)
        self._pins.append(pin)
        self._store.show(pin)
        self.received += len(content)
        return rows_of(frame.payload, look.dtype, look.shape)

    def _arrived(self, name: str, future: Future[bytes]) -> bytes:
        """The bytes of a frame; an answer that no honest peer gives is in the log, too."""
        try:
            return self._await(future)
        except Violation as failure:
            self._store.log(VIOLATION, f"{name} {failure.what}")
            raise

    def _await(self, future: Future[bytes]) -> bytes:
        while True:
            try:
                return future.result(PATIENCE)
            except TimeoutError:
                self._check()

    def _ask_ahead(self, name: str, slot: Slot) -> None:
        following = self._patterns[name].after(slot.round, slot.step)
        if following is None:
            return
        round, step, look = following
        later = Slot(slot.view, round, step)
        if (name, later) not in self._asked:
            self._asked[name, later] = self._asking(name, later, look)

    def _checked(self, name: str, expected: FrameHead, content: bytes) -> Frame:
        """The frame in these bytes, if it is the expected one and the one of before."""
        try:
            key, norm = self._me.keys[name], self._me.largest_norm
            frame = received(content, expected, key, name, norm)
        except ValueError as failure:
            self._keep(f"{name}: {failure}", content, expected)
            raise Violation(name, f"sent a frame that is wrong: {failure}") from failure
        except Violation as failure:
            self._keep(f"{name} {failure.what}", content, expected)
            raise
        self._check_pin(name, expected.slot, frame)
        return frame

    def _keep(self, what: str, content: bytes, expected: FrameHead) -> None:
        self._store.log(VIOLATION, f"{what}; {evidence(content, expected)}")

    def _check_pin(self, name: str, slot: Slot, frame: Frame) -> None:
        before = self._store.pin(slot, name)
        if before is None or before.header == frame.header:
            return
        both = [
            {"header": one.header.decode(), "signature": one.signature.hex()}
            for one in (before, frame)
        ]
        self._store.log(VIOLATION, f"{name} equivocated: {json.dumps(both)}")
        raise Violation(
            name,
            f"signed two different frames for round {slot.round}, step {slot.step}; both "
            "headers are in the log (dpdl peer log --kind violation)",
        )


class _Digests:
    """SHA-256 of payloads; a row that goes to several neighbours is hashed once."""

    def __init__(self) -> None:
        self._known: list[tuple[Payload, str]] = []

    def of(self, payload: Payload) -> str:
        for one, digest in self._known:
            if one == payload:
                return digest
        found = digest_of(payload)
        self._known.append((payload, found))
        return found
