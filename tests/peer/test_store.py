"""What a store has said is durable; a killed process leaves all of a change or nothing of it."""

from __future__ import annotations

import json
import random
import shutil
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from dpdl.errors import InputError, RunFailed
from dpdl.peer.frame import Slot
from dpdl.peer.frame_bytes import encode
from dpdl.peer.round_key import RoundKey
from dpdl.peer.store import Committed, Document, Here, Met, Pin, Store, StoreReader
from tests.peer.stores import (
    ACTIONS,
    LARGE,
    NAMES,
    RUN,
    SMALL,
    TIMEOUT,
    Writer,
    answer,
    child,
    die_often,
    go_on,
    new_store,
    opened,
    pins,
    state,
    told,
    told_in,
    two_rounds,
    wake,
    whole,
)


# ------------------------------------------------------------------ rounds and exchanges
def test_a_new_run_stands_before_its_first_round(tmp_path: Path) -> None:
    store = new_store(tmp_path).store
    assert store.here == Here(0, 0, 0, 0, "build", RUN)
    assert store.state() == state(0)
    assert store.outbox() == []
    assert store.last_pin("bob") is None
    assert store.check_events() is None


def test_a_start_is_counted(tmp_path: Path) -> None:
    store = new_store(tmp_path).store
    assert [store.wake(), store.wake()] == [1, 2]
    store.close()
    with Store(tmp_path) as again:
        assert again.wake() == 3


def test_the_build_can_be_noted_anew(tmp_path: Path) -> None:
    store = new_store(tmp_path).store
    store.note_build("later")
    assert store.here.build == "later"


@pytest.mark.parametrize("width", [SMALL, LARGE])
def test_committed_frames_come_back_byte_by_byte(tmp_path: Path, width: int) -> None:
    it = new_store(tmp_path, width)
    it.rounds(1, 3)
    slot = Slot(0, 3, 1)
    frames = it.frames(slot)
    assert {name: it.store.frame(slot, name) for name in NAMES} == {
        name: encode(frame) for name, frame in frames.items()
    }
    assert it.store.committed(slot) == {
        name: Committed(frame.header, frame.signature) for name, frame in frames.items()
    }
    assert it.store.committed(slot)["bob"].head == frames["bob"].head
    assert it.store.frame(slot, "eve") is None
    assert it.store.frame(Slot(0, 3, 2), "bob") is None
    assert it.store.frame(Slot(1, 3, 1), "bob") is None


@pytest.mark.parametrize("width", [SMALL, LARGE])
def test_a_round_drops_what_is_before_the_rounds_to_keep(
    tmp_path: Path, width: int
) -> None:
    it = new_store(tmp_path, width)
    it.rounds(1, 5)
    assert it.store.here[:4] == (5, 0, 0, 4)
    assert it.store.state() == state(4, width)
    assert {slot.round for slot, _ in it.store.outbox()} == {4, 5}
    assert it.store.pin(Slot(0, 3, 0), "bob") is None
    assert it.store.pin(Slot(0, 4, 0), "bob") == pins(Slot(0, 4, 0))[0]
    it.store.begin(6, state(5), 0)
    assert {slot.round for slot, _ in it.store.outbox()} == {4, 5}


def test_payloads_are_stored_once_and_dropped_with_their_last_frame(
    tmp_path: Path,
) -> None:
    it = new_store(tmp_path)
    it.rounds(1, 1)

    def count() -> int:
        ((found,),) = it.store._ask("SELECT count(*) FROM payload")
        return found

    assert count() == 1 + 2 * 2  # the state; cyd and dan get the same payload
    it.store.begin(2, state(1), 2)
    assert count() == 1
    assert it.store.state() == state(1)


def test_a_state_may_be_a_payload_as_well(tmp_path: Path) -> None:
    it = new_store(tmp_path)
    slot = Slot(0, 1, 0)
    it.store.begin(1, bytes(it.frame(slot, "bob").payload), 0)
    it.commit(slot)
    it.store.begin(2, state(1), 0)
    assert it.store.frame(slot, "bob") == encode(it.frame(slot, "bob"))
    it.store.begin(3, bytes(it.frame(slot, "bob").payload), 2)
    assert it.store.state() == it.frame(slot, "bob").payload


