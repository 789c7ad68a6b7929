"""What runs in the thread of a network: server, client, and the ways to all neighbours."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import final

from dpdl.peer.asking import Line
from dpdl.peer.attendant import Attendant
from dpdl.peer.client import Client, without_user
from dpdl.peer.desk import Desk
from dpdl.peer.directory import Directory
from dpdl.peer.post import post_of
from dpdl.peer.pushes import Errands
from dpdl.peer.server import Server
from dpdl.peer.trouble import NoWay, why
from dpdl.peer.wire import Answer, Call, NetworkSettings, Shelf

Told = Callable[[str, str], None]
"""Hears of whom, and a sentence."""


@final
class Engine:
    """Belongs to one event loop; all of it is called there."""

    def __init__(
        self,
        run: str,
        shelf: Shelf,
        directory: Directory,
        settings: NetworkSettings,
        on_trouble: Told,
        on_refused: Told,
    ) -> None:
        self._run = run
        self._directory = directory
        self._settings = settings
        self._on_trouble = on_trouble
        self._client = Client(settings)
        self._errands = Errands(settings, directory.is_mute)
        self._post = post_of(run, directory, settings)
        self.lines = {name: self._line(name) for name in directory.names}
        self.desk = Desk(run, shelf, self._errands, settings, self._hear)
        self._server = Server(directory, self.desk, settings, on_refused)
        self._attending: list[asyncio.Task[None]] = []

    def open(self) -> int:
        """Begin; the port where this site listens, or 0."""
        if self._directory.me.url is not None:
            return self._server.listen()
        self._attending = [
            asyncio.create_task(Attendant(self._run, line, self.desk).attend())
            for line in self.lines.values()
            if not self._goes_by_post(line.name)
        ]
        if self._post is not None:
            self._attending.append(asyncio.create_task(self._post.attend(self.desk)))
        return 0

    async def close(self) -> None:
        """End all tasks and connections, whatever the neighbours do."""
        await _end_others()
        await self._server.close()
        await self._client.close()
        if self._post is not None:
            await self._post.close()
        await _end_others()
        await asyncio.sleep(0)  # closed transports say so in the next turn

    def _hear(self, name: str) -> None:
        self.lines[name].hear()

    def _line(self, name: str) -> Line:
        return Line(
            name,
            lambda call, length: self._carry(name, call, length),
            self._settings,
            lambda failure: self._explain(name, failure),
            self._on_trouble,
        )

    async def _carry(self, name: str, call: Call, length: int | None) -> Answer:
        url = self._directory.url(name)
        if url is not None:
            context = self._directory.context(name)
            return await self._client.request(name, url, context, call, length)
        if self._directory.me.url is not None:
            return await self._errands.carry(name, call, length)
        if self._post is not None and self._post.reaches(name):
            return await self._post.carry(name, call, length)
        raise NoWay

    def _goes_by_post(self, name: str) -> bool:
        """Whether neither of the two accepts connections, and both have a mailbox."""
        if self._post is None or not self._directory.is_mute(name):
            return False
        return self._post.reaches(name)

    def _explain(self, name: str, failure: BaseException) -> str:
        url = self._directory.url(name)
        return why(name, url, failure, without_user(self._settings.proxy))


async def _end_others() -> None:
    """Cancel all other tasks of this thread, and wait for their ends."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
