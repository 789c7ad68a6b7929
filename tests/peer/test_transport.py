from __future__ import annotations

import json
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

import pytest
import torch

from dpdl.errors import RunFailed
from dpdl.peer.failures import Stopped, Violation
from dpdl.peer.frame import DOMAIN, Slot, make_frame
from dpdl.peer.frame_bytes import encode
from dpdl.peer.keys import verify
from dpdl.transport import Address
from tests.peer.posts import KEYS, NAMES, VIEW, Wires, peers_of, stores_in

LIKE = torch.zeros(1, 4)


@pytest.fixture
def stores(tmp_path):
    found = stores_in(tmp_path)
    for store in found.values():
        store.begin(1, b"state 0", 0)
    yield found
    for store in found.values():
        store.close()


def row(k: int) -> torch.Tensor:
    return torch.full((1, 4), float(k))


def exchange(stores, wires):
    """All peers swap a row with their neighbours; what each received."""
    peers = {name: peers_of(name, stores, wires[name]) for name in NAMES}

    def swap(name: str) -> dict[int, torch.Tensor]:
        here = VIEW.rank(name)
        others = [k for k in range(len(NAMES)) if k != here]
        out = dict.fromkeys(others, row(here))
        address = Address(1, "model", 0)
        return peers[name].swap(address, out, dict.fromkeys(others, 1), LIKE)

    with ThreadPoolExecutor(len(NAMES)) as pool:
        return dict(zip(NAMES, pool.map(swap, NAMES), strict=True))


def wires_for(stores) -> dict[str, Wires]:
    return {name: Wires(name, stores) for name in NAMES}


def test_everybody_gets_its_neighbours_rows(stores):
    got = exchange(stores, wires_for(stores))
    assert {k: rows.tolist() for k, rows in got["olav"].items()} == {
        0: [[0.0] * 4],
        2: [[2.0] * 4],
    }


def test_frames_are_signed_and_durable_before_they_are_published(stores):
    peers = peers_of("mercy", stores, Wires("mercy", stores))
    peers.swap(Address(1, "model", 0), {1: row(7)}, {}, LIKE)
    frame = stores["mercy"].stored(Slot(0, 1, 0), "olav")
    assert frame is not None
    assert verify(KEYS["mercy"].public, DOMAIN + frame.header, frame.signature)
    assert (frame.head.source, frame.head.target) == ("mercy", "olav")


def test_an_exchange_without_rows_writes_nothing(stores):
    wires = Wires("mercy", stores)
    assert peers_of("mercy", stores, wires).swap(Address(1, "m", 0), {}, {}, LIKE) == {}
    assert not stores["mercy"].outbox()
    assert wires.published == 0


def test_a_round_that_is_run_again_sends_the_same_frames(stores):
    first = Wires("mercy", stores)
    peers_of("mercy", stores, first).swap(Address(1, "model", 0), {1: row(7)}, {}, LIKE)
    before = stores["mercy"].frame(Slot(0, 1, 0), "olav")
    peers_of("mercy", stores, first).swap(Address(1, "model", 0), {1: row(7)}, {}, LIKE)
    assert stores["mercy"].frame(Slot(0, 1, 0), "olav") == before


def test_a_round_that_gives_other_rows_when_run_again_is_stopped(stores):
    wires = Wires("mercy", stores)
    peers_of("mercy", stores, wires).swap(Address(1, "model", 0), {1: row(7)}, {}, LIKE)
    before = stores["mercy"].frame(Slot(0, 1, 0), "olav")
    again = peers_of("mercy", stores, wires)
    with pytest.raises(RunFailed, match="Round 1 was run again and gave another frame"):
        again.swap(Address(1, "model", 0), {1: row(8)}, {}, LIKE)
    assert stores["mercy"].frame(Slot(0, 1, 0), "olav") == before


def received(stores, frame: bytes) -> None:
    """mercy takes a frame that claims to be olav's."""
    wires = Wires("mercy", stores)
    peers = peers_of("mercy", stores, wires)
    future: Future[bytes] = Future()
    future.set_result(frame)
    wires.ask = lambda *_: future
    peers.swap(Address(1, "model", 0), {1: row(0)}, {1: 1}, LIKE)
    peers.swap(Address(1, "next", 1), {1: row(0)}, {}, LIKE)  # makes the pin durable


def frame_of(stores, rows: torch.Tensor, channel: str = "model") -> bytes:
    peers = peers_of("olav", stores, Wires("olav", stores))
    peers.swap(Address(1, channel, 0), {0: rows}, {}, LIKE)
    content = stores["olav"].frame(Slot(0, 1, 0), "mercy")
    assert content is not None
    return content


