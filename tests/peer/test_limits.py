from __future__ import annotations

import asyncio

from dpdl.peer.frame import Slot
from dpdl.peer.limits import Limits


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_only_so_many_requests_of_one_neighbour_are_open_at_once():
    limits = Limits(2, 100.0, Clock())
    first = limits.enter("birch", "/1")
    assert first is not None
    assert limits.enter("birch", "/2") is not None
    assert limits.enter("birch", "/3") is None
    assert limits.enter("cedar", "/3") is not None
    limits.leave("birch", first)
    assert limits.enter("birch", "/3") is not None


def test_leaving_twice_is_leaving_once():
    limits = Limits(1, 100.0, Clock())
    first = limits.enter("birch", "/1")
    limits.leave("birch", first)
    second = limits.enter("birch", "/1")
    limits.leave("birch", first)
    assert limits.enter("birch", "/2") is None
    limits.leave("birch", second)
    assert limits.enter("birch", "/2") is not None


def test_a_bucket_holds_one_second_of_requests_and_fills_with_time():
    clock = Clock()
    limits = Limits(1000, 5.0, clock)

    def taken() -> int:
        return sum(limits.enter("birch", "/") is not None for _ in range(50))

    assert taken() == 5
    clock.now = 0.4
    assert taken() == 2
    clock.now = 100.0
    assert taken() == 5


def test_a_frame_is_free_the_first_time():
    limits = Limits(1000, 2.0, Clock())
    for round in range(20):
        assert limits.enter("birch", "/") is not None
        limits.fetched("birch", Slot(0, round, 0))
    found = []
    for _ in range(20):
        found.append(limits.enter("birch", "/") is not None)
        limits.fetched("birch", Slot(0, 5, 0))
    assert sum(found) == 2


def test_a_refund_does_not_fill_the_bucket_beyond_its_size():
    clock = Clock()
    limits = Limits(1000, 2.0, clock)
    for _ in range(10):
        limits.refund("birch")
    assert sum(limits.enter("birch", "/") is not None for _ in range(20)) == 2


def test_a_long_poll_for_the_same_gives_way_where_all_places_are_taken():
    async def work() -> None:
        limits = Limits(2, 100.0, Clock())
        future = asyncio.get_running_loop().create_future()
        old = limits.enter("birch", "/1")
        old.future = future
        other = limits.enter("birch", "/2")
        assert limits.enter("birch", "/2") is None  # it is being answered
        new = limits.enter("birch", "/1")
        assert new is not None
        assert future.result() is False
        limits.leave("birch", old)
        assert limits.held("birch") == [other, new]

    asyncio.run(work())
