from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import replace

import pytest

from dpdl.peer.attendant import call_in
from dpdl.peer.failures import Violation
from dpdl.peer.pushes import Errands, written_call
from dpdl.peer.wire import (
    GET,
    PUT,
    Answer,
    AnswerPath,
    Call,
    CallsPath,
    answer_path,
    calls_path,
    parsed_path,
)
from tests.peer.sites import QUICK, RUN

WANTED = Call(GET, f"/v1/{RUN}/0/3-1", b"", 2)


def at(work: Callable[[Errands], Awaitable[None]], settings=QUICK) -> None:
    async def run() -> None:
        await work(Errands(settings, lambda name: name == "mute"))

    asyncio.run(run())


async def fetched(errands: Errands, known=(), name="mute") -> Answer:
    call = Call(GET, calls_path(RUN, known))
    return await errands.answer(name, call, parsed_path(call.path))


async def put(errands: Errands, number: int, content: bytes, name="mute") -> Answer:
    path = answer_path(RUN, number, 200)
    call = Call(PUT, path, content)
    return await errands.answer(name, call, parsed_path(path))


async def wanted(errands: Errands, length: int | None = 5) -> asyncio.Task[Answer]:
    carrying = asyncio.create_task(errands.carry("mute", WANTED, length))
    await asyncio.sleep(0)
    return carrying


def test_a_call_is_fetched_and_its_answer_comes_back():
    async def work(errands: Errands) -> None:
        carrying = await wanted(errands)
        number, call = call_in(await fetched(errands))
        assert call == WANTED
        assert await put(errands, number, b"frame") == Answer(204)
        assert await carrying == Answer(200, b"frame")
        assert (await put(errands, number, b"again")).status == 404

    at(work)


def test_a_call_is_fetched_once_and_another_is_waited_for():
    async def work(errands: Errands) -> None:
        carrying = await wanted(errands)
        number, _ = call_in(await fetched(errands))
        polling = asyncio.create_task(fetched(errands, [number]))
        await asyncio.sleep(0.05)
        assert not polling.done()
        second = await wanted(errands)
        later, _ = call_in(await polling)
        assert later != number
        carrying.cancel()
        second.cancel()

    at(work)


def test_a_call_that_was_lost_is_fetched_again():
    async def work(errands: Errands) -> None:
        carrying = await wanted(errands)
        assert await fetched(errands) == await fetched(errands)
        carrying.cancel()
        await asyncio.sleep(0)
        assert (await fetched(errands)).status == 204

    at(work, replace(QUICK, long_poll=0.05))


def test_a_call_that_nobody_fetches_is_given_up():
    async def work(errands: Errands) -> None:
        with pytest.raises(TimeoutError):
            await errands.carry("mute", WANTED, 5)

    at(work, replace(QUICK, long_poll=0.05, patience=0.05))


def test_only_sites_without_an_address_come_here_and_only_for_their_own():
    async def work(errands: Errands) -> None:
        carrying = await wanted(errands)
        number, _ = call_in(await fetched(errands))
        assert (await fetched(errands, name="birch")).status == 404
        assert (await put(errands, number, b"frame", name="birch")).status == 404
        assert not carrying.done()
        carrying.cancel()

    at(work)


def test_only_an_answer_of_the_expected_length_is_read():
    async def work(errands: Errands) -> None:
        carrying = await wanted(errands)
        number, _ = call_in(await fetched(errands))
        with errands.reading("mute", AnswerPath(RUN, number, 200)) as lengths:
            assert list(lengths) == [5]
        with errands.reading("mute", AnswerPath(RUN, number, 409)) as lengths:
            assert lengths == range(65537)
        with errands.reading("birch", AnswerPath(RUN, number, 200)) as lengths:
            assert lengths is None
        errands.misfit("mute", AnswerPath(RUN, number, 200), 6)
        with pytest.raises(Violation, match="mute sent 6 bytes where 5"):
            await carrying

    at(work)


def test_one_answer_is_read_twice_at_once_and_not_more_often():
    async def work(errands: Errands) -> None:
        carrying = await wanted(errands)
        number, _ = call_in(await fetched(errands))
        path = AnswerPath(RUN, number, 200)
        with ExitStack() as stack:
            lengths = [
                stack.enter_context(errands.reading("mute", path)) for _ in range(3)
            ]
            assert lengths == [range(5, 6), range(5, 6), None]
        with errands.reading("mute", path) as again:
            assert again is not None
        carrying.cancel()

    at(work)


def test_numbers_of_another_process_are_not_those_of_this_one():
    numbers = set()

    async def work(errands: Errands) -> None:
        carrying = await wanted(errands)
        number, _ = call_in(await fetched(errands))
        numbers.add(number)
        carrying.cancel()

    for _ in range(3):
        at(work)
    assert len(numbers) == 3


def test_polls_and_unwanted_answers_are_bounded_by_the_rate():
    async def work(errands: Errands) -> None:
        found = [(await put(errands, 1, b"")).status for _ in range(20)]
        assert found.count(404) == 5
        assert found.count(429) == 15

    at(work, replace(QUICK, rate=5.0))


def test_wrong_methods():
    async def work(errands: Errands) -> None:
        calls = Call(PUT, calls_path(RUN, []))
        found = await errands.answer("mute", calls, CallsPath(RUN, frozenset()))
        assert found.status == 405
        answer = Call(GET, answer_path(RUN, 1, 200))
        found = await errands.answer("mute", answer, AnswerPath(RUN, 1, 200))
        assert found.status == 405

    at(work)


def test_a_call_is_read_as_it_was_written():
    call = Call(PUT, f"/v1/{RUN}/hello", b"line\nline", None)
    assert call_in(Answer(200, written_call(7, call))) == (7, call)