def test_a_neighbour_that_changes_its_frame_is_named_with_both_headers(stores):
    frame = frame_of(stores, row(1))
    received(stores, frame)
    head = stores["olav"].stored(Slot(0, 1, 0), "mercy").head
    payload = (row(2)).numpy().tobytes()
    other = encode(make_frame(head, payload, KEYS["olav"]))
    peers = peers_of("mercy", stores, Wires("mercy", stores, alter=lambda _: other))
    with pytest.raises(Violation, match="olav signed two different frames for round 1"):
        peers.swap(Address(1, "model", 0), {1: row(0)}, {1: 1}, LIKE)
    evidence = next(e.text for e in stores["mercy"].events() if "equivocated" in e.text)
    both = json.loads(evidence.partition(": ")[2])
    digests = {json.loads(one["header"])["sha256"] for one in both}
    assert len(digests) == 2
    for one in both:
        signed = DOMAIN + one["header"].encode()
        signature = bytes.fromhex(one["signature"])
        assert verify(KEYS["olav"].public, signed, signature)


@pytest.mark.parametrize(
    ("rows", "channel", "said"),
    [
        (torch.full((1, 4), float("nan")), "model", "not finite"),
        (torch.zeros(1, 5), "model", "shape"),
        (torch.zeros(1, 4), "gradient", "channel"),
        (torch.zeros(1, 4, dtype=torch.float64), "model", "dtype"),
    ],
)
def test_a_frame_that_is_not_the_expected_one_is_a_violation(
    stores, rows, channel, said
):
    frame = frame_of(stores, rows, channel)
    with pytest.raises(Violation, match=said):
        received(stores, frame)
    assert any(event.kind == "violation" for event in stores["mercy"].events())
    assert stores["mercy"].last_pin("olav") is None


def test_frames_of_the_next_exchange_are_asked_for_ahead(stores):
    wires = wires_for(stores)
    peers = {name: peers_of(name, stores, wires[name]) for name in NAMES}

    def round_of(name: str, t: int) -> None:
        here = VIEW.rank(name)
        others = [k for k in range(len(NAMES)) if k != here]
        for step in (0, 1):
            address = Address(t, "model", step)
            out = dict.fromkeys(others, row(here))
            peers[name].swap(address, out, dict.fromkeys(others, 1), LIKE)

    with ThreadPoolExecutor(len(NAMES)) as pool:
        list(pool.map(lambda name: round_of(name, 1), NAMES))
        asked = len(wires["mercy"].asked)
        assert ("olav", Slot(0, 2, 0)) in wires["mercy"].asked
        for store in stores.values():
            store.begin(2, b"state 1", 0)
        list(pool.map(lambda name: round_of(name, 2), NAMES))
    slots = wires["mercy"].asked
    assert len(slots) == len(set(slots)), "no frame is asked for twice"
    assert len(slots) > asked
    assert wires["mercy"].haves[0] == 0
    assert wires["mercy"].haves[-1] == 1


def test_the_next_question_is_out_before_the_present_one_is_answered(stores):
    wires, stop = wires_for(stores), threading.Event()

    def check() -> None:
        if stop.is_set():
            raise Stopped("Stopped.")

    peers = {name: peers_of(name, stores, wires[name], check) for name in NAMES}

    def step_of(name: str, t: int, step: int) -> None:
        others = [k for k in range(len(NAMES)) if k != VIEW.rank(name)]
        address = Address(t, "model", step)
        out, expect = dict.fromkeys(others, row(0)), dict.fromkeys(others, 1)
        peers[name].swap(address, out, expect, LIKE)

    with ThreadPoolExecutor(len(NAMES)) as pool:
        for step in (0, 1):
            list(pool.map(partial(step_of, t=1, step=step), NAMES))
    stores["mercy"].begin(2, b"state 1", 0)
    with ThreadPoolExecutor(1) as pool:
        waits = pool.submit(step_of, "mercy", 2, 0)  # nobody else is there
        wanted = {(name, Slot(0, 2, 1)) for name in NAMES if name != "mercy"}
        try:
            deadline = time.monotonic() + 20
            while not wanted <= set(wires["mercy"].asked):
                assert time.monotonic() < deadline
                time.sleep(0.01)
        finally:
            stop.set()
        with pytest.raises(Stopped):
            waits.result()


def test_who_waits_for_a_neighbour_hears_that_it_must_stop(stores):
    wires = Wires("mercy", stores)
    calls = []

    def check() -> None:
        calls.append(1)
        if len(calls) > 1:
            raise Stopped("Stopped.")

    peers = peers_of("mercy", stores, wires, check)
    with pytest.raises(Stopped):
        peers.swap(Address(1, "model", 0), {1: row(0)}, {1: 1}, LIKE)


def test_nothing_is_committed_once_a_reason_to_stop_is_known(stores):
    def check() -> None:
        raise Stopped("Stopped.")

    peers = peers_of("mercy", stores, Wires("mercy", stores), check)
    with pytest.raises(Stopped):
        peers.swap(Address(1, "model", 0), {1: row(0)}, {}, LIKE)
    assert not stores["mercy"].outbox()
