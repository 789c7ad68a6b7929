"""Calls between two sites that both accept no connections: by envelopes in their mailboxes.

    call    to the neighbour's mailbox: [time, method, path, have], and what it carries
    answer  to mine, under the same random number: [status, run], and what it carries

Frames, hellos and documents are those of the other ways. What is asked ahead lies at the neighbour
before its frame is there, so a frame needs one `PUT` and the `GET` that waits for it. A call is
repeated, under another number, until its answer is there; what was asked for is still in the
outbox, because `have` has not shown that it arrived. So a mailbox that loses everything delays.

An answer is taken once, and only by the process that called. A call is taken once, and must be
fresh: an old one that is shown again is refused.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import final

from dpdl.foreign import parse_json
from dpdl.peer.attendant import AT_ONCE, call_in
from dpdl.peer.desk import Desk
from dpdl.peer.directory import Directory
from dpdl.peer.envelope import Seal
from dpdl.peer.failures import Violation
from dpdl.peer.mailbox_client import Letter, MailboxClient
from dpdl.peer.mailbox_request import ANSWER, CALL, BoxPath, Item
from dpdl.peer.pushes import END, written_call
from dpdl.peer.trouble import MailboxTrouble
from dpdl.peer.wire import LARGEST_DOCUMENT, OK, Answer, Call, Mailing, NetworkSettings

FRESH = 900.0
"""Seconds for which a call may be taken: twice the clocks' tolerance, and some time on its way."""
HEAD = 1024
"""Bytes of an envelope besides what a call or an answer carries, at most."""


@final
@dataclass
class _Expected:
    """An answer that is waited for."""

    name: str
    length: int | None
    answer: asyncio.Future[Answer]

    @property
    def most(self) -> int:
        return max(self.length or 0, LARGEST_DOCUMENT) + HEAD


def post_of(run: str, directory: Directory, settings: NetworkSettings) -> Post | None:
    """The way by mailboxes; None: this site accepts connections, or has no mailbox."""
    mailing = directory.me.mailbox
    if directory.me.url is not None or mailing is None:
        return None
    return Post(run, mailing, directory, settings)


