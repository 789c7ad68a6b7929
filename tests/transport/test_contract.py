"""One suite over every transport: what `Transport.swap` promises."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from dpdl.transport import Alone, PeerLost, WrongMessage
from dpdl.transport.threads import run_threads
from tests.transport.scenarios import PLAYS, SIZE, a_round_that_is_over_is_over, at

HOME = Path(__file__).parents[2]
SHAPES = r"wrong 0: .* sent rows of shape \({}\) and type {} where \(1, 3\) and float32"
OTHER = r"wrong 0: Process 0 .* sent .* where round 1, channel 'model', number 0 was expected"
TWICE = r"wrong {0}: Process {0} .* used an address twice: round {1}, .*"
EVERYBODY: dict[str, object] = {
    "rows_of_every_type_arrive": [True] * 4,
    "many_exchanges_stay_apart": True,
    "rows_need_not_lie_side_by_side": True,
    "what_is_changed_after_a_swap_stays_at_home": True,
    "a_late_process_is_waited_for": [True, True],
}
"""What every process must find."""
WAITING: dict[str, str] = {
    "rows_of_another_shape_are_refused": SHAPES.format("1, 2", "float32"),
    "more_rows_are_refused": SHAPES.format("400, 3", "float32"),
    "fewer_rows_are_refused": SHAPES.format("0, 3", "float32"),
    "rows_of_another_type_are_refused": SHAPES.format("1, 3", "int32"),
    "another_number_is_refused": OTHER,
    "another_channel_is_refused": OTHER,
    "another_round_is_refused": OTHER,
}
"""What process 1 must find, which waits for process 0."""


@pytest.fixture(scope="module")
def on_gloo() -> dict[str, list]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.transport.on_gloo"],
        cwd=HOME,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def on_threads(name: str) -> list:
    found: list = [None] * SIZE

    def work(transport) -> None:
        found[transport.rank] = PLAYS[name](transport)

    run_threads(SIZE, work)
    return json.loads(json.dumps(found))


@pytest.fixture(params=["threads", "gloo"])
def played(request: pytest.FixtureRequest):
    if request.param == "threads":
        return on_threads
    return request.getfixturevalue("on_gloo").__getitem__


@pytest.mark.parametrize("name", EVERYBODY)
def test_rows_arrive_as_they_were_sent(name: str, played) -> None:
    assert played(name) == [EVERYBODY[name]] * SIZE


def test_a_process_without_a_message_takes_part(played) -> None:
    silent = [{}, {}, True]
    heard = [{"0": [[1.0, 1.0]] * 4}, {}, True]
    assert played("some_may_have_nothing_to_say") == [silent, silent, heard]


def test_a_process_that_is_gone_is_named(played) -> None:
    assert played("a_lost_process_is_named") == ["lost 2", "lost 2", "left"]


def test_a_process_that_leaves_while_others_wait_is_named(played) -> None:
    waited = ["lost 2", True]
    found = played("one_that_leaves_while_others_wait_is_named")
    assert found == [waited, waited, "left"]


def test_a_process_that_is_gone_stays_gone_and_the_others_go_on(played) -> None:
    going = ["lost 2", True, "lost 2"]
    assert played("one_that_is_gone_stays_gone") == [going, going, "left"]


def test_a_message_that_nobody_expected_is_found_in_the_next_exchange(played) -> None:
    sender, receiver, _ = played("a_message_that_nobody_expected_is_found")
    assert set(sender) <= {"nothing", "lost 1"}
    assert re.match(r"wrong 0: Process 0 .* number 1 was expected", receiver)


@pytest.mark.parametrize("name", WAITING)
def test_what_was_not_expected_is_refused(name: str, played) -> None:
    assert re.match(WAITING[name], played(name)[1])


def test_no_two_messages_have_one_address(played) -> None:
    for rank, (first, again) in enumerate(played("an_address_is_used_once")):
        assert first
        assert re.match(TWICE.format(rank, 1), again)


def test_an_old_round_is_not_spoken_of_again(played) -> None:
    for rank, (last, older) in enumerate(played("a_round_that_is_over_is_over")):
        assert last == "nothing"
        assert re.match(TWICE.format(rank, 4), older)


# ------------------------------------------------------------------ nobody else
def test_alone_has_nobody_to_swap_with() -> None:
    like = torch.zeros(1)
    assert Alone().swap(at(0), {}, {}, like) == {}
    with pytest.raises(PeerLost, match="Process 1"):
        Alone().swap(at(0), {1: like}, {}, like)
    with pytest.raises(PeerLost, match="Process 2"):
        Alone().swap(at(0), {}, {2: 1}, like)


def test_alone_uses_an_address_once_too() -> None:
    transport, like = Alone(), torch.zeros(1)
    transport.swap(at(0), {}, {}, like)
    with pytest.raises(WrongMessage, match="twice"):
        transport.swap(at(0), {}, {}, like)
    last, older = a_round_that_is_over_is_over(Alone())
    assert last == "nothing" and "round 4" in older
