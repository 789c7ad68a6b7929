from __future__ import annotations

import asyncio
import time

from dpdl.peer.bell import Bell, end


def test_all_who_listen_hear_the_bell():
    async def work() -> list[bool]:
        bell = Bell()
        until = asyncio.get_running_loop().time() + 10
        heard = [bell.listen(until) for _ in range(3)]
        bell.ring()
        bell.ring()
        return [await one for one in heard]

    assert asyncio.run(work()) == [True, True, True]


def test_who_listens_in_vain_is_told_in_time():
    async def work() -> bool:
        return await Bell().listen(asyncio.get_running_loop().time() + 0.05)

    begun = time.monotonic()
    assert asyncio.run(work()) is False
    assert time.monotonic() - begun < 1


def test_listening_can_be_ended_and_cancelled():
    async def work() -> None:
        bell = Bell()
        until = asyncio.get_running_loop().time() + 10
        ended, cancelled = bell.listen(until), bell.listen(until)
        end(ended)
        cancelled.cancel()
        bell.ring()
        assert await ended is False
        assert cancelled.cancelled()

    asyncio.run(work())
