"""The network of one site in one run: a thread that serves frames and asks for them.

All calls of the training thread return at once; what takes time is a `Future`. A neighbour that is
away is asked again for ever, so a future fails only with `Violation`, `SecondInstance`,
`OtherManifest` or `ViewOver`, or when the network is closed: then it is cancelled.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar, final

from dpdl.peer.asking import (
    Judge,
    OtherManifest,
    difference_in,
    document_in,
    hello_in,
    taken_in,
)
from dpdl.peer.client import check_proxy
from dpdl.peer.directory import Directory
from dpdl.peer.engine import Engine
from dpdl.peer.failures import Refused
from dpdl.peer.frame import Slot
from dpdl.peer.trouble import Trouble
from dpdl.peer.wire import (
    GET,
    MANIFEST,
    PUT,
    Call,
    Identity,
    Neighbour,
    NetworkSettings,
    Shelf,
    document_path,
    frame_path,
    hello_path,
)

__all__ = [
    "Identity",
    "Neighbour",
    "Network",
    "NetworkSettings",
    "Refused",
    "Shelf",
    "Trouble",
]
T = TypeVar("T")
LOG = logging.getLogger("dpdl.peer")


@final
class Network:
    """Who may be called from any thread; asyncio lives in the thread that it owns."""

    def __init__(
        self,
        run: str,
        me: Identity,
        neighbours: Iterable[Neighbour],
        shelf: Shelf,
        settings: NetworkSettings | None = None,
    ) -> None:
        self.run = run
        self.on_trouble: Callable[[str, str], None] = lambda name, sentence: None
        self.on_refused: Callable[[str, str], None] = lambda address, sentence: None
        self._settings = settings or NetworkSettings()
        if self._settings.proxy is not None:
            check_proxy(self._settings.proxy)
        self._directory = Directory(me, neighbours)
        self._shelf = shelf
        self._port = 0
        self._lock = threading.Lock()
        self._asked: dict[tuple[str, Slot], Future[bytes]] = {}
        self._open = False
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop
        self._stop: asyncio.Event
        self._engine: Engine

    # ------------------------------------------------------------------ life
    def start(self) -> None:
        """Listen, if this site has an address; a port in use is an `InputError`."""
        ready: Future[None] = Future()
        self._thread = threading.Thread(
            target=self._live, args=(ready,), name="dpdl-peer-network", daemon=True
        )
        self._thread.start()
        try:
            ready.result()
        except BaseException:
            self._thread.join()
            raise
        self._open = True

    @property
    def port(self) -> int:
        """Where this site listens; 0: nowhere."""
        return self._port

    def close(self) -> None:
        """End everything at once, and the thread; what is still asked for is cancelled."""
        with self._lock:
            if self._open:
                self._open = False
                self._loop.call_soon_threadsafe(self._stop.set)
        if self._thread is not None:
            self._thread.join()

    def __enter__(self) -> Network:
        self.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    # ------------------------------------------------------------------ frames
    def ask(
        self, name: str, slot: Slot, length: int, have: Callable[[], int]
    ) -> Future[bytes]:
        """A neighbour's frame of so many bytes; until it is there, who asks again gets the same.

        `have` is this site's last durable round; it is looked up for each request.
        """
        found = self._asked.get((name, slot))
        if found is not None and not found.done():
            return found
        path = frame_path(self.run, slot)
        work = self._fetched(name, lambda: Call(GET, path, b"", have()), length)
        future = self._submit(work)
        self._asked[name, slot] = future
        future.add_done_callback(lambda done: self._forget(name, slot, done))
        return future

    def publish(self) -> None:
        """Frames have become durable, or a view is over: who waits for them gets them."""
        with self._lock:
            if self._open:
                self._loop.call_soon_threadsafe(self._engine.desk.ring)

    # ------------------------------------------------------------------ documents
    def hello(self, name: str, content: Callable[[], bytes]) -> Future[bytes]:
        """Say hello until it is answered; `content` is made for each attempt."""
        path = hello_path(self.run)
        return self._submit(
            self._other(name, lambda: Call(PUT, path, content()), hello_in)
        )

    def send_document(
        self, name: str, kind: str, who: str, content: bytes
    ) -> Future[None]:
        """Hand a document to a neighbour; a refusal is a `Violation` with its sentence."""
        path = document_path(self.run, kind, who)
        return self._submit(
            self._other(name, lambda: Call(PUT, path, content), taken_in)
        )

    def fetch_document(
        self, name: str, kind: str, who: str, run: str | None = None
    ) -> Future[bytes | None]:
        """A document that a neighbour has, of this run or another; None: it has none."""
        path = document_path(run or self.run, kind, who)
        return self._submit(self._other(name, lambda: Call(GET, path), document_in))

    # ------------------------------------------------------------------ neighbours
    def trust(self, name: str, certificate: bytes) -> None:
        """A neighbour's new certificate (DER); its old one is valid until this one is seen."""
        self._in_thread(lambda: self._directory.trust(name, certificate))

    def locate(self, name: str, url: str | None) -> None:
        """A neighbour's new address."""
        self._in_thread(lambda: self._directory.locate(name, url))

    def show(self, me: Identity) -> None:
        """This site's new certificate, from the next connection on."""
        self._in_thread(lambda: self._directory.show(me))

    def since(self, name: str) -> Trouble | None:
        """Since when a neighbour cannot be reached, and why; None: it answers."""
        return self._engine.lines[name].trouble

    def troubles(self) -> dict[str, Trouble]:
        """All members that cannot be reached."""
        lines = self._engine.lines
        return {n: one.trouble for n, one in lines.items() if one.trouble is not None}

    # ------------------------------------------------------------------ inside
    async def _fetched(self, name: str, call: Callable[[], Call], length: int) -> bytes:
        return await self._engine.lines[name].frame(call, length)

    async def _other(self, name: str, call: Callable[[], Call], judge: Judge[T]) -> T:
        try:
            return await self._engine.lines[name].other(call, judge)
        except OtherManifest as failure:
            raise await self._compared(name, failure) from failure

    async def _compared(self, name: str, failure: OtherManifest) -> OtherManifest:
        """The same failure, with the fields in which the two manifests differ, if it is told."""
        content = self._shelf.document(MANIFEST, self.run)
        if content is None:
            return failure
        call = Call(PUT, document_path(self.run, MANIFEST, self.run), content)
        line, seconds = self._engine.lines[name], self._settings.patience
        try:
            async with asyncio.timeout(seconds):
                how = await line.other(lambda: call, difference_in)
        except TimeoutError:
            return failure
        return OtherManifest(name, failure.run, how)

    def _in_thread(self, change: Callable[[], None]) -> None:
        """Change something that handshakes use, between two of them."""

        async def changed() -> None:
            change()

        future = self._submit(changed())
        if future.cancelled():  # nobody shakes hands
            change()
        else:
            future.result()

    def _submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        with self._lock:
            if self._open:
                return asyncio.run_coroutine_threadsafe(work, self._loop)
        work.close()
        future: Future[T] = Future()
        future.cancel()
        return future

    def _forget(self, name: str, slot: Slot, done: Future[bytes]) -> None:
        if self._asked.get((name, slot)) is done:
            self._asked.pop((name, slot), None)

    # ------------------------------------------------------------------ the thread
    def _live(self, ready: Future[None]) -> None:
        resolver = ThreadPoolExecutor(2, "dpdl-peer-names")  # looks up addresses
        self._loop = loop = asyncio.new_event_loop()
        loop.set_default_executor(resolver)
        loop.set_exception_handler(_log)
        try:
            loop.run_until_complete(self._work(ready))
        except BaseException as failure:
            if ready.done():
                raise
            ready.set_exception(failure)
        finally:
            resolver.shutdown(wait=False, cancel_futures=True)
            loop.close()

    async def _work(self, ready: Future[None]) -> None:
        self._stop = asyncio.Event()
        self._engine = engine = Engine(
            self.run,
            self._shelf,
            self._directory,
            self._settings,
            lambda name, sentence: self.on_trouble(name, sentence),
            lambda address, sentence: self.on_refused(address, sentence),
        )
        try:
            self._port = engine.open()
            ready.set_result(None)
            await self._stop.wait()
        finally:
            await engine.close()


def _log(loop: asyncio.AbstractEventLoop, context: Mapping[str, object]) -> None:
    """What no task caught; of a connection that broke, it is nothing to be told."""
    level = logging.DEBUG if "transport" in context else logging.ERROR
    failure = context.get("exception")
    cause = failure if isinstance(failure, BaseException) else None
    LOG.log(level, "%s", context["message"], exc_info=cause)
