"""Addresses, what is refused, and one process that hosts everybody."""

from __future__ import annotations

import pytest
import torch

from dpdl.errors import RunFailed
from dpdl.transport import Address, Alone, PeerLost, Transport, WrongMessage
from dpdl.transport.base import Used, check_rows

HERE = Address(3, "model", 1)


def test_an_address_is_printed_for_people() -> None:
    assert str(HERE) == "round 3, channel 'model', number 1"


def test_what_is_lost_or_wrong_ends_a_run_that_can_be_resumed() -> None:
    for error in (PeerLost(2), WrongMessage(2, "sent nonsense")):
        assert isinstance(error, RunFailed)
        assert (error.exit_code, error.rank) == (4, 2)
    assert str(PeerLost(2)) == "Process 2 of this run has gone away."
    assert str(WrongMessage(2, "sent x")) == "Process 2 of this run sent x."


# ------------------------------------------------------------------ addresses
def test_an_address_is_used_once_whatever_comes_between() -> None:
    used = Used(0)
    for number in range(5):
        used.add(Address(1, "model", number))
    used.add(Address(1, "gradient", 2))
    used.add(Address(2, "model", 0))
    with pytest.raises(WrongMessage, match="twice: round 1, channel 'model', number 2"):
        used.add(Address(1, "model", 2))


def test_the_last_round_is_remembered_and_older_ones_are_over() -> None:
    used = Used(0)
    for round in (1, 2, 3):
        used.add(Address(round, "model", 0))
    used.add(Address(2, "model", 1))
    with pytest.raises(WrongMessage, match="round 2"):
        used.add(Address(2, "model", 0))
    with pytest.raises(WrongMessage, match="round 1"):
        used.add(Address(1, "model", 9))


def test_a_run_may_begin_in_any_round() -> None:
    used = Used(0)
    used.add(Address(900, "model", 0))
    used.add(Address(901, "model", 0))
    with pytest.raises(WrongMessage, match="round 898"):
        used.add(Address(898, "model", 0))


def test_long_runs_take_no_more_memory() -> None:
    used = Used(0)
    for round in range(1000):
        used.add(Address(round, "model", 0))
    assert len(used._used) == 2


# ------------------------------------------------------------------ rows
def test_rows_as_they_were_expected_pass() -> None:
    check_rows(1, HERE, HERE, torch.zeros(4, 2), 4, torch.ones(9, 2))
    check_rows(1, HERE, HERE, torch.zeros(4), 4, torch.ones(1))


@pytest.mark.parametrize(
    ("found", "rows", "words"),
    [
        (HERE._replace(round=2), torch.zeros(4, 2), "round 2, .* where round 3"),
        (HERE._replace(channel="x"), torch.zeros(4, 2), "channel 'x', .* was expected"),
        (HERE._replace(number=0), torch.zeros(4, 2), "number 0 where .* number 1"),
        (HERE, torch.zeros(3, 2), r"shape \(3, 2\) and type float32 where \(4, 2\)"),
        (HERE, torch.zeros(4, 3), r"shape \(4, 3\)"),
        (HERE, torch.zeros(4, 2, 1), r"shape \(4, 2, 1\)"),
        (HERE, torch.zeros(4, 2).double(), "type float64 where .* and float32"),
    ],
)
def test_other_rows_are_refused_by_what_differs(found, rows, words: str) -> None:
    with pytest.raises(WrongMessage, match=f"^Process 5 of this run sent .*{words}"):
        check_rows(5, HERE, found, rows, 4, torch.ones(9, 2))


# ------------------------------------------------------------------ alone
def test_alone_is_a_transport_of_one_process() -> None:
    alone: Transport = Alone()
    assert (alone.rank, alone.size, alone.apart) == (0, 1, False)
    assert alone.swap(HERE, {}, {}, torch.zeros(1)) == {}


def test_alone_loses_the_first_process_that_is_not_there() -> None:
    like = torch.zeros(1)
    with pytest.raises(PeerLost, match="Process 1 "):
        Alone().swap(HERE, {2: like}, {1: 1, 3: 1}, like)
