"""What every transport promises, as small plays: each process returns what came of it.

A play is given the transport of one of three processes.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from torch import Tensor

from dpdl.transport import Address, PeerLost, Transport, WrongMessage

Play = Callable[[Transport], object]
SIZE = 3
TYPES = (torch.float32, torch.float64, torch.uint8, torch.int64)


def at(number: int, round: int = 1, channel: str = "model") -> Address:
    return Address(round, channel, number)


def rows(source: int, target: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """As many rows as both numbers say, with a content that names them."""
    values = torch.arange(3 * (source + target)) % 5 + 10 * source + target
    return values.reshape(-1, 3).to(dtype)


def exchanged(transport: Transport, address: Address, dtype: torch.dtype) -> bool:
    """Everybody to everybody: whether all that arrived is what was sent."""
    here = transport.rank
    others = [r for r in range(SIZE) if r != here]
    out = {r: rows(here, r, dtype) for r in others}
    expect = {r: len(rows(r, here, dtype)) for r in others}
    got = transport.swap(address, out, expect, torch.zeros(1, 3, dtype=dtype))
    return sorted(got) == others and all(
        got[r].dtype == dtype and got[r].equal(rows(r, here, dtype)) for r in others
    )


def refused(transport: Transport, *words: object) -> str:
    """The error that a swap ends with, by its type and its words."""
    try:
        transport.swap(*words)
    except PeerLost as failure:
        return f"lost {failure.rank}"
    except WrongMessage as failure:
        return f"wrong {failure.rank}: {failure}"
    return "nothing"


# ------------------------------------------------------------------ what works
def rows_of_every_type_arrive(transport: Transport) -> object:
    return [exchanged(transport, at(k), dtype) for k, dtype in enumerate(TYPES)]


def many_exchanges_stay_apart(transport: Transport) -> object:
    return all(
        exchanged(transport, Address(t, channel, number), torch.float32)
        for t in range(1, 20)
        for number, channel in enumerate(("model", "gradient", "momentum"))
    )


def some_may_have_nothing_to_say(transport: Transport) -> object:
    """Process 0 to process 2 only; process 1 takes part, and the next exchange is another."""
    like = torch.zeros(1, 2)
    out = {2: torch.ones(4, 2)} if transport.rank == 0 else {}
    got = transport.swap(at(0), out, {0: 4} if transport.rank == 2 else {}, like)
    quiet = transport.swap(at(1), {}, {}, like)
    last = exchanged(transport, at(2), torch.float64)
    return {r: part.tolist() for r, part in got.items()}, quiet, last


def rows_need_not_lie_side_by_side(transport: Transport) -> object:
    here, there = transport.rank, (transport.rank + 1) % SIZE
    wide = torch.arange(12.0).reshape(2, 6) + 100 * here
    before = (here - 1) % SIZE
    got = transport.swap(at(0), {there: wide[:, ::2]}, {before: 2}, wide[:, ::2])
    return got[before].equal(torch.arange(12.0).reshape(2, 6)[:, ::2] + 100 * before)


def what_is_changed_after_a_swap_stays_at_home(transport: Transport) -> object:
    here, there = transport.rank, (transport.rank + 1) % SIZE
    sent = torch.full((1, 3), float(here))
    got = transport.swap(at(0), {there: sent}, {(here - 1) % SIZE: 1}, sent)
    sent.fill_(99.0)
    transport.swap(at(1), {}, {}, sent)
    return got[(here - 1) % SIZE].equal(torch.full((1, 3), float((here - 1) % SIZE)))


def a_late_process_is_waited_for(transport: Transport) -> object:
    if transport.rank == 1:
        time.sleep(0.7)
    began = time.monotonic()
    fine = exchanged(transport, at(0), torch.float32)
    waited = time.monotonic() - began > 0.3
    return fine, waited == (transport.rank != 1)


# ------------------------------------------------------------------ what does not
def a_lost_process_is_named(transport: Transport) -> object:
    if transport.rank == 2:
        return "left"
    like = torch.zeros(1, 3)
    return refused(transport, at(0), {2: like}, {2: 1}, like)


def one_that_leaves_while_others_wait_is_named(transport: Transport) -> object:
    if transport.rank == 2:
        time.sleep(0.5)
        return "left"
    like = torch.zeros(1, 3)
    began = time.monotonic()
    found = refused(transport, at(0), {}, {2: 1}, like)
    return found, time.monotonic() - began > 0.1


def one_that_is_gone_stays_gone(transport: Transport) -> object:
    """The other two can still talk to each other."""
    if transport.rank == 2:
        return "left"
    like = torch.zeros(1, 3)
    first = refused(transport, at(0), {}, {2: 1}, like)
    other = 1 - transport.rank
    sent = torch.full((1, 3), float(transport.rank))
    got = transport.swap(at(1), {other: sent}, {other: 1}, like)
    fine = got[other].equal(torch.full((1, 3), float(other)))
    return first, fine, refused(transport, at(2), {}, {2: 1}, like)


def a_message_that_nobody_expected_is_found(transport: Transport) -> object:
    """Process 0 sends to process 1, which expects nothing; the next exchange shows it.

    A transport may let the sender wait until its message is taken.
    """
    like = torch.zeros(1, 3)
    if transport.rank == 0:
        first = refused(transport, at(0), {1: like}, {}, like)
        return first, refused(transport, at(1), {1: like}, {}, like)
    if transport.rank == 1:
        transport.swap(at(0), {}, {}, like)
        return refused(transport, at(1), {}, {0: 1}, like)
    return "nothing"


def _to_one(transport: Transport, sent: Tensor, address: Address) -> object:
    """Process 0 sends something to process 1, which waits for one row of three float32."""
    like = torch.zeros(1, 3)
    if transport.rank == 0:
        return refused(transport, address, {1: sent}, {}, sent)
    if transport.rank == 1:
        return refused(transport, at(0), {}, {0: 1}, like)
    return "nothing"


def rows_of_another_shape_are_refused(transport: Transport) -> object:
    return _to_one(transport, torch.zeros(1, 2), at(0))


def more_rows_are_refused(transport: Transport) -> object:
    return _to_one(transport, torch.zeros(400, 3), at(0))


def fewer_rows_are_refused(transport: Transport) -> object:
    return _to_one(transport, torch.zeros(0, 3), at(0))


def rows_of_another_type_are_refused(transport: Transport) -> object:
    return _to_one(transport, torch.zeros(1, 3, dtype=torch.int32), at(0))


def another_number_is_refused(transport: Transport) -> object:
    return _to_one(transport, torch.zeros(1, 3), at(1))


def another_channel_is_refused(transport: Transport) -> object:
    return _to_one(transport, torch.zeros(1, 3), at(0, channel="momentum"))


def another_round_is_refused(transport: Transport) -> object:
    return _to_one(transport, torch.zeros(1, 3), at(0, round=2))


def an_address_is_used_once(transport: Transport) -> object:
    like = torch.zeros(1, 3)
    first = exchanged(transport, at(0), torch.float32)
    return first, refused(transport, at(0), {}, {}, like)


def a_round_that_is_over_is_over(transport: Transport) -> object:
    like = torch.zeros(1, 3)
    for round in (4, 5, 6):
        transport.swap(at(0, round), {}, {}, like)
    before = refused(transport, at(7, round=5), {}, {}, like)
    return before, refused(transport, at(7, round=4), {}, {}, like)


PLAYS: dict[str, Play] = {
    play.__name__: play
    for play in (
        rows_of_every_type_arrive,
        many_exchanges_stay_apart,
        some_may_have_nothing_to_say,
        rows_need_not_lie_side_by_side,
        what_is_changed_after_a_swap_stays_at_home,
        a_late_process_is_waited_for,
        a_lost_process_is_named,
        one_that_leaves_while_others_wait_is_named,
        one_that_is_gone_stays_gone,
        a_message_that_nobody_expected_is_found,
        rows_of_another_shape_are_refused,
        more_rows_are_refused,
        fewer_rows_are_refused,
        rows_of_another_type_are_refused,
        another_number_is_refused,
        another_channel_is_refused,
        another_round_is_refused,
        an_address_is_used_once,
        a_round_that_is_over_is_over,
    )
}
