"""Processes that threads play: who fails, and what the others hear of it. The contract has the rest."""

from __future__ import annotations

import threading

import pytest
import torch

from dpdl.transport import Address, PeerLost, Threads
from dpdl.transport.threads import run_threads

LIKE = torch.zeros(1, 2)


def exchange(transport: Threads, number: int = 0) -> None:
    """Everybody to everybody."""
    others = [r for r in range(transport.size) if r != transport.rank]
    out = {r: torch.full((1, 2), float(transport.rank)) for r in others}
    got = transport.swap(Address(1, "x", number), out, dict.fromkeys(others, 1), LIKE)
    assert {r: float(rows[0, 0]) for r, rows in got.items()} == {r: r for r in others}


def test_work_runs_once_for_every_rank_and_first_on_the_calling_thread() -> None:
    found: dict[int, str] = {}

    def work(transport: Threads) -> None:
        found[transport.rank] = threading.current_thread().name
        exchange(transport)

    run_threads(3, work)
    assert sorted(found) == [0, 1, 2]
    assert found[0] == threading.current_thread().name, "signals reach it there"
    assert len(set(found.values())) == 3


def test_one_thread_is_enough() -> None:
    ranks = []
    run_threads(1, lambda transport: ranks.append((transport.rank, transport.size)))
    assert ranks == [(0, 1)]


@pytest.mark.parametrize("broken", [0, 1, 2])
def test_the_cause_is_raised_and_not_what_it_caused(broken: int) -> None:
    def work(transport: Threads) -> None:
        if transport.rank == broken:
            raise ValueError(f"rank {broken}")
        exchange(transport)

    with pytest.raises(ValueError, match=f"rank {broken}"):
        run_threads(3, work)


def test_of_two_causes_the_lowest_rank_has_the_word() -> None:
    def work(transport: Threads) -> None:
        raise KeyError(transport.rank)

    with pytest.raises(KeyError, match="0"):
        run_threads(3, work)


def test_a_thread_that_leaves_early_is_lost_to_those_who_wait() -> None:
    def work(transport: Threads) -> None:
        if transport.rank != 1:
            exchange(transport)

    with pytest.raises(PeerLost, match="Process 1"):
        run_threads(3, work)


def test_what_was_sent_before_leaving_arrives() -> None:
    got = {}

    def work(transport: Threads) -> None:
        if transport.rank == 1:
            transport.swap(Address(1, "x", 0), {0: LIKE + 7}, {}, LIKE)
            return
        found = transport.swap(Address(1, "x", 0), {}, {1: 1}, LIKE)
        got[transport.rank] = found[1]

    run_threads(2, work)
    assert torch.equal(got[0], LIKE + 7)


def test_an_interruption_reaches_the_caller() -> None:
    def work(transport: Threads) -> None:
        if transport.rank == 0:
            raise KeyboardInterrupt
        exchange(transport)

    with pytest.raises(KeyboardInterrupt):
        run_threads(2, work)


@pytest.mark.parametrize("apart", [False, True])
def test_threads_are_apart_if_they_are_to_play_that(apart: bool) -> None:
    seen = []
    run_threads(2, lambda transport: seen.append(transport.apart), apart)
    assert seen == [apart, apart]
