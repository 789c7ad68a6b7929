"""Asks a neighbour until it answers: failures pass, and calls are repeated with growing pauses."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar, final

import aiohttp

from dpdl.errors import InputError
from dpdl.peer.failures import SecondInstance, ViewOver, Violation
from dpdl.peer.trouble import Trouble, told
from dpdl.peer.wire import EVIDENCE, OK, Answer, Call, NetworkSettings
from dpdl.text import sentence

T = TypeVar("T")
Judge = Callable[[str, Answer], tuple[T] | None]
"""Takes a result from an answer of a neighbour; None: ask again. It may raise."""
Carry = Callable[[Call, int | None], Awaitable[Answer]]
"""Brings a call to a neighbour; the number is the length of the expected answer, if known."""
PASSING = (aiohttp.ClientError, OSError, EOFError)
"""Failures that may be over the next time; TimeoutError and SSLError are OSErrors."""
DIFFERENCE = 240
"""Characters of an answer that says how two manifests differ."""
HASTY = 0.5
"""Of a long poll: who says `not yet` sooner is not asked again at once."""

NOT_YET: Final = 204
FORBIDDEN: Final = 403
MISSING: Final = 404
GONE: Final = 410
TWICE: Final = 423
BUSY: Final = 429
BROKEN: Final = 500  # and above


class OtherManifest(InputError):
    """A neighbour runs another manifest; `run` is its hash, `how` says how it differs."""

    def __init__(self, name: str, run: str, how: str = "") -> None:
        said = f"; {how}" if how else ""
        super().__init__(
            f"Peer {name} runs another manifest, {run[:12]}{said}; nothing was sent. Agree on one "
            "of the two, and let both sites run that one."
        )
        self.run = run


@final
class Line:
    """All calls to one neighbour."""

    def __init__(
        self,
        name: str,
        carry: Carry,
        settings: NetworkSettings,
        explain: Callable[[BaseException], str],
        on_trouble: Callable[[str, str], None],
    ) -> None:
        """`on_trouble` hears each new sentence; an empty one: the neighbour answers again."""
        self.name = name
        self.trouble: Trouble | None = None
        self._carry = carry
        self._settings = settings
        self._explain = explain
        self._on_trouble = on_trouble
        self._alive = asyncio.Event()
        # One place is left for hellos and documents.
        self._frames = asyncio.Semaphore(max(1, settings.requests - 1))
        self._others = asyncio.Semaphore(1)

    def hear(self) -> None:
        """The neighbour has just called, so that it may be asked at once."""
        self._alive.set()
        self._alive.clear()

    async def frame(self, call: Callable[[], Call], length: int) -> bytes:
        """A frame of exactly so many bytes."""
        async with self._frames:
            return await self.until(call, length, frame_in)

    async def other(self, call: Callable[[], Call], judge: Judge[T]) -> T:
        """Whatever `judge` takes from the answer."""
        async with self._others:
            return await self.until(call, None, judge)

    async def until(
        self, call: Callable[[], Call], length: int | None, judge: Judge[T]
    ) -> T:
        """What `judge` takes from an answer; calls are made anew until it takes something."""
        clock = asyncio.get_running_loop().time
        pause = self._settings.first_pause
        while True:
            begun = clock()
            try:
                answer = await self._carry(call(), length)
            except PASSING as failure:
                self._note(self._explain(failure))
            else:
                found = judge(self.name, answer)
                if found is not None:
                    self._note("")
                    return found[0]
                if answer.status == NOT_YET:
                    self._note("")
                    if clock() - begun > HASTY * self._settings.long_poll:
                        pause = self._settings.first_pause
                        continue
                else:
                    self._note(told(self.name, answer))
            pause = await self._rest(pause)

    async def _rest(self, pause: float) -> float:
        """Wait, unless the neighbour shows that it is there; the next pause."""
        try:
            async with asyncio.timeout(pause):
                await self._alive.wait()
        except TimeoutError:
            return min(2 * pause, self._settings.longest_pause)
        # Somebody who calls, and cannot be called, must not make this a busy loop.
        await asyncio.sleep(self._settings.first_pause)
        return self._settings.first_pause

    def _note(self, sentence: str) -> None:
        before = self.trouble.sentence if self.trouble else ""
        if sentence == before:
            return
        since = self.trouble.since if self.trouble else time.time()
        self.trouble = Trouble(since, sentence) if sentence else None
        self._on_trouble(self.name, sentence)


# ------------------------------------------------------------------ what answers mean
def frame_in(name: str, answer: Answer) -> tuple[bytes] | None:
    """The frame; `ViewOver` where the view is."""
    if answer.status == GONE:
        raise ViewOver(f"{name} says that the members go on in another composition.")
    return (answer.content,) if answer.status == OK else None


def hello_in(name: str, answer: Answer) -> tuple[bytes] | None:
    """The neighbour's hello."""
    if answer.status == OK:
        return (answer.content,)
    if answer.status == GONE:
        raise ViewOver(f"{name} says that this view is over.")
    _check_refusal(name, answer)
    return None


def document_in(name: str, answer: Answer) -> tuple[bytes | None] | None:
    """A document; (None,): the neighbour has none."""
    if answer.status == OK:
        return (answer.content,)
    if answer.status == MISSING:
        return (None,)
    _check_refusal(name, answer)
    return None


def taken_in(name: str, answer: Answer) -> tuple[None] | None:
    """Whether a document was taken."""
    if answer.status in (OK, NOT_YET):
        return (None,)
    _check_refusal(name, answer)
    return None


def difference_in(name: str, answer: Answer) -> tuple[str]:
    """How the neighbour's manifest differs from the one that it was handed; empty: unsaid."""
    if answer.run is None:
        return ("",)
    text = sentence(answer.content.decode("utf-8", "replace"), DIFFERENCE)
    return (text.partition("; ")[2].rstrip("."),)


def _check_refusal(name: str, answer: Answer) -> None:
    """Raise what a refusal says, unless it may pass."""
    if answer.status in (FORBIDDEN, BUSY) or answer.status >= BROKEN:
        return
    if answer.run is not None:
        raise OtherManifest(name, answer.run)
    if answer.status == TWICE:
        said, _, shown = answer.content.partition(EVIDENCE.encode())
        raise SecondInstance(told(name, answer._replace(content=said)), shown)
    raise Violation(name, f"refuses: {told(name, answer).rstrip('.')}")