def test_the_last_pin_of_a_source_stays(tmp_path: Path) -> None:
    it = new_store(tmp_path)
    it.store.begin(1, state(0), 0)
    old, new = pins(Slot(0, 1, 0)), pins(Slot(0, 1, 1))
    more = [*new, *old, Pin(Slot(0, 1, 0), "dan", b"dan", b"")]
    it.store.commit(Slot(0, 1, 2), {}, more)
    it.store.begin(9, state(8), 8)
    assert [it.store.last_pin(name) for name in ("bob", "cyd")] == new
    assert it.store.pin(Slot(0, 1, 0), "bob") is None
    assert it.store.last_pin("dan").slot == Slot(0, 1, 0)


def test_the_first_pin_of_an_exchange_stays(tmp_path: Path) -> None:
    """It is the evidence against a neighbour that shows another one later."""
    store = new_store(tmp_path).store
    first = Pin(Slot(0, 1, 0), "bob", b"first", b"a")
    for pin in (first, first._replace(header=b"second")):
        store.commit(Slot(0, 0, 0), {}, [pin])
    assert store.pin(Slot(0, 1, 0), "bob") == first


def test_later_exchanges_are_later_pins(tmp_path: Path) -> None:
    store = new_store(tmp_path).store
    for slot in (Slot(0, 10, 2), Slot(1, 9, 0), Slot(0, 9, 12), Slot(1, 2, 30)):
        store.commit(Slot(0, 0, 0), {}, pins(slot))
    assert store.last_pin("bob").slot == Slot(1, 9, 0)


@pytest.mark.parametrize("end", ["commit", "finish", "view"])
def test_a_frame_that_has_come_is_the_last_pin_and_durable_with_what_follows(
    tmp_path: Path, end: str
) -> None:
    it = new_store(tmp_path)
    it.rounds(1, 2)
    (pin,) = (one for one in pins(Slot(0, 2, 2)) if one.source == "bob")
    it.store.show(pin)
    it.store.show(pin._replace(source="dan"))
    assert it.store.last_pin("bob") == pin
    with StoreReader(tmp_path) as reader:
        assert reader.last_pin("bob").slot < pin.slot, "nothing was written for it"
    if end == "commit":
        it.store.commit(Slot(0, 2, 2), {}, [pin])
    elif end == "finish":
        it.store.finish(state(2))
    else:
        it.store.change_view(1, 3, state(3))
    with StoreReader(tmp_path) as reader:
        assert reader.last_pin("bob") == pin


def test_the_end_of_a_run_keeps_its_last_frames(tmp_path: Path) -> None:
    it = new_store(tmp_path)
    it.rounds(1, 2)
    it.store.finish(state(2))
    assert it.store.here[:4] == (3, 0, 0, 2)
    assert it.store.state() == state(2)
    assert it.store.frame(Slot(0, 2, 1), "bob")


def test_a_view_change_gives_up_what_was_said_and_keeps_the_last_pins(
    tmp_path: Path,
) -> None:
    it = new_store(tmp_path)
    it.rounds(1, 3)
    last = it.store.last_pin("bob")
    it.store.prepare(4, state(3), 3)
    papers = [Document("stop", name, name.encode()) for name in ("bob", "cyd")]
    it.store.change_view(1, 6, state(50), papers)
    assert it.store.here[:4] == (6, 1, 0, 5)
    assert it.store.state() == state(50)
    assert it.store.outbox() == []
    assert it.store.last_pin("bob") == last
    assert it.store.documents("stop") == {"bob": b"bob", "cyd": b"cyd"}
    it.store.begin(7, state(51), 6)
    it.commit(Slot(1, 7, 0))
    assert it.store.outbox()[0] == (Slot(1, 7, 0), "bob")


