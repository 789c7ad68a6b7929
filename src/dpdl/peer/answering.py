"""Requests of neighbours over HTTP: read within bounds, and answered by the desk."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from typing import final

from aiohttp import hdrs, web

from dpdl.errors import reason
from dpdl.peer.desk import Desk
from dpdl.peer.sockets import abort
from dpdl.peer.wire import (
    BUSY,
    GET,
    NOT_FOUND,
    PUT,
    RUN_HEADER,
    Answer,
    Call,
    NetworkSettings,
)

NOT_A_NEIGHBOUR = Answer(403, b"This site is no neighbour in this run.")
WRONG_METHOD = Answer(405, b"Only GET and PUT are known here.")
WRONG_NUMBER = Answer(400, b"have must be a whole number.")
NO_LENGTH = Answer(411, b"The length must be said.")
TOO_LONG = Answer(413, b"This is not of the expected length.")
ENCODED = Answer(415, b"What is sent must not be encoded.")
TOO_SLOW = Answer(408, b"This took too long.")
FAILED = Answer(500, b"This site could not answer.")
PIECE = 1 << 18
"""Bytes of an answer that are encrypted at once."""
UNREAD = (hdrs.DATE, hdrs.SERVER, hdrs.CONTENT_TYPE)
"""Headers that every answer would have, and nobody looks at."""
LONGEST_NUMBER = 18
"""Digits of `have`."""


@final
class ShortlyAnswered(web.BaseRequest):
    """A request whose answer has no header that is not read: a small frame would feel it."""

    async def _prepare_hook(self, response: web.StreamResponse) -> None:
        for name in UNREAD:
            response.headers.popall(name, None)


@final
class Answering:
    """Between HTTP and the desk."""

    def __init__(
        self, desk: Desk, settings: NetworkSettings, failed: Callable[[str, str], None]
    ) -> None:
        """`failed` hears of whom this site could not answer by a mistake of its own."""
        self._desk = desk
        self._settings = settings
        self._failed = failed
        self._sending: Counter[str] = Counter()  # large answers on their way

    async def handle(
        self, name: str | None, request: web.BaseRequest
    ) -> web.StreamResponse:
        """Answer one request of this neighbour; None: of somebody who is none."""
        if name is None:
            return await self._sent(request, NOT_A_NEIGHBOUR)
        answer = await self._answer(name, request)
        if len(answer.content) <= PIECE:
            return await self._sent(request, answer)
        if self._sending[name] >= self._settings.requests:
            return await self._sent(request, BUSY)
        self._sending[name] += 1
        try:
            return await self._sent(request, answer)
        finally:
            self._sending[name] -= 1

    async def _answer(self, name: str, request: web.BaseRequest) -> Answer:
        try:
            call = await self._call(name, request)
            if isinstance(call, Answer):
                return call
            return await self._desk.answer(name, call)
        except Exception as failure:
            self._failed(name, f"It was not answered: {reason(failure)}.")
            return FAILED

    async def _sent(
        self, request: web.BaseRequest, answer: Answer
    ) -> web.StreamResponse:
        """The response, once nearly all of it was taken; that must not take for ever."""
        response = _response(answer)
        seconds = self._settings.patience + len(answer.content) / self._settings.slowest
        try:
            async with asyncio.timeout(seconds):
                await response.prepare(request)
                if not isinstance(response, web.Response):
                    for piece in _pieces(answer.content):
                        await response.write(piece)
                await response.write_eof()
        except TimeoutError:
            if request.transport is not None:
                abort(request.transport)
            raise ConnectionError("nobody reads the answer") from None
        return response

    async def _call(self, name: str, request: web.BaseRequest) -> Call | Answer:
        """What is asked for; an `Answer` where it cannot be."""
        have = request.rel_url.query.get("have")
        if have is not None and not _is_number(have):
            return WRONG_NUMBER
        number = None if have is None else int(have)
        if request.method == GET:
            if request.can_read_body:
                return TOO_LONG
            return Call(GET, request.path, b"", number)
        if request.method != PUT:
            return WRONG_METHOD
        with self._desk.reading(name, request.path) as lengths:
            content = await self._content(request, lengths)
        if content is TOO_LONG:
            self._desk.misfit(name, request.path, request.content_length or 0)
        if isinstance(content, Answer):
            return content
        return Call(PUT, request.path, content, number)

    async def _content(
        self, request: web.BaseRequest, lengths: range | None
    ) -> bytes | Answer:
        """The body of a request, of which nothing is read unless it has one of these lengths."""
        length = request.content_length
        if lengths is None:
            return NOT_FOUND
        if length is None:
            return NO_LENGTH
        if length not in lengths:
            return TOO_LONG
        if hdrs.CONTENT_ENCODING in request.headers:
            return ENCODED
        try:
            async with asyncio.timeout(self._settings.allowance(length)):
                return await request.content.readexactly(length) if length else b""
        except TimeoutError:
            return TOO_SLOW


def _response(answer: Answer) -> web.StreamResponse:
    """A small one leaves at once, with its headers; of a large one, the headers leave first."""
    headers = {} if answer.run is None else {RUN_HEADER: answer.run}
    if len(answer.content) <= PIECE:
        return web.Response(status=answer.status, headers=headers, body=answer.content)
    response = web.StreamResponse(status=answer.status, headers=headers)
    response.content_length = len(answer.content)
    return response


def _pieces(content: bytes) -> Iterator[memoryview]:
    """Parts of a body: TLS notices only between two writes that the other side does not read."""
    whole = memoryview(content)
    return (whole[at : at + PIECE] for at in range(0, len(whole), PIECE))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER
