"""Calls to a site that accepts no connections: it fetches them, and puts the answers.

    GET /v1/RUN/calls/KNOWN             the next call to me that is not in KNOWN; 204: none yet
    PUT /v1/RUN/answers/NUMBER/STATUS   my answer to it; 413 unless it has the expected length

It is the way of the other direction turned round: what is asked ahead is fetched ahead, so that a
frame still needs half a round trip once it is there. What is lost on the way, or with a process
that dies, is called for again.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import final

from dpdl.peer.bell import Bell
from dpdl.peer.failures import Violation
from dpdl.peer.limits import Limits, Ticket
from dpdl.peer.wire import (
    BUSY,
    DONE,
    GET,
    LARGEST_DOCUMENT,
    NOT_FOUND,
    OK,
    PUT,
    WRONG_METHOD,
    Answer,
    AnswerPath,
    Call,
    CallsPath,
    NetworkSettings,
)

END = b"\n"
"""Between the head of a call and what it carries."""
READERS = 2
"""Requests that bring one and the same answer at the same time; the older may be a broken one."""


@final
@dataclass
class _Pending:
    """A call that waits to be answered."""

    call: Call
    length: int | None
    answer: asyncio.Future[Answer]
    readers: int = 0

    def lengths(self, status: int) -> range:
        """How long an answer of this status may be."""
        if status == OK and self.length is not None:
            return range(self.length, self.length + 1)
        return range(LARGEST_DOCUMENT + 1)


@final
class Errands:
    """What this site wants of those that it cannot connect to."""

    def __init__(self, settings: NetworkSettings, mute: Callable[[str], bool]) -> None:
        """`mute` says who has no address; nobody else may come here."""
        clock = asyncio.get_running_loop().time
        self._settings = settings
        self._mute = mute
        self._clock = clock
        self._limits = Limits(settings.requests + 1, settings.rate, clock)
        self._pending: dict[str, dict[int, _Pending]] = {}
        self._bell = Bell()
        # Numbers of an earlier process must not be taken for those of this one.
        self._last = secrets.randbits(48)

    async def carry(self, name: str, call: Call, length: int | None) -> Answer:
        """The answer to a call, once it was fetched and answered."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Answer] = loop.create_future()
        self._last += 1
        number = self._last
        pending = self._pending.setdefault(name, {})
        pending[number] = _Pending(call, length, answer)
        self._bell.ring()
        try:
            async with asyncio.timeout(self._settings.allowance(length or 0)):
                return await answer
        finally:
            del pending[number]

    async def answer(
        self, name: str, call: Call, address: CallsPath | AnswerPath
    ) -> Answer:
        """What is said to a neighbour that comes for its calls, or brings an answer."""
        if not self._mute(name):
            return NOT_FOUND
        ticket = self._limits.enter(name, call.path)
        if ticket is None:
            return BUSY
        try:
            if isinstance(address, AnswerPath):
                return self._deliver(name, call, address)
            return await self._next(name, call, address, ticket)
        finally:
            self._limits.leave(name, ticket)

    @contextmanager
    def reading(self, name: str, address: AnswerPath) -> Iterator[range | None]:
        """While an answer is read: the lengths that it may have; None: it is not waited for."""
        found = self._awaited(name, address.number)
        if found is None or found.readers >= READERS or not self._mute(name):
            yield None
            return
        found.readers += 1
        try:
            yield found.lengths(address.status)
        finally:
            found.readers -= 1

    def misfit(self, name: str, address: AnswerPath, length: int) -> None:
        """An answer of another length was to be put: whoever waits for it hears so."""
        found = self._awaited(name, address.number)
        if found is not None:
            found.answer.set_exception(
                Violation(
                    name, f"sent {length} bytes where {found.length} are expected"
                )
            )

    def _awaited(self, name: str, number: int) -> _Pending | None:
        found = self._pending.get(name, {}).get(number)
        return None if found is None or found.answer.done() else found

    def _deliver(self, name: str, call: Call, address: AnswerPath) -> Answer:
        found = self._awaited(name, address.number)
        if call.method != PUT:
            return WRONG_METHOD
        if found is None:
            return NOT_FOUND
        found.answer.set_result(Answer(address.status, call.content))
        self._limits.refund(name)
        return DONE

    async def _next(
        self, name: str, call: Call, address: CallsPath, ticket: Ticket
    ) -> Answer:
        """The next call to a neighbour that it does not know yet."""
        if call.method != GET:
            return WRONG_METHOD
        until = self._clock() + self._settings.long_poll
        while True:
            found = self._unknown(name, address.known)
            if found is not None:
                self._limits.refund(name)
                return found
            ticket.future = self._bell.listen(until)
            if not await ticket.future:
                return DONE if self._clock() >= until else BUSY

    def _unknown(self, name: str, known: frozenset[int]) -> Answer | None:
        for number, pending in self._pending.get(name, {}).items():
            if number not in known and not pending.answer.done():
                return Answer(OK, written_call(number, pending.call))
        return None


def written_call(number: int, call: Call) -> bytes:
    """A call as it is fetched: a line of JSON, and what it carries."""
    head = [number, call.method, call.path, call.have]
    return json.dumps(head, separators=(",", ":")).encode("ascii") + END + call.content