# ------------------------------------------------------------------ what may not be
@pytest.mark.parametrize("slot", [Slot(0, 1, 0), Slot(0, 3, 0), Slot(1, 2, 0)])
def test_only_the_round_that_has_begun_is_committed(tmp_path: Path, slot: Slot) -> None:
    it = new_store(tmp_path)
    it.rounds(1, 2)
    before = told(it.store)
    with pytest.raises(RunFailed, match="has not begun, or is over"):
        it.commit(slot)
    assert told(it.store) == before


def test_nothing_is_committed_twice(tmp_path: Path) -> None:
    it = new_store(tmp_path)
    it.rounds(1, 1)
    before = told(it.store)
    for names in (NAMES, ("dan",)):
        again = {name: it.frame(Slot(0, 1, 1), name) for name in names}
        with pytest.raises(RunFailed, match="no other one may leave"):
            it.store.commit(Slot(0, 1, 1), again)
    assert told(it.store) == before


def test_a_run_is_not_created_over_another(tmp_path: Path) -> None:
    new_store(tmp_path).store.close()
    before = told_in(tmp_path)
    with pytest.raises(InputError, match="There is a run in folder"):
        Store.create(tmp_path, RUN, "build", b"")
    assert told_in(tmp_path) == before


def test_a_creation_that_was_cut_off_is_done_again(tmp_path: Path) -> None:
    for rest in ("", "-wal", "-shm"):
        (tmp_path / f"run.sqlite.new{rest}").write_bytes(b"rubbish")
    assert new_store(tmp_path).store.state() == state(0)


# ------------------------------------------------------------------ one transaction for both
def test_a_prepared_round_begins_with_its_first_commit(tmp_path: Path) -> None:
    it = new_store(tmp_path)
    it.rounds(1, 1)
    before = told(it.store)
    it.store.prepare(2, state(1), 1)
    assert told(it.store) == before
    it.commit(Slot(0, 2, 0))
    assert it.store.here[:4] == (2, 0, 0, 1)
    assert it.store.state() == state(1)
    assert it.store.frame(Slot(0, 2, 0), "bob")
    it.commit(Slot(0, 2, 1))
    assert it.store.here.round == 2


def test_a_prepared_round_without_an_exchange_is_durable_before_the_next(
    tmp_path: Path,
) -> None:
    it = new_store(tmp_path)
    it.store.prepare(1, state(0), 0)
    it.store.prepare(2, state(1), 0)
    assert (it.store.here.round, it.store.state()) == (1, state(0))
    it.store.finish(state(2))
    assert it.store.here[:4] == (3, 0, 0, 2)


def test_a_failed_commit_leaves_the_prepared_round_to_the_next(tmp_path: Path) -> None:
    fails = ["outbox:inside"]

    def fault(point: str) -> None:
        if point in fails:
            fails.remove(point)
            raise OSError(28, "No space left on device")

    two_rounds(tmp_path, LARGE)
    it = opened(tmp_path, fault, LARGE)
    before = told(it.store)
    it.store.prepare(3, state(2), 2)
    with pytest.raises(RunFailed, match="No space left on device; nothing was sent"):
        it.commit(Slot(0, 3, 0))
    assert told(it.store) == before
    it.commit(Slot(0, 3, 0))
    assert it.store.here.round == 3
    assert all(whole(it.store.stored(*at)) for at in it.store.outbox())


# ------------------------------------------------------------------ kill -9
POINTS = {
    "begin": ("begin",),
    "commit": ("outbox",),
    "prepare and commit": ("begin", "outbox"),
    "finish": ("finish",),
    "view": ("view",),
    "wake": ("wake",),
    "document": ("document",),
    "neighbour": ("neighbour",),
    "event": ("event",),
}
LARGE_ONES = ("begin", "commit", "prepare and commit", "finish", "view")


def kills(width: int) -> list[tuple[str, str]]:
    """Every action with every point of it at which a process may die."""
    found = []
    for action, names in POINTS.items():
        if width == SMALL:
            when = ("before", "inside", "after")
            found += [(action, f"{name}:{at}") for name in names for at in when]
        elif action in LARGE_ONES:
            last = f"{names[-1]}:after"
            found += [(action, at) for at in ("payload:before", "payload:after", last)]
    return found


