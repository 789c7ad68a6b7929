from __future__ import annotations

import errno
import os

import pytest
import torch

from dpdl.errors import InputError, RunFailed
from dpdl.peer.failures import (
    Doubled,
    LedgerRollback,
    Refused,
    Rollback,
    SecondInstance,
)
from dpdl.peer.frame import Slot
from dpdl.peer.hello import Greeter
from dpdl.peer.shelf import OwnShelf
from dpdl.peer.standing import Standing
from dpdl.peer.store import Store
from dpdl.peer.wire import EVIDENCE
from dpdl.transport import Address
from tests.peer.posts import KEYS, RUN, Heads, Wires, peers_of, stores_in

PUBLIC = {name: key.public for name, key in KEYS.items()}
LEDGER = Heads()


@pytest.fixture
def stores(tmp_path):
    found = stores_in(tmp_path)
    for store in found.values():
        store.begin(1, b"state 0", 0)
    yield found
    for store in found.values():
        store.close()


def greeter(stores, name: str, incarnation: int = 1, ledger: Heads = LEDGER) -> Greeter:
    store = stores[name]
    found = Greeter(
        RUN,
        name,
        KEYS[name],
        PUBLIC,
        store,
        incarnation,
        "aa",
        ledger,
        lambda: store.here.done,
    )
    found.heard.set()
    return found


def shelf(stores, accept=lambda *_: None) -> OwnShelf:
    standing = Standing(["olav", "vita"])
    return OwnShelf(stores["mercy"], greeter(stores, "mercy"), standing, accept)


def test_only_committed_frames_are_shown_and_only_to_their_target(stores):
    mercy = peers_of("mercy", stores, Wires("mercy", stores))
    found = shelf(stores)
    assert found.frame(Slot(0, 1, 0), "olav") is None
    mercy.swap(Address(1, "model", 0), {1: torch.ones(1, 4)}, {}, torch.ones(1, 4))
    assert found.frame(Slot(0, 1, 0), "olav") is not None
    assert found.frame(Slot(0, 1, 0), "vita") is None


def test_a_hello_is_answered_and_says_how_far_a_neighbour_is(stores):
    stores["olav"].begin(2, b"state 1", 0)
    found = shelf(stores)
    answer = found.hello("olav", greeter(stores, "olav").text_for("mercy"))
    assert greeter(stores, "olav").judged("mercy", answer).source == "mercy"
    assert found.standing.missing(1) == ["vita"]


def test_a_second_process_and_a_wrong_hello_are_refused_and_logged(stores):
    found = shelf(stores)
    found.hello("olav", greeter(stores, "olav", 5).text_for("mercy"))
    with pytest.raises(Refused) as twice:
        found.hello("olav", greeter(stores, "olav", 4).text_for("mercy"))
    assert twice.value.status == 423
    sentence, _, shown = str(twice.value).partition(EVIDENCE)
    assert sentence.startswith("Two processes run as olav")
    failure = SecondInstance(sentence, shown.encode())
    with pytest.raises(Doubled, match="Two processes"):
        greeter(stores, "olav", 4).doubted(failure, "mercy")
    with pytest.raises(Refused) as wrong:
        found.hello("olav", b"nothing")
    assert wrong.value.status == 409
    assert sum(event.kind == "refused" for event in stores["mercy"].events()) == 2


def test_an_old_database_stops_this_peer(stores, tmp_path):
    mercy = peers_of("mercy", stores, Wires("mercy", stores))
    mercy.swap(Address(1, "model", 0), {1: torch.ones(1, 4)}, {}, torch.ones(1, 4))
    olav = peers_of("olav", stores, Wires("olav", stores))
    olav.swap(Address(1, "model", 0), {}, {0: 1}, torch.ones(1, 4))
    olav.swap(Address(1, "next", 1), {0: torch.ones(1, 4)}, {}, torch.ones(1, 4))
    (tmp_path / "old").mkdir()
    old = stores_in(tmp_path / "old")
    try:
        found = shelf({**old, "olav": stores["olav"]})
        with pytest.raises(Refused) as refused:
            found.hello("olav", greeter(stores, "olav").text_for("mercy"))
        assert refused.value.status == 503
        with pytest.raises(Rollback):
            found.standing.check()
    finally:
        for store in old.values():
            store.close()


FULL = "cannot be written: No space left on device"


def test_a_disk_that_is_full_is_told_to_the_caller_and_stops_this_peer(
    stores, tmp_path
):
    said = greeter(stores, "olav").text_for("mercy")
    stores["mercy"].close()

    def fail(point: str) -> None:
        if point.endswith(":inside"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    full = {**stores, "mercy": Store(tmp_path / "mercy", fail)}

    def keep(kind: str, name: str, content: bytes) -> None:
        full["mercy"].put_document(kind, name, content)

    try:
        for what in (
            lambda found: found.hello("olav", said),
            lambda found: found.take_document("approval", "olav", b"text", "olav"),
        ):
            found = shelf(full, keep)
            with pytest.raises(Refused, match="mercy has stopped: its disk") as refused:
                what(found)
            assert refused.value.status == 503
            with pytest.raises(RunFailed, match=FULL) as raised:
                found.standing.check()
            assert raised.value.exit_code == 4
        found = shelf(full)
        found.note("refused", "somebody")  # whoever was turned away hears nothing
        with pytest.raises(RunFailed, match=FULL):
            found.standing.check()
    finally:
        full["mercy"].close()


def test_an_old_ledger_stops_this_peer(stores):
    olav = greeter(stores, "olav")
    olav.judged("mercy", greeter(stores, "mercy", 1, Heads("aa" * 32)).text_for("olav"))
    standing = Standing(["olav"])
    old = greeter(stores, "mercy", 2, Heads("bb" * 32))
    with pytest.raises(Refused) as refused:
        OwnShelf(stores["mercy"], old, standing, lambda *_: None).hello(
            "olav", olav.text_for("mercy")
        )
    assert refused.value.status == 503
    with pytest.raises(LedgerRollback):
        standing.check()


def test_a_hello_of_a_view_that_is_over_is_told_so(stores):
    text = greeter(stores, "olav").text_for("mercy")
    stores["mercy"].change_view(1, 3, b"state")
    with pytest.raises(Refused) as gone:
        shelf(stores).hello("olav", text)
    assert gone.value.status == 410


def test_a_document_that_is_wrong_is_refused_with_the_reason(stores):
    def accept(kind: str, name: str, content: bytes) -> None:
        raise InputError("It is not signed.")

    with pytest.raises(Refused, match="not signed"):
        shelf(stores, accept).take_document("approval", "vita", b"x", "olav")
    assert shelf(stores).document("approval", "vita") is None
    assert shelf(stores).over(0) is None
