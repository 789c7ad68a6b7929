"""What a store says can be read beside the process that writes it; a changed log is found."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.peer.events import BURST
from dpdl.peer.frame import Slot
from dpdl.peer.store import Committed, Pin, Store, StoreReader
from tests.peer.stores import LARGE, SMALL, Writer, new_store, state, told, two_rounds


@pytest.mark.parametrize("width", [SMALL, LARGE])
def test_a_reader_sees_what_the_writer_made_durable(tmp_path: Path, width: int) -> None:
    it = new_store(tmp_path, width)
    with StoreReader(tmp_path) as reader:
        for t in range(1, 5):
            it.rounds(t, t)
            assert told(reader) == told(it.store)
        it.store.finish(state(4, width))
        assert reader.state() == state(4, width)


def test_a_reader_sees_nothing_of_a_transaction_that_is_open(tmp_path: Path) -> None:
    two_rounds(tmp_path, SMALL)
    seen = []

    def fault(point: str) -> None:
        if point == "begin:inside":
            seen.append(told(store))

    store = Store(tmp_path, fault)
    before = told(store)
    store.begin(3, state(2), 2)
    assert seen == [before]
    assert told(store) != before


def test_a_run_that_nobody_runs_can_be_read(tmp_path: Path) -> None:
    two_rounds(tmp_path, SMALL)
    with StoreReader(tmp_path) as reader:
        assert reader.here.round == 2
        assert reader.state() == state(1)


def test_headers_are_fields_again(tmp_path: Path) -> None:
    it = new_store(tmp_path)
    slot = Slot(0, 1, 0)
    frame = it.frame(slot, "bob")
    assert Committed(frame.header, frame.signature).head == frame.head
    assert Pin(slot, "ann", frame.header, frame.signature).head.slot == slot


def test_a_state_that_was_changed_is_not_given_out(tmp_path: Path) -> None:
    two_rounds(tmp_path, SMALL)
    tamper(
        tmp_path,
        "UPDATE payload SET content = x'00' WHERE sha IN (SELECT state FROM here)",
    )
    with (
        Store(tmp_path) as store,
        pytest.raises(InputError, match="one of them was changed"),
    ):
        store.state()


# ------------------------------------------------------------------ the log
def tamper(folder: Path, change: str) -> None:
    db = sqlite3.connect(folder / "run.sqlite")
    with db:
        db.execute(change)
    db.close()


@pytest.fixture
def logged(tmp_path: Path) -> Path:
    it: Writer = new_store(tmp_path)
    for k in range(6):
        it.store.log("start", f"number {k}")
    assert it.store.check_events() is None
    it.store.close()
    return tmp_path


def test_the_log_is_kept_in_order(logged: Path) -> None:
    with StoreReader(logged) as reader:
        events = reader.events()
        assert [event.number for event in events] == [1, 2, 3, 4, 5, 6]
        assert [event.text for event in events] == [f"number {k}" for k in range(6)]
        assert {event.kind for event in events} == {"start"}
        assert reader.check_events() is None


@pytest.mark.parametrize(
    ("change", "first"),
    [
        ("UPDATE event SET text = 'nothing' WHERE number = 3", 3),
        ("UPDATE event SET kind = 'stop' WHERE number = 6", 6),
        ("UPDATE event SET time = '2001-01-01' WHERE number = 1", 1),
        ("UPDATE event SET hash = (SELECT hash FROM event WHERE number = 1) WHERE number = 2", 2),
        ("DELETE FROM event WHERE number = 4", 4),
        ("DELETE FROM event WHERE number > 4", 5),
        ("DELETE FROM event", 1),
        ("INSERT INTO event VALUES (7, '', '', '', '')", 7),
    ],
)  # fmt: skip
def test_a_changed_log_is_found(logged: Path, change: str, first: int) -> None:
    tamper(logged, change)
    with StoreReader(logged) as reader:
        assert reader.check_events() == first


def test_strangers_cannot_fill_the_log(tmp_path: Path) -> None:
    store = new_store(tmp_path).store
    for k in range(200):
        store.log("refused", str(k))
    store.log("start", "last")
    assert [event.text for event in store.events()] == [*map(str, range(BURST)), "last"]


@pytest.mark.parametrize("more", [1, 2, 5])
def test_new_lines_do_not_hide_that_old_ones_are_gone(logged: Path, more: int) -> None:
    tamper(logged, "DELETE FROM event WHERE number > 4")
    with Store(logged) as store:
        for k in range(more):
            store.log("start", str(k))
        assert store.check_events() == 5