def test_every_action_is_killed() -> None:
    assert set(POINTS) == set(ACTIONS)


@pytest.mark.parametrize("width", [SMALL, LARGE], ids=["small", "large"])
def test_a_killed_process_leaves_all_or_nothing(tmp_path: Path, width: int) -> None:
    base = tmp_path / "base"
    base.mkdir()
    two_rounds(base, width)
    before = told_in(base)
    wanted = [
        (str(tmp_path / str(number)), *kill) for number, kill in enumerate(kills(width))
    ]
    lines = "".join(json.dumps(one) + "\n" for one in wanted)
    ended = answer(child(die_often, base, width), lines)
    assert ended == [str(-signal.SIGKILL)] * len(wanted)
    for folder, action, point in wanted:
        expected = before
        if point.endswith("after") and not point.startswith("payload"):
            expected = done_here(base, action, width)
            assert expected != before
        assert told_in(Path(folder)) == expected, (action, point)


def done_here(base: Path, action: str, width: int) -> dict[str, object]:
    """What a store says after an action that nobody interrupted."""
    folder = base.parent / "whole"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(base, folder)
    it = opened(folder, width=width)
    ACTIONS[action](it)
    found = told(it.store)
    it.store.close()
    assert told_in(folder) == found
    return found


def check_whole(folder: Path, width: int) -> int:
    """Whatever round a killed process was in, all of it that counts is there; the round."""
    it = opened(folder, width=width)
    with it.store as store:
        t = store.here.round
        assert store.state() == state(max(t - 1, 0), width if t else SMALL)
        expected = {}
        for slot in {slot for slot, _ in store.outbox()}:
            assert slot.round in (t - 1, t)
            expected |= {(slot, name): it.frame(slot, name) for name in NAMES}
            before = slot._replace(step=slot.step - 1)
            if slot.step:
                assert store.pin(before, "bob") == pins(before)[0]
        assert {at: store.frame(*at) for at in store.outbox()} == {
            at: encode(frame) for at, frame in expected.items()
        }
        assert len([1 for slot, _ in expected if slot.round == t - 1]) in (0, 9)
        return t


def killed_often(folder: Path, width: int, times: int) -> int:
    """The round that is reached by a process that is killed at any time, and started again."""
    new_store(folder, width).store.close()
    draw = random.Random(width)
    for _ in range(times):
        process = child(go_on, folder, width)
        assert process.stdout.readline() == "opened\n"
        time.sleep(draw.uniform(0.0, 0.5))
        process.kill()
        assert answer(process) == []
        reached = check_whole(folder, width)
    return reached


def test_a_process_killed_at_any_time_leaves_whole_exchanges(tmp_path: Path) -> None:
    assert killed_often(tmp_path, LARGE, 3) > 1


@pytest.mark.slow
@pytest.mark.parametrize("width", [SMALL, LARGE])
def test_a_process_killed_many_times_leaves_whole_exchanges(
    tmp_path: Path, width: int
) -> None:
    assert killed_often(tmp_path, width, 40) > 10


# ------------------------------------------------------------------ in memory
def from_files(it: Writer) -> dict[tuple[Slot, str], bytes | None]:
    """All frames, as somebody else reads them."""
    with StoreReader(it.store.path.parent) as reader:
        return {at: reader.frame(*at) for at in reader.outbox()}


def test_what_is_shown_from_memory_is_what_the_files_have(tmp_path: Path) -> None:
    it = new_store(tmp_path)
    for t in range(1, 6):
        it.rounds(t, t)
        durable = from_files(it)
        assert durable == {at: it.store.frame(*at) for at in durable}
        for gone in (Slot(0, t - 3, 0), Slot(0, t, 3), Slot(0, t + 1, 0)):
            assert (gone, "bob") not in durable
            assert it.store.frame(gone, "bob") is None