@final
class Post:
    """Belongs to one event loop."""

    def __init__(
        self,
        run: str,
        mailing: Mailing,
        directory: Directory,
        settings: NetworkSettings,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._run = run
        self._me = directory.me.name
        self._mailing = mailing
        self._directory = directory
        self._settings = settings
        self._clock = clock
        self._client = MailboxClient(mailing.signing, settings)
        self._seals: dict[tuple[str, str], Seal] = {}
        self._expected: dict[str, _Expected] = {}
        self._seen: dict[str, float] = {}  # numbers of calls that were taken, and when
        self._tasks: dict[asyncio.Task[None], str] = {}  # for whom they are
        self._trouble = ""  # of this site's own mailbox

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()

    def reaches(self, name: str) -> bool:
        """Whether a neighbour has a mailbox."""
        known = self._directory.known(name)
        return known is not None and known.mailbox is not None

    # ------------------------------------------------------------------ calling
    async def carry(self, name: str, call: Call, length: int | None) -> Answer:
        """The answer to a call, once the neighbour has fetched it and put the answer."""
        number = secrets.token_hex(16)
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._expected[number] = _Expected(name, length, answer)
        item = Item(self._me, CALL, number)
        content = written_call(int(self._clock()), call)
        try:
            async with asyncio.timeout(self._settings.allowance(length or 0)):
                await self._put(name, item, content)
                return await answer
        except TimeoutError:
            self._start(self._withdraw(name, item), self._me)
            raise MailboxTrouble(self._silence(name)) from None
        finally:
            del self._expected[number]

    def _silence(self, name: str) -> str:
        return self._trouble or (
            f"{name} does not answer what was left at its mailbox {self._url(name)}: it is off, or "
            "one of the two mailboxes loses envelopes."
        )

    async def _withdraw(self, name: str, item: Item) -> None:
        place = BoxPath(self._run, name, item)
        try:
            await self._client.remove(self._url(name), place)
        except MailboxTrouble:
            return  # then it is deleted when it is too old

    async def _put(self, name: str, item: Item, content: bytes) -> None:
        place = BoxPath(self._run, name, item)
        envelope = self._seal(self._me, name).closed(place.text, content)
        await self._client.put(self._url(name), place, envelope)

    # ------------------------------------------------------------------ being called
    async def attend(self, desk: Desk) -> None:
        """Fetch what is for this site, until this is cancelled."""
        arrived: Item | None = None
        pause = self._settings.first_pause
        while True:
            try:
                letter = await self._fetch(arrived)
            except MailboxTrouble as failure:
                self._trouble = str(failure)
                await asyncio.sleep(pause)
                pause = min(2 * pause, self._settings.longest_pause)
                continue
            self._trouble, pause = "", self._settings.first_pause
            arrived = None if letter is None else letter.item
            if letter is None or not self.take(letter, desk):
                # A mailbox that repeats itself must not make this a busy loop.
                await asyncio.sleep(self._settings.first_pause)

    async def _fetch(self, arrived: Item | None) -> Letter | None:
        place = BoxPath(self._run, self._me, arrived)
        size = max((one.most for one in self._expected.values()), default=0)
        return await self._client.next(self._mailing.url, place, self._most, size)

    def _most(self, item: Item) -> int:
        """How long an envelope may be; -1: it is not waited for."""
        if item.kind == CALL:
            return LARGEST_DOCUMENT + HEAD
        expected = self._expected.get(item.number)
        return -1 if expected is None else expected.most

    def take(self, letter: Letter, desk: Desk) -> bool:
        """Whether a letter was of use: it opens, and is taken for the first time."""
        content = self._opened(letter)
        if content is None:
            return False
        if letter.item.kind == ANSWER:
            return self._deliver(letter.item, content)
        return self._accept(letter.item, content, desk)

    def _opened(self, letter: Letter) -> bytes | None:
        source = letter.item.source
        if letter.envelope is None or not self.reaches(source):
            return None
        path = BoxPath(self._run, self._me, letter.item).text
        return self._seal(source, self._me).opened(path, letter.envelope)

    def _deliver(self, item: Item, content: bytes) -> bool:
        expected = self._expected.get(item.number)
        answer = answer_in(content)
        if expected is None or expected.name != item.source or answer is None:
            return False
        if expected.answer.done():
            return False
        length, found = expected.length, len(answer.content)
        if answer.status == OK and length is not None and found != length:
            said = f"sent {found} bytes where {length} are expected"
            expected.answer.set_exception(Violation(item.source, said))
        else:
            expected.answer.set_result(answer)
        return True

    def _accept(self, item: Item, content: bytes, desk: Desk) -> bool:
        found = call_in(Answer(OK, content))
        now = self._clock()
        self._seen = {n: at for n, at in self._seen.items() if now - at < 2 * FRESH}
        if found is None or item.number in self._seen or abs(now - found[0]) > FRESH:
            return False
        if list(self._tasks.values()).count(item.source) >= AT_ONCE:
            return False  # it calls again
        self._seen[item.number] = now
        self._start(self._work(item, found[1], desk), item.source)
        return True

    async def _work(self, item: Item, call: Call, desk: Desk) -> None:
        answer = await desk.answer(item.source, call)
        reply = Item(self._me, ANSWER, item.number)
        content = written_answer(answer)
        pause = self._settings.first_pause
        until = self._clock() + self._settings.allowance(len(content))
        while self._clock() < until:  # later, nobody waits for it
            try:
                await self._put(item.source, reply, content)
                return
            except MailboxTrouble as failure:
                self._trouble = str(failure)
            await asyncio.sleep(pause)
            pause = min(2 * pause, self._settings.longest_pause)

    # ------------------------------------------------------------------ inside
    def _start(self, work: Coroutine[None, None, None], name: str) -> None:
        task = asyncio.create_task(work)
        self._tasks[task] = name
        task.add_done_callback(lambda done: self._tasks.pop(done, None))

    def _url(self, name: str) -> str:
        known = self._directory.known(name)
        if known is None or known.mailbox is None:
            raise MailboxTrouble(f"The card of {name} has no mailbox.")
        return known.mailbox

    def _seal(self, source: str, target: str) -> Seal:
        found = self._seals.get((source, target))
        if found is None:
            other = self._directory.known(target if source == self._me else source)
            assert other is not None
            own = self._mailing.agreement
            found = Seal.between(own, other.agreement, self._run, source, target)
            self._seals[source, target] = found
        return found


def written_answer(answer: Answer) -> bytes:
    """An answer as it is put: a line of JSON, and what it carries."""
    head = json.dumps([answer.status, answer.run], separators=(",", ":"))
    return head.encode("ascii") + END + answer.content


def answer_in(content: bytes) -> Answer | None:
    """The answer in an envelope; None: it cannot be read."""
    head, _, carried = content.partition(END)
    try:
        found = parse_json(head)
    except ValueError:
        return None
    if not isinstance(found, list) or len(found) != 2:
        return None
    status, run = found
    if type(status) is not int or not (run is None or type(run) is str):
        return None
    return Answer(status, carried, run)
