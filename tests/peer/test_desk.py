from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from dpdl.peer.desk import Desk
from dpdl.peer.failures import Refused
from dpdl.peer.frame import Slot
from dpdl.peer.pushes import Errands
from dpdl.peer.wire import (
    GET,
    LARGEST_DOCUMENT,
    PUT,
    Answer,
    Call,
    answer_path,
    document_path,
    frame_path,
    hello_path,
)
from tests.peer.sites import QUICK, RUN, Shown

SLOT = Slot(0, 3, 1)
FRAME = Call(GET, frame_path(RUN, SLOT), b"", 2)
OTHER = "cd" * 32


def at(
    work: Callable[[Desk, Shown], Awaitable[None]], settings=QUICK, heard=None
) -> None:
    """Run what happens at a desk."""

    async def run() -> None:
        shelf = Shown()
        errands = Errands(settings, lambda name: name == "mute")
        note = [].append if heard is None else heard.append
        await work(Desk(RUN, shelf, errands, settings, note), shelf)

    asyncio.run(run())


def test_a_frame_is_shown_to_the_one_it_is_for():
    async def work(desk: Desk, shelf: Shown) -> None:
        shelf.frames[SLOT, "birch"] = b"frame"
        assert await desk.answer("birch", FRAME) == Answer(200, b"frame")
        assert await desk.answer("cedar", FRAME) == Answer(204)
        assert shelf.durable == {"birch": 2, "cedar": 2}

    at(work, replace(QUICK, long_poll=0.05))


def test_a_poll_is_answered_when_the_bell_rings_and_not_before():
    async def work(desk: Desk, shelf: Shown) -> None:
        polling = asyncio.create_task(desk.answer("birch", FRAME))
        await asyncio.sleep(0.05)
        shelf.frames[SLOT, "birch"] = b"frame"
        await asyncio.sleep(0.05)
        assert not polling.done()
        desk.ring()
        assert await polling == Answer(200, b"frame")

    at(work)


def test_a_view_that_is_over_has_no_frames_any_more():
    async def work(desk: Desk, shelf: Shown) -> None:
        shelf.frames[SLOT, "birch"] = b"frame"
        shelf.ended[0] = b"statements"
        assert await desk.answer("birch", FRAME) == Answer(410, b"statements")

    at(work)


def test_another_run_is_answered_with_this_one_and_nothing_is_heard():
    async def work(desk: Desk, shelf: Shown) -> None:
        call = Call(GET, frame_path(OTHER, SLOT), b"", 7)
        status, told, run = await desk.answer("birch", call)
        assert (status, run) == (409, RUN)
        assert b"abababababab, not cdcdcdcdcdcd." in told
        assert shelf.durable == {}

    at(work)


def test_who_hands_over_another_manifest_is_told_the_fields_that_differ():
    async def work(desk: Desk, shelf: Shown) -> None:
        call = Call(PUT, document_path(OTHER, "manifest", OTHER), b"[privacy]\na = 2")
        assert not (await desk.answer("birch", call)).content.count(b"differ")
        shelf.documents["manifest", RUN] = b"[privacy]\na = 1"
        status, told, run = await desk.answer("birch", call)
        assert (status, run) == (409, RUN)
        assert told.endswith(b"not cdcdcdcdcdcd; they differ in privacy.a.")
        assert list(shelf.documents) == [("manifest", RUN)], "nothing is kept"

    at(work)


def test_what_a_shelf_refuses_has_its_status_and_sentence():
    async def work(desk: Desk, shelf: Shown) -> None:
        def refuse(name: str, content: bytes) -> bytes:
            raise Refused(423, f"No {name}.")

        shelf.greet = refuse
        found = await desk.answer("birch", Call(PUT, hello_path(RUN), b"hello"))
        assert found == Answer(423, b"No birch.")

    at(work)


def test_documents_are_taken_and_shown():
    async def work(desk: Desk, shelf: Shown) -> None:
        path = document_path(RUN, "stop", "2")
        assert (await desk.answer("birch", Call(GET, path))).status == 404
        assert await desk.answer("birch", Call(PUT, path, b"stop")) == Answer(204)
        assert await desk.answer("birch", Call(GET, path)) == Answer(200, b"stop")

    at(work)


def test_who_calls_is_heard_whatever_is_asked():
    heard: list[str] = []

    async def work(desk: Desk, shelf: Shown) -> None:
        await desk.answer("birch", Call(GET, "/nothing"))

    at(work, heard=heard)
    assert heard == ["birch"]


def test_of_an_answer_that_nobody_waits_for_nothing_is_read():
    async def work(desk: Desk, shelf: Shown) -> None:
        with desk.reading("mute", answer_path(RUN, 1, 200)) as lengths:
            assert lengths is None
        with desk.reading("mute", hello_path(RUN)) as lengths:
            assert lengths == range(LARGEST_DOCUMENT + 1)
        desk.misfit("mute", answer_path(RUN, 1, 200), 5)
        desk.misfit("mute", hello_path(RUN), 5)

    at(work)


def test_too_many_at_once_are_turned_away_until_one_is_answered():
    async def work(desk: Desk, shelf: Shown) -> None:
        polls = [
            asyncio.create_task(
                desk.answer("birch", Call(GET, frame_path(RUN, Slot(0, 3, step))))
            )
            for step in range(10, 10 + QUICK.requests)
        ]
        await asyncio.sleep(0)
        assert (await desk.answer("birch", FRAME)).status == 429
        polls[0].cancel()
        await asyncio.sleep(0)
        shelf.frames[SLOT, "birch"] = b"frame"
        assert (await desk.answer("birch", FRAME)).status == 200
        for one in polls[1:]:
            one.cancel()

    at(work)