def test_a_frame_is_shown_only_once_it_is_durable(tmp_path: Path) -> None:
    seen: list[bytes | None] = []

    def look(point: str) -> None:
        if point in ("outbox:before", "outbox:inside"):
            seen.append(it.store.frame(Slot(0, 1, 0), "bob"))

    new_store(tmp_path).store.close()
    it = opened(tmp_path, look)
    it.rounds(1, 1)
    assert seen[:2] == [None, None]
    assert it.store.frame(Slot(0, 1, 0), "bob") == encode(
        it.frame(Slot(0, 1, 0), "bob")
    )


def test_a_frame_that_could_not_be_made_durable_is_not_shown(tmp_path: Path) -> None:
    def fail(point: str) -> None:
        if point == "outbox:inside":
            raise OSError("the disk is gone")

    new_store(tmp_path).store.close()
    it = opened(tmp_path, fail)
    it.store.prepare(1, b"state", 0)
    with pytest.raises(RunFailed, match="nothing was sent"):
        it.commit(Slot(0, 1, 0))
    assert it.store.frame(Slot(0, 1, 0), "bob") is None
    assert from_files(it) == {}


def test_papers_that_change_are_seen(tmp_path: Path) -> None:
    it = new_store(tmp_path)
    assert it.store.documents("stop") == {}
    it.store.put_document("stop", "bob", b"one")
    assert it.store.documents("stop") == {"bob": b"one"}
    it.store.documents("stop")["cyd"] = b"of the caller only"
    it.store.change_view(1, 1, b"state", [Document("stop", "bob", b"two")])
    assert it.store.documents("stop") == {"bob": b"two"}


# ------------------------------------------------------------------ two threads
def test_a_thread_reads_whole_frames_while_another_commits(tmp_path: Path) -> None:
    it = new_store(tmp_path, LARGE)
    it.rounds(1, 1)
    over = threading.Event()
    seen: list[Slot] = []
    wrong: list[object] = []

    def serve() -> None:
        while not over.is_set():
            for slot, name in it.store.outbox():
                frame = it.store.stored(slot, name)
                if frame is not None:
                    seen.append(slot)
                    if not whole(frame):
                        wrong.append((slot, name))

    def greet() -> None:
        for k in range(30):
            it.store.log("refused", str(k))
            it.store.note_neighbour("bob", Met(k, "nonce"))

    threads = [threading.Thread(target=serve), threading.Thread(target=greet)]
    for thread in threads:
        thread.start()
    try:
        it.rounds(2, 7)
        threads[-1].join(TIMEOUT)
    finally:
        over.set()
        for thread in threads:
            thread.join(TIMEOUT)
    assert wrong == []
    assert len({slot.round for slot in seen}) > 2
    assert [event.text for event in it.store.events()] == [str(k) for k in range(30)]
    assert it.store.check_events() is None
    assert it.store.neighbour("bob") == Met(29, "nonce")


def test_a_large_frame_is_looked_up_and_read_as_one(tmp_path: Path) -> None:
    """While the file may be written, its reader waits, and the other way round."""
    it = new_store(tmp_path, LARGE)
    it.rounds(1, 1)
    with ThreadPoolExecutor(1) as pool:
        with it.store._large.lock:
            reading = pool.submit(it.store.stored, Slot(0, 1, 0), "bob")
            assert not wait([reading], 0.2).done
        assert whole(reading.result(TIMEOUT))


