"""What is written is on disk when it counts: fsyncs are counted, and disks are full and broken."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dpdl.errors import InputError, RunFailed
from dpdl.peer.frame import Slot
from dpdl.peer.store import Store, StoreReader
from dpdl.peer.store_writer import CHECKPOINT
from tests.peer.stores import (
    LARGE,
    SMALL,
    answer,
    child,
    do_rounds,
    fill,
    new_store,
    opened,
    state,
    told,
    told_in,
    two_rounds,
    wake,
    whole,
)


def can_trace() -> bool:
    if not shutil.which("strace"):
        return False
    return not subprocess.run(["strace", "true"], capture_output=True).returncode


def can_mount() -> bool:
    """Whether a child may mount something that nobody else sees."""
    words = ["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    if not shutil.which("unshare"):
        return False
    return not subprocess.run(words, capture_output=True).returncode


traced = pytest.mark.skipif(not can_trace(), reason="strace cannot be used here")
mounting = pytest.mark.skipif(not can_mount(), reason="nothing can be mounted here")


# ------------------------------------------------------------------ fsyncs
CALL = re.compile(r"(\w+)\(\d+<([^>]*)>")


def calls(folder: Path, *arguments: object) -> list[tuple[str, str]]:
    """System calls that write and sync, each with the name of its file, in order."""
    trace = folder.parent / "trace"
    which = "trace=fsync,fdatasync,pwrite64,write,rename"
    before = ("strace", "-f", "-y", "-o", str(trace), "-e", which)
    assert answer(child(do_rounds, folder, *arguments, before=before)) == []
    found = [CALL.search(line) for line in trace.read_text().splitlines()]
    files = {"run.sqlite", "run.sqlite-wal", "run.payloads", folder.name}
    named = [(one[1], Path(one[2]).name) for one in found if one]
    return [(call, name) for call, name in named if name in files]


def fsyncs(folder: Path, *arguments: object) -> int:
    folder.mkdir()
    new_store(folder, LARGE).store.close()
    return sum("sync" in call for call, _ in calls(folder, *arguments))


@traced
@pytest.mark.parametrize(
    ("width", "how", "expected"),
    [
        (SMALL, "begin", 1 + 3),
        (SMALL, "prepare", 3),
        (LARGE, "begin", 1 + 3 * 2),
    ],
)
def test_a_round_of_three_exchanges_has_so_many_fsyncs(
    tmp_path: Path, width: int, how: str, expected: int
) -> None:
    """One to begin, or none of its own, and one for each exchange; one more for large rows."""
    few, many = (fsyncs(tmp_path / str(n), width, n, how) for n in (1, 5))
    assert many - few == 4 * expected


@traced
def test_rows_are_durable_before_what_speaks_of_them(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    new_store(folder, LARGE).store.close()
    order = [
        (call, name)
        for call, name in calls(folder, LARGE, 2, "begin")
        if name in ("run.payloads", "run.sqlite-wal")
    ]
    single = [one for k, one in enumerate(order) if k == 0 or one != order[k - 1]]
    exchange = [
        ("pwrite64", "run.payloads"),
        ("fdatasync", "run.payloads"),
        ("pwrite64", "run.sqlite-wal"),
        ("fdatasync", "run.sqlite-wal"),
    ]
    start = single.index(exchange[0])
    assert single[start : start + 12] == exchange * 3


def test_the_log_is_written_back_and_used_again(tmp_path: Path) -> None:
    it = new_store(tmp_path, 240_000)  # just below what goes to a file of its own
    it.rounds(1, 12)
    log = (tmp_path / "run.sqlite-wal").stat().st_size
    assert 12 * 2 * 2 * 960_000 > 2 * CHECKPOINT > log
    assert (tmp_path / "run.sqlite").stat().st_size < CHECKPOINT
    it.store.close()
    assert told_in(tmp_path)["here"][0] == 12


def test_a_log_that_a_crash_left_is_used_again(tmp_path: Path) -> None:
    """Who is killed again and again does not fill the disk."""
    living, dead = tmp_path / "living", tmp_path / "dead"
    living.mkdir()
    it = new_store(living, 20_000)
    it.rounds(1, 2)
    shutil.copytree(living, dead)  # as a process leaves it that was killed
    log = dead / "run.sqlite-wal"
    left = log.stat().st_size
    again = opened(dead, width=20_000)
    again.rounds(3, 3)
    assert log.stat().st_size == left > 500_000
    again.store.close()
    it.store.close()


def test_a_large_run_does_not_grow(tmp_path: Path) -> None:
    it = new_store(tmp_path, LARGE)
    sizes = []
    for t in range(1, 12):
        it.rounds(t, t)
        sizes.append((tmp_path / "run.payloads").stat().st_size)
    assert len(set(sizes[3:])) == 1
    assert sizes[-1] < 3 * 4 * 4 * LARGE * 1.1
    assert all(whole(it.store.stored(*at)) for at in it.store.outbox())


# ------------------------------------------------------------------ disks
def test_a_failure_inside_a_transaction_leaves_nothing(tmp_path: Path) -> None:
    two_rounds(tmp_path, SMALL)
    wrong = {"begin:inside", "outbox:inside", "event:inside"}

    def fault(point: str) -> None:
        if point in wrong:
            raise OSError(5, "Input/output error")

    it = opened(tmp_path, fault)
    before = told(it.store)
    failing = [
        lambda: it.store.begin(3, state(2), 2),
        lambda: it.store.log("start", "again"),
    ]
    for act in failing:
        with pytest.raises(
            RunFailed, match="cannot be written: Input/output error; no"
        ):
            act()
        assert told(it.store) == before
    wrong.clear()
    it.store.wake()
    assert it.store.here.incarnation == 1


def test_pieces_stay_in_use_until_their_end_is_durable(tmp_path: Path) -> None:
    """A round that failed to begin has dropped nothing: later frames spare the old ones."""
    two_rounds(tmp_path, LARGE)
    failing = {"begin:inside"}

    def fault(point: str) -> None:
        if point in failing:
            raise OSError(5, "Input/output error")

    it = opened(tmp_path, fault, LARGE)
    with pytest.raises(RunFailed):
        it.store.begin(3, state(2, LARGE), 3)
    it.store._pending = None
    it.commit(Slot(0, 2, 2))
    assert len(it.store.outbox()) == 5 * 3
    assert all(whole(it.store.stored(*at)) for at in it.store.outbox())
    assert it.store.state() == state(1, LARGE)


@mounting
@pytest.mark.parametrize("width", [20_000, LARGE])
def test_a_full_disk_stops_a_run_and_leaves_it_whole(
    tmp_path: Path, width: int
) -> None:
    """On a disk of 12 MB; then room is made, and the run goes on."""
    lines = answer(in_a_small_disk(tmp_path, "12m", f"fill . {width}"))
    kind, sentence, same = json.loads(lines[0])
    assert kind == "RunFailed"
    assert re.search(
        r"cannot be written: .*(full|No space left).*; nothing was sent", sentence
    )
    assert same
    before, again = json.loads(lines[1]), json.loads(lines[2])
    assert again == before
    assert before["here"][0] >= 1
    assert int(lines[3]) == before["here"][2] + 1


SMALL_DISK = """
mount -t tmpfs -o size={size} tmpfs {disk}
export PYTHONPATH={home}:{home}/src
cp {base}/* {disk}
cd {disk}
head -c {ballast} /dev/zero > ballast
{python} -m tests.peer.stores {program}
{python} -m tests.peer.stores tell .
rm ballast
{python} -m tests.peer.stores wake .
"""


def in_a_small_disk(folder: Path, size: str, program: str) -> subprocess.Popen[str]:
    """A process whose run is on a disk of its own, which nobody else sees."""
    base, disk = folder / "base", folder / "disk"
    base.mkdir()
    disk.mkdir()
    new_store(base).store.close()
    script = SMALL_DISK.format(
        size=size, disk=disk, base=base, ballast=5 << 20, python=sys.executable,
        program=program, home=Path(__file__).parents[2],
    )  # fmt: skip
    pipe = subprocess.PIPE
    return subprocess.Popen(
        ["unshare", "-m", "sh", "-e", "-c", script],
        stdin=pipe, stdout=pipe, stderr=pipe, text=True,
    )  # fmt: skip


@mounting
def test_a_read_only_disk_is_refused(tmp_path: Path) -> None:
    two_rounds(tmp_path, SMALL)
    before = told_in(tmp_path)
    shell = f"mount --bind {tmp_path} {tmp_path}; mount -o remount,ro,bind {tmp_path}; "
    start = ("unshare", "-m", "sh", "-e", "-c", f'{shell} exec "$@"', "sh")
    (said,) = answer(child(wake, tmp_path, before=start))
    assert re.search(r"cannot be (opened|written|read): ", said)
    assert told_in(tmp_path) == before


@traced
@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        ("fdatasync", "EIO", "disk I/O error"),
        ("pwrite64", "EROFS", "disk I/O error"),
        ("pwrite64", "ENOSPC", "full"),
    ],
)
@pytest.mark.parametrize("width", [SMALL, LARGE])
def test_a_disk_that_breaks_stops_the_run(
    tmp_path: Path, call: str, error: str, words: str, width: int
) -> None:
    """From some call on, every one fails; what was durable before is still there."""
    two_rounds(tmp_path, width)
    inject = f"inject={call}:error={error}:when=30+"
    before = ("strace", "-f", "-o", os.devnull, "-e", f"trace={call}", "-e", inject)
    lines = answer(child(fill, tmp_path, width, before=before))
    kind, sentence, same = json.loads(lines[0])
    assert kind == "RunFailed"
    assert "nothing was sent" in sentence
    assert same
    # What failed may have reached the disk all the same: before or after, never between.
    durable, found = json.loads(lines[1]), told_in(tmp_path)
    assert found["here"][0] - durable["here"][0] in (0, 1)
    with Store(tmp_path) as store:
        frames = {at: store.stored(*at) for at in store.outbox()}
        assert all(whole(frame) for frame in frames.values())
        assert len(frames) % 3 == 0
        assert durable["frames"].items() <= told(store)["frames"].items()


# ------------------------------------------------------------------ what cannot be opened
def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    for kind in (Store, StoreReader):
        with pytest.raises(InputError, match="There is no run in folder"):
            kind(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_refused_run_can_be_opened_later(tmp_path: Path) -> None:
    """Whatever was opened on the way is closed again."""
    two_rounds(tmp_path, SMALL)
    good = (tmp_path / "run.sqlite").read_bytes()
    (tmp_path / "run.sqlite").write_bytes(good[:5000])
    for _ in range(3):
        with pytest.raises(InputError, match="is damaged"):
            Store(tmp_path)
    (tmp_path / "run.sqlite").write_bytes(good)
    with Store(tmp_path) as store:
        assert store.outbox()[-1] == (Slot(0, 2, 1), "dan")
