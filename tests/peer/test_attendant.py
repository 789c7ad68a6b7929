from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpdl.peer.asking import Line
from dpdl.peer.attendant import AT_ONCE, Attendant, call_in, delivered_in
from dpdl.peer.desk import Desk
from dpdl.peer.pushes import Errands, written_call
from dpdl.peer.wire import GET, PUT, Answer, AnswerPath, Call, CallsPath, parsed_path
from tests.peer.sites import QUICK, RUN, Shown


class Neighbour:
    """A neighbour with an address, which wants the same of a site again and again."""

    def __init__(self, calls: list[tuple[int, Call]]) -> None:
        self.calls = calls
        self.answers: dict[int, Answer] = {}
        self.most = 0
        self.fail = 0

    async def __call__(self, call: Call, length: int | None) -> Answer:
        address = parsed_path(call.path)
        await asyncio.sleep(0)
        if isinstance(address, AnswerPath):
            if self.fail:
                self.fail -= 1
                raise ConnectionResetError
            self.answers[address.number] = Answer(address.status, call.content)
            return Answer(204)
        assert isinstance(address, CallsPath)
        self.most = max(self.most, len(address.known))
        for number, wanted in self.calls:
            if number not in address.known and number not in self.answers:
                return Answer(200, written_call(number, wanted))
        await asyncio.sleep(0.01)
        return Answer(204)


def attended(neighbour: Neighbour, shelf: Shown, count: int) -> None:
    async def work() -> None:
        errands = Errands(QUICK, lambda name: False)
        desk = Desk(RUN, shelf, errands, QUICK)
        line = Line("birch", neighbour, QUICK, str, lambda name, sentence: None)
        attending = asyncio.create_task(Attendant(RUN, line, desk).attend())
        async with asyncio.timeout(10):
            while len(neighbour.answers) < count:
                await asyncio.sleep(0.01)
                desk.ring()
        attending.cancel()
        await asyncio.gather(attending, return_exceptions=True)
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    asyncio.run(work())


def documents(count: int) -> list[tuple[int, Call]]:
    return [
        (number, Call(PUT, f"/v1/{RUN}/card/x{number}", b"card"))
        for number in range(count)
    ]


def test_calls_are_answered_by_the_desk():
    neighbour = Neighbour([*documents(3), (7, Call(GET, "/nothing"))])
    shelf = Shown()
    attended(neighbour, shelf, 4)
    assert neighbour.answers[0] == Answer(204)
    assert neighbour.answers[7].status == 404
    assert len(shelf.documents) == 3


def test_an_answer_is_put_again_until_it_is_taken():
    neighbour = Neighbour(documents(1))
    neighbour.fail = 2
    attended(neighbour, Shown(), 1)
    assert neighbour.answers == {0: Answer(204)}


def test_a_neighbour_that_wants_very_much_is_served_in_turn():
    polls = [
        (number, Call(GET, f"/v1/{RUN}/0/{number}-0")) for number in range(3 * AT_ONCE)
    ]
    neighbour = Neighbour(polls)
    shelf = Shown()
    attended(neighbour, shelf, 3 * AT_ONCE)
    assert neighbour.most <= AT_ONCE
    statuses = [one.status for one in neighbour.answers.values()]
    assert set(statuses) <= {204, 429}


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{}\n", b'[1,"GET","/x"]\n', b'[true,"GET","/x",null]\n',
     b'[1,"POST","/x",null]\n', b'[1,"GET",5,null]\n', b'[1,"GET","/x","2"]\n',
     b'[1,"GET","/x",NaN]\n', b"\xff\n", b"[" * 9000],
)  # fmt: skip
def test_a_call_that_cannot_be_read_is_none(content):
    assert call_in(Answer(200, content)) is None


@given(st.binary(max_size=100))
def test_any_bytes_are_a_call_or_none(content):
    found = call_in(Answer(200, content))
    assert found is None or isinstance(found[1], Call)


def test_what_needs_no_repetition():
    assert delivered_in("birch", Answer(204)) == (None,)
    assert delivered_in("birch", Answer(404)) == (None,)
    assert delivered_in("birch", Answer(413)) == (None,)
    assert delivered_in("birch", Answer(429)) is None
    assert delivered_in("birch", Answer(500)) is None