# ------------------------------------------------------------------ old files
def files_of(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def go_on_and_copy_back(folder: Path, width: int, names: tuple[str, ...]) -> Writer:
    """A run of six rounds with the files of round 3; the run as it was in round 6."""
    it = new_store(folder, width)
    it.store.wake()
    it.rounds(1, 3)
    it.store.close()
    old = files_of(folder)
    it = opened(folder, width=width)
    it.store.wake()
    it.rounds(4, 6)
    it.store.close()
    for name in names:
        (folder / name).write_bytes(old[name])
    return it


def test_an_old_database_says_that_it_is_old(tmp_path: Path) -> None:
    """What hello compares: the round, the count of starts, the frames and the pins."""
    it = go_on_and_copy_back(tmp_path, SMALL, ("run.sqlite",))
    shown = it.frame(Slot(0, 6, 1), "bob")
    with Store(tmp_path) as store:
        assert store.here[:3] == (3, 0, 1)
        assert shown.head.round > store.here.round
        assert "bob" not in store.committed(shown.head.slot)
        assert store.last_pin("bob").slot < Slot(0, 5, 0)
        assert max(slot for slot, _ in store.outbox()) == Slot(0, 3, 1)


@pytest.mark.parametrize("name", ["run.sqlite", "run.payloads"])
def test_an_old_file_beside_a_new_one_is_refused(tmp_path: Path, name: str) -> None:
    go_on_and_copy_back(tmp_path, LARGE, (name,))
    with pytest.raises(InputError, match=r"do not fit: .* copied back"):
        Store(tmp_path)


def test_a_lost_file_of_payloads_is_refused(tmp_path: Path) -> None:
    two_rounds(tmp_path, LARGE)
    (tmp_path / "run.payloads").unlink()
    with pytest.raises(InputError, match=r"run\.payloads beside it do not fit"):
        Store(tmp_path)


# ------------------------------------------------------------------ secrets
def found_in(folder: Path, secret: bytes) -> set[str]:
    return {file.name for file in folder.iterdir() if secret in file.read_bytes()}


def test_secrets_are_in_the_key_file_and_nowhere_else(tmp_path: Path) -> None:
    """The order of a run: secret, database, exchange. The negative control is found."""
    it = new_store(tmp_path)
    keys = RoundKey.create(tmp_path / "round.key", 1)
    for t in range(1, 31):
        keys.begin(0, t, (bytes([t]) * 32,))
        it.rounds(t, t)
    it.store.put_document("stop", "bob", b"\xee" * 32)
    files = ("run.sqlite", "run.sqlite-wal", "round.key")
    assert all((tmp_path / name).exists() for name in files)
    where = {t: found_in(tmp_path, bytes([t]) * 32) for t in range(1, 31)}
    assert {t for t, names in where.items() if names} == {29, 30}
    assert where[29] | where[30] == {"round.key"}
    assert found_in(tmp_path, b"\xee" * 32) == {"run.sqlite-wal"}


# ------------------------------------------------------------------ one process
def test_a_second_opener_is_refused_until_the_first_is_gone(tmp_path: Path) -> None:
    it = new_store(tmp_path)
    (said,) = answer(child(wake, tmp_path))
    assert "is already running; end that process first" in said
    with pytest.raises(InputError, match="already running"):
        Store(tmp_path)
    with pytest.raises(InputError, match="already running"):
        Store.create(tmp_path, RUN, "build", b"")
    with StoreReader(tmp_path) as reader:  # looking is allowed
        assert reader.here == it.store.here
    it.store.close()
    assert told_in(tmp_path)["here"] == [0, 0, 0, 0, "build", RUN]


def test_closing_twice_is_closing(tmp_path: Path) -> None:
    store = new_store(tmp_path).store
    store.close()
    store.close()
    assert not (tmp_path / "run.sqlite-wal").exists()
    with pytest.raises(RunFailed, match="cannot be read"):
        _ = store.here
    with pytest.raises(RunFailed, match="cannot be written"):
        store.wake()


# ------------------------------------------------------------------ papers
def test_documents_are_kept_by_kind_and_name(tmp_path: Path) -> None:
    store = new_store(tmp_path).store
    store.put_document("approval", "bob", b"1")
    store.put_document("approval", "ann", b"2")
    store.put_document("stop", "bob", b"3")
    store.put_document("approval", "bob", b"4")
    assert store.documents("approval") == {"ann": b"2", "bob": b"4"}
    assert store.documents("card") == {}


def test_a_neighbour_is_remembered(tmp_path: Path) -> None:
    store = new_store(tmp_path).store
    assert store.neighbour("bob") is None
    store.note_neighbour("bob", Met(3, "aa"))
    store.note_neighbour("bob", Met(4, "bb", ("one", "two")))
    assert store.neighbour("bob") == Met(4, "bb", ("one", "two"))
