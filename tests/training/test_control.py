"""Numbers and digests between processes: known to all, or gathered on process 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dpdl.training.control import DIGEST, Control
from dpdl.transport import Alone, Post
from dpdl.transport.threads import run_threads


def everywhere(size: int, work: Callable[[Control, int], Any]) -> list[Any]:
    """What `work` returns in each of `size` processes."""
    found: dict[int, Any] = {}

    def one(transport: Any) -> None:
        found[transport.rank] = work(Control(Post(transport)), transport.rank)

    run_threads(size, one)
    return [found[rank] for rank in range(size)]


@pytest.mark.parametrize("number", [0, -1, 2**62])
def test_all_know_the_number_of_process_0(number: int) -> None:
    shared = everywhere(3, lambda c, rank: c.share(number if rank == 0 else 99))
    assert shared == [number] * 3


def test_process_0_decides() -> None:
    for choice in (True, False):
        found = everywhere(
            3, lambda c, rank, choice=choice: c.agree(choice == (rank == 0))
        )
        assert found == [choice] * 3


@pytest.mark.parametrize("text", ["", "runs/a", "runs/Ünïcode 🙂"])
def test_a_text_arrives_whole(text: str) -> None:
    assert (
        everywhere(2, lambda c, rank: c.name(text if rank == 0 else "x")) == [text] * 2
    )


def test_numbers_are_gathered_in_the_order_of_the_processes() -> None:
    found = everywhere(3, lambda c, rank: c.gather(10 * rank))
    assert found == [[0, 10, 20], [], []]


def test_digests_are_gathered_and_shared() -> None:
    def rows(rank: int) -> list[bytes]:
        return [bytes([rank, k]) * (DIGEST // 2) for k in range(2)]

    gathered = everywhere(2, lambda c, rank: c.digests(rows(rank)))
    assert gathered == [[rows(0), rows(1)], []]
    assert everywhere(2, lambda c, rank: c.share_digests(rows(rank))) == [rows(0)] * 2


def test_alone_there_is_nobody_to_ask() -> None:
    control = Control(Post(Alone()))
    assert control.share(3) == 3
    assert control.gather(4) == [4]
    assert control.name("here") == "here"
