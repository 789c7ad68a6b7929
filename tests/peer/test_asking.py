from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from dataclasses import replace

import pytest

from dpdl.peer.asking import (
    Line,
    OtherManifest,
    difference_in,
    document_in,
    frame_in,
    hello_in,
    taken_in,
)
from dpdl.peer.failures import SecondInstance, ViewOver, Violation
from dpdl.peer.wire import GET, Answer, Call
from tests.peer.sites import QUICK

STEADY = replace(QUICK, long_poll=0.0, first_pause=0.01, longest_pause=0.04)


class Way:
    """Answers in turn; an exception is raised."""

    def __init__(self, answers: Iterable[Answer | Exception]) -> None:
        self.answers = list(answers)
        self.times: list[float] = []
        self.troubles: list[str] = []

    async def __call__(self, call: Call, length: int | None) -> Answer:
        self.times.append(time.monotonic())
        found = self.answers.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    def line(self, settings=STEADY) -> Line:
        return Line(
            "birch",
            self,
            settings,
            lambda failure: f"It failed: {failure}.",
            lambda name, sentence: self.troubles.append(sentence),
        )

    def frame(self, settings=STEADY) -> bytes:
        async def work() -> bytes:
            return await self.line(settings).frame(lambda: Call(GET, "/"), 5)

        return asyncio.run(work())


def test_whatever_may_pass_is_asked_again():
    way = Way(
        [
            ConnectionResetError("reset"),
            TimeoutError("late"),
            EOFError("cut off"),
            Answer(204),
            Answer(403, b"Not you."),
            Answer(404),
            Answer(429),
            Answer(502),
            Answer(302),
            Answer(200, b"frame"),
        ]
    )
    assert way.frame() == b"frame"
    assert way.troubles[:4] == ["It failed: reset.", "It failed: late.", "It failed: cut off.", ""]  # fmt: skip
    assert way.troubles[-1] == ""
    assert len(way.troubles) == 10


def test_the_same_trouble_is_told_once_and_since_when_it_is():
    way = Way([*[OSError("away")] * 5, Answer(200, b"frame")])
    assert way.frame() == b"frame"
    assert way.troubles == ["It failed: away.", ""]


def test_pauses_double_up_to_the_longest():
    way = Way([*[OSError("away")] * 6, Answer(200, b"frame")])
    way.frame()
    pauses = [b - a for a, b in zip(way.times, way.times[1:], strict=False)]
    for pause, least in zip(pauses, [0.01, 0.02, 0.04, 0.04, 0.04, 0.04], strict=True):
        assert least * 0.95 <= pause < least + 0.5


def test_a_mistake_of_ours_is_not_repeated():
    with pytest.raises(ZeroDivisionError):
        Way([ZeroDivisionError()]).frame()


def test_a_violation_is_not_repeated():
    with pytest.raises(Violation, match="birch did it"):
        Way([Violation("birch", "did it")]).frame()


def test_a_pause_ends_when_the_neighbour_calls():
    way = Way([OSError("away"), Answer(200, b"frame")])
    slow = replace(STEADY, first_pause=0.05, longest_pause=60.0)

    async def work() -> bytes:
        line = way.line(replace(slow, first_pause=0.05))
        asking = asyncio.create_task(line.frame(lambda: Call(GET, "/"), 5))
        await asyncio.sleep(0.01)
        line.hear()
        return await asking

    begun = time.monotonic()
    assert asyncio.run(work()) == b"frame"
    assert time.monotonic() - begun < 1


def test_hellos_have_a_place_of_their_own_beside_frames():
    async def forever(call: Call, length: int | None) -> Answer:
        if length is None:
            return Answer(200, b"hello")
        await asyncio.sleep(60)
        return Answer(204)

    async def work() -> None:
        line = Way([]).line()
        line._carry = forever
        asked = [
            asyncio.create_task(line.frame(lambda: Call(GET, "/"), 5)) for _ in range(9)
        ]
        await asyncio.sleep(0)
        async with asyncio.timeout(5):
            assert await line.other(lambda: Call(GET, "/"), hello_in) == b"hello"
        for one in asked:
            one.cancel()

    asyncio.run(work())


# ------------------------------------------------------------------ what answers mean
@pytest.mark.parametrize("judge", [frame_in, hello_in])
def test_who_says_that_a_view_is_over_is_named(judge):
    with pytest.raises(ViewOver, match="birch says that"):
        judge("birch", Answer(410, b"statements"))


@pytest.mark.parametrize("judge", [hello_in, document_in, taken_in])
def test_refusals(judge):
    for status in (403, 429, 500, 503):
        assert judge("birch", Answer(status, b"Later.")) is None
    with pytest.raises(Violation, match="birch refuses: birch answers 409: It is old"):
        judge("birch", Answer(409, b"It is old."))
    with pytest.raises(SecondInstance, match="birch answers 423: Two of you"):
        judge("birch", Answer(423, b"Two of you."))
    with pytest.raises(OtherManifest, match="runs another manifest, cdcd"):
        judge("birch", Answer(409, b"Another.", "cd" * 32))
    how = OtherManifest("birch", "cd" * 32, "they differ in privacy.sigma")
    assert "manifest, cdcdcdcdcdcd; they differ in privacy.sigma; nothing was" in str(
        how
    )
    assert how.exit_code == 2


def test_how_a_manifest_differs_is_in_the_answer():
    said = b"This site runs manifest cd, not ab; they differ in \x1b privacy.sigma."
    found = difference_in("birch", Answer(409, said, "cd" * 32))
    assert found == ("they differ in \\x1b privacy.sigma",)
    for other in (Answer(413, said), Answer(409, b"\xff", "cd" * 32)):
        assert difference_in("birch", other) == ("",)


def test_what_is_taken_from_answers():
    assert frame_in("birch", Answer(200, b"frame")) == (b"frame",)
    assert hello_in("birch", Answer(200, b"hello")) == (b"hello",)
    assert document_in("birch", Answer(200, b"card")) == (b"card",)
    assert document_in("birch", Answer(404)) == (None,)
    assert taken_in("birch", Answer(204)) == (None,)
