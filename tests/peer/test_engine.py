from __future__ import annotations

import asyncio
import gc
import resource
import socket
import time
from contextlib import ExitStack

import pytest

from dpdl.errors import InputError
from dpdl.peer.directory import Directory
from dpdl.peer.engine import Engine
from dpdl.peer.wire import NetworkSettings
from tests.peer.sites import QUICK, RUN, Shown, identity, neighbour


def engine(settings: NetworkSettings = QUICK, url: str | None = "") -> Engine:
    directory = Directory(
        identity("alder", url), [neighbour("birch"), neighbour("oak")]
    )
    return Engine(RUN, Shown(), directory, settings, lambda *_: None, lambda *_: None)


def test_an_engine_that_is_closed_leaves_no_task_and_no_socket():
    async def work() -> None:
        found = engine()
        assert found.open() > 0
        await asyncio.sleep(0.01)
        await found.close()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(work())
    gc.collect()  # what is unclosed would warn, and warnings are errors


@pytest.mark.parametrize("turns", range(6))
def test_who_connects_while_an_engine_is_closed_leaves_no_socket(turns):
    """At whatever point of its handshake a caller is, and also before it."""

    async def work() -> None:
        found = engine()
        address = (QUICK.host, found.open())
        await asyncio.sleep(0)
        with ExitStack() as stack:
            for _ in range(5):
                stack.enter_context(socket.create_connection(address))
            for _ in range(turns):
                await asyncio.sleep(0)
            await found.close()

    asyncio.run(work())
    gc.collect()


def test_callers_are_accepted_again_when_there_are_file_descriptors_again():
    async def work() -> None:
        found = engine()
        address = (QUICK.host, found.open())
        await asyncio.sleep(0)
        with socket.create_connection(address, 10) as caller:
            caller.sendall(b"this is no TLS")
            before = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (caller.fileno(), before[1]))
            try:
                await asyncio.sleep(0.2)
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, before)
            caller.setblocking(False)
            async with asyncio.timeout(10):  # until an alert, or the end
                await asyncio.get_running_loop().sock_recv(caller, 100)
        await found.close()

    asyncio.run(work())


def test_a_site_without_an_address_attends_to_all_neighbours():
    async def work() -> None:
        found = engine(url=None)
        assert found.open() == 0
        await asyncio.sleep(0.01)
        assert len(asyncio.all_tasks()) == 3
        await found.close()

    asyncio.run(work())


def test_an_engine_that_cannot_listen_can_be_closed():
    async def work() -> None:
        first = engine()
        settings = NetworkSettings(host=QUICK.host, port=first.open())
        second = engine(settings)
        with pytest.raises(InputError):
            second.open()
        await second.close()
        await first.close()

    asyncio.run(work())


def test_closing_is_quick():
    async def work() -> float:
        found = engine()
        found.open()
        begun = time.monotonic()
        await found.close()
        return time.monotonic() - begun

    assert asyncio.run(work()) < 0.5
