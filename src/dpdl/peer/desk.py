"""Answers what neighbours ask, from the shelf; long polls wait here until a frame is published."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import final

from dpdl.peer.bell import Bell
from dpdl.peer.failures import Refused
from dpdl.peer.frame import Slot
from dpdl.peer.limits import Limits, Ticket
from dpdl.peer.other_manifest import difference
from dpdl.peer.pushes import Errands
from dpdl.peer.wire import (
    BUSY,
    DONE,
    GET,
    HELLO,
    LARGEST_DOCUMENT,
    MANIFEST,
    NOT_FOUND,
    OK,
    PUT,
    WRONG_METHOD,
    Answer,
    AnswerPath,
    Call,
    CallsPath,
    DocumentPath,
    FramePath,
    NetworkSettings,
    Shelf,
    WirePath,
    means,
    parsed_path,
)


@final
class Desk:
    """The one place where requests are answered, however they came in."""

    def __init__(
        self,
        run: str,
        shelf: Shelf,
        errands: Errands,
        settings: NetworkSettings,
        on_call: Callable[[str], None] = lambda name: None,
    ) -> None:
        """`on_call` hears who calls: it is alive."""
        loop = asyncio.get_running_loop()
        self._run = run
        self._shelf = shelf
        self._errands = errands
        self._long_poll = settings.long_poll
        self._loop = loop
        self._bell = Bell()
        self.limits = Limits(settings.requests, settings.rate, loop.time)
        self._on_call = on_call

    def ring(self) -> None:
        """New frames are on the shelf, or a view is over: everybody looks again."""
        self._bell.ring()

    async def answer(self, sender: str, call: Call) -> Answer:
        """What is said to a neighbour, within its limits."""
        self._on_call(sender)
        address = parsed_path(call.path)
        if address is None:
            return NOT_FOUND
        if not means(address.run, self._run) and not _is_manifest(call, address):
            return self._other_run(address.run)
        if isinstance(address, CallsPath | AnswerPath):
            return await self._errands.answer(sender, call, address)
        ticket = self.limits.enter(sender, call.path)
        if ticket is None:
            return BUSY
        try:
            return await self._answer(sender, call, address, ticket)
        except Refused as failure:
            return Answer(failure.status, str(failure).encode())
        finally:
            self.limits.leave(sender, ticket)

    @contextmanager
    def reading(self, sender: str, path: str) -> Iterator[range | None]:
        """While a body is read: the lengths that it may have; None: it is not wanted."""
        address = parsed_path(path)
        if isinstance(address, AnswerPath):
            with self._errands.reading(sender, address) as lengths:
                yield lengths
        else:
            yield range(LARGEST_DOCUMENT + 1)

    def misfit(self, sender: str, path: str, length: int) -> None:
        """A body of another length was to be put."""
        address = parsed_path(path)
        if isinstance(address, AnswerPath):
            self._errands.misfit(sender, address, length)

    async def _answer(
        self, sender: str, call: Call, address: FramePath | DocumentPath, ticket: Ticket
    ) -> Answer:
        if not means(address.run, self._run):
            return self._other_run(address.run, call.content)
        if call.have is not None:
            self._shelf.heard(sender, call.have)
        if isinstance(address, DocumentPath):
            return self._document(sender, call, address)
        if call.method != GET:
            return WRONG_METHOD
        return await self._frame(sender, address, ticket)

    def _other_run(self, run: str, manifest: bytes = b"") -> Answer:
        """What is run here instead; and how it differs from a manifest that was handed over."""
        told = f"This site runs manifest {self._run[:12]}, not {run[:12]}"
        mine = self._shelf.document(MANIFEST, self._run) if manifest else None
        how = difference(mine, manifest) if mine else ""
        return Answer(409, f"{told}{f'; {how}' if how else ''}.".encode(), self._run)

    # ------------------------------------------------------------------ documents
    def _document(self, sender: str, call: Call, address: DocumentPath) -> Answer:
        if address.kind == HELLO:
            if call.method != PUT:
                return WRONG_METHOD
            return Answer(OK, self._shelf.hello(sender, call.content))
        if call.method == PUT:
            self._shelf.take_document(address.kind, address.name, call.content, sender)
            return DONE
        found = self._shelf.document(address.kind, address.name)
        return NOT_FOUND if found is None else Answer(OK, found)

    # ------------------------------------------------------------------ frames
    async def _frame(self, sender: str, address: FramePath, ticket: Ticket) -> Answer:
        until = self._loop.time() + self._long_poll
        while True:
            found = self._look(sender, address.slot)
            if found is not None:
                return found
            ticket.future = self._bell.listen(until)
            if not await ticket.future:
                return DONE if self._loop.time() >= until else BUSY

    def _look(self, sender: str, slot: Slot) -> Answer | None:
        documents = self._shelf.over(slot.view)
        if documents is not None:  # also where the frame is still there
            return Answer(410, documents)
        content = self._shelf.frame(slot, sender)
        if content is None:
            return None
        self.limits.fetched(sender, slot)
        return Answer(OK, content)


def _is_manifest(call: Call, address: WirePath) -> bool:
    """Whether somebody hands over a manifest, to have it compared."""
    document = isinstance(address, DocumentPath) and address.kind == MANIFEST
    return document and call.method == PUT
