"""Answers what neighbours want of a site that they cannot connect to; see `pushes`."""

from __future__ import annotations

import asyncio
from typing import final

from dpdl.foreign import parse_json
from dpdl.peer.asking import Line
from dpdl.peer.desk import Desk
from dpdl.peer.pushes import END
from dpdl.peer.wire import (
    GET,
    OK,
    PUT,
    Answer,
    Call,
    answer_path,
    calls_path,
)

AT_ONCE = 8
"""Calls of one neighbour that are worked on at the same time."""
ENDED = (204, 404, 413)
"""An answer was taken, or is not wanted any more."""


@final
class Attendant:
    """Answers, at one neighbour, what that neighbour wants of this site."""

    def __init__(self, run: str, line: Line, desk: Desk) -> None:
        self._run = run
        self._line = line
        self._desk = desk
        self._working: dict[int, asyncio.Task[None]] = {}
        self._room = asyncio.Semaphore(AT_ONCE)

    async def attend(self) -> None:
        """Fetch calls and answer them, until this is cancelled."""
        while True:
            await self._room.acquire()
            number, call = await self._line.until(self._fetch, None, self._new_in)
            self._working[number] = asyncio.create_task(self._work(number, call))

    def _fetch(self) -> Call:
        return Call(GET, calls_path(self._run, self._working))

    def _new_in(self, name: str, answer: Answer) -> tuple[tuple[int, Call]] | None:
        found = call_in(answer) if answer.status == OK else None
        return None if found is None or found[0] in self._working else (found,)

    async def _work(self, number: int, call: Call) -> None:
        try:
            answer = await self._desk.answer(self._line.name, call)
            path = answer_path(self._run, number, answer.status)
            reply = Call(PUT, path, answer.content)
            await self._line.until(lambda: reply, None, delivered_in)
        finally:
            del self._working[number]
            self._room.release()


def call_in(answer: Answer) -> tuple[int, Call] | None:
    """The number of a call, and the call; None: it cannot be read."""
    head, _, content = answer.content.partition(END)
    try:
        found = parse_json(head)
    except ValueError:
        return None
    if not isinstance(found, list) or len(found) != 4:
        return None
    number, method, path, have = found
    if type(number) is not int or type(path) is not str or method not in (GET, PUT):
        return None
    if have is not None and type(have) is not int:
        return None
    return number, Call(str(method), path, content, have)


def delivered_in(name: str, answer: Answer) -> tuple[None] | None:
    """Whether an answer need not be sent again."""
    return (None,) if answer.status in ENDED else None
