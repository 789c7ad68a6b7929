"""Faults that peers must survive, or refuse: real processes, sockets and files."""

from __future__ import annotations

import errno
import json
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from dpdl.folder.data_ledger import DataLedger
from dpdl.folder.data_ledger_entries import Debited
from dpdl.peer.auditing import audit_run
from dpdl.peer.frame import DOMAIN, FrameHead, Slot
from dpdl.peer.keys import verify
from dpdl.peer.store_reader import StoreReader
from tests.peer.group import Group, Hardship, free_ports, said_twice
from tests.peer.mounts import Disk, disk_at
from tests.peer.neighbour import Neighbourly
from tests.peer.relay import BACK, Relay

FIRST = Slot(0, 1, 0)


# ------------------------------------------------------------------ what is looked at
def until(condition: Callable[[], object], seconds: float = 40.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def begun(group: Group, number: int) -> int:
    """The round that a site has begun."""
    folder = group.run(number).path
    if not (folder / "run.sqlite").exists():
        return 0
    with StoreReader(folder) as store:
        return store.here.round


def standing(group: Group, number: int) -> tuple[object, ...]:
    """All that must not change when something is refused, starts and the log aside."""
    with StoreReader(group.run(number).path) as store:
        here = store.here._replace(incarnation=0)
        pins = [store.last_pin(name) for name in group.manifest.names]
        return here, store.state(), store.outbox(), pins


def debits(group: Group, number: int) -> set[int]:
    """The rounds that the ledger of a site has as spent."""
    with DataLedger.open(group.home(number).ledger_path("digits")) as ledger:
        return {one.round for one in ledger.entries() if isinstance(one, Debited)}


def nothing_unpaid(group: Group) -> None:
    """Whatever arrived anywhere was paid for, and there was one frame for each slot."""
    seen = group.seen()
    assert seen
    assert said_twice(seen) == []
    for number, name in enumerate(group.manifest.names):
        left = {one.round for one in seen if one.source == name}
        assert left <= debits(group, number)


def same_bits(group: Group, seconds: float = 60.0) -> None:
    codes = group.wait(seconds)
    assert set(codes.values()) == {0}, [group.log(k) for k in codes]
    assert (group.models() == group.reference()).all()
    nothing_unpaid(group)


# ------------------------------------------------------------------ 4: links
@pytest.mark.slow
def test_links_that_are_cut_one_way_slow_or_broken_heal_with_the_same_bits(group):
    ports = free_ports(3)
    with Relay(ports[0]) as a, Relay(ports[1], delay=0.01) as b, Relay(ports[2]) as c:
        relays = (a, b, c)
        public = [relay.port for relay in relays]
        sites = group(3, rounds=20, ports=ports, public_ports=public)
        sites.start_all()
        until(lambda: begun(sites, 0) >= 3)
        a.cut()
        time.sleep(0.3)
        stuck = begun(sites, 1)
        time.sleep(0.5)
        assert begun(sites, 1) <= stuck + 1, "the others wait"
        a.heal()
        b.cut(BACK)
        time.sleep(0.3)
        b.heal()
        for relay in relays:
            relay.halve()
            time.sleep(0.1)
            relay.drop()
        same_bits(sites)
        assert all(relay.passed[BACK] > 0 for relay in relays)


# ------------------------------------------------------------------ 5: old and doubled state
def test_old_databases_second_instances_and_lost_secrets_are_refused(group, tmp_path):
    sites = group(3, rounds=25)
    folder = sites.run(0).path
    ledger = sites.home(0).ledger_path("digits")
    sites.start_all()
    until(lambda: begun(sites, 0) >= 3)
    sites.send(2, signal.SIGSTOP)  # so that no round ends meanwhile
    refused_beside_the_first(sites)
    sites.kill(0)
    shutil.copytree(sites.path / "mercy", tmp_path / "copy")
    shutil.copytree(ledger, tmp_path / "ledger")
    sites.start(0)
    sites.send(2, signal.SIGCONT)
    until(lambda: begun(sites, 0) >= begun_in(tmp_path / "copy", sites) + 3)
    sites.send(2, signal.SIGSTOP)
    refused_from_a_copy(sites, tmp_path)
    sites.kill(0)
    sites.send(2, signal.SIGCONT)
    shutil.move(folder, tmp_path / "true")
    shutil.copytree(ledger, tmp_path / "true-ledger")
    refused_from_a_backup(sites, tmp_path)
    shutil.rmtree(folder)
    shutil.move(tmp_path / "true", folder)
    shutil.rmtree(ledger)
    shutil.move(tmp_path / "true-ledger", ledger)
    sites.start(0)
    assert sites.ended(0) == 3, sites.log(0)
    assert "copied back" in last_words(sites), "the backup has started as often"
    refused_without_secrets(sites)
    sites.start(0)
    same_bits(sites)


def last_words(sites: Group) -> str:
    return sites.log(0).splitlines()[-1]


def begun_in(home, sites: Group) -> int:
    with StoreReader(home / "runs" / sites.run(0).path.name) as store:
        return store.here.round


def refused_beside_the_first(sites: Group) -> None:
    """Two processes on one folder."""
    second = sites.another(0, hardship=Hardship(port=free_ports(1)[0]))
    second.join(30)
    assert second.exitcode == 2, sites.log(0)
    assert "is already running; end that process first" in sites.log(0)


def refused_from_a_copy(sites: Group, tmp_path) -> None:
    """A second process from a copy of the whole home, while the first runs."""
    before = standing_in(tmp_path / "copy", sites)
    hardship = Hardship(home=tmp_path / "copy", port=free_ports(1)[0])
    second = sites.another(0, hardship=hardship)
    second.join(30)
    assert second.exitcode == 3, sites.log(0)
    assert "is older than what was sent" in last_words(sites)
    assert standing_in(tmp_path / "copy", sites) == before, "nothing was committed"


def standing_in(home, sites: Group) -> tuple[object, ...]:
    with StoreReader(home / "runs" / sites.run(0).path.name) as store:
        return store.here._replace(incarnation=0), store.state(), store.outbox()


def refused_from_a_backup(sites: Group, tmp_path) -> None:
    """Database, secrets and ledger of some rounds ago, as if a disk had been restored."""
    folder = sites.run(0).path
    ledger = sites.home(0).ledger_path("digits")
    shutil.copytree(tmp_path / "copy" / "runs" / folder.name, folder)
    shutil.rmtree(ledger)
    shutil.copytree(tmp_path / "ledger", ledger)
    before = standing(sites, 0)
    left = {one.round for one in sites.seen() if one.source == "mercy"}
    assert not left <= debits(sites, 0), "the old ledger knows less than what left"
    sites.start(0)
    assert sites.ended(0) == 3, sites.log(0)
    assert standing(sites, 0) == before, "nothing was committed"
    assert "older than what was sent" in last_words(sites), "the first start says so"
    pinned = max(last_of_mercy(sites, k) for k in (1, 2))
    assert set(range(1, pinned + 1)) <= debits(sites, 0)


def last_of_mercy(sites: Group, number: int) -> int:
    with StoreReader(sites.run(number).path) as store:
        pin = store.last_pin("mercy")
        return 0 if pin is None else pin.slot.round


def refused_without_secrets(sites: Group) -> None:
    """`round.key` is gone, or torn."""
    key = sites.run(0).round_key
    content = key.read_bytes()
    before = standing(sites, 0)
    for damaged, said in ((None, "cannot be opened"), (content[:100], "is damaged")):
        key.unlink(missing_ok=True)
        if damaged is not None:
            key.write_bytes(damaged)
            key.chmod(0o600)
        sites.start(0)
        assert sites.ended(0) == 2, sites.log(0)
        assert said in last_words(sites)
        assert "--nobody" in last_words(sites)
        assert standing(sites, 0) == before
    key.write_bytes(content)


# ------------------------------------------------------------------ 6: disks
DISKS = (
    Hardship(failing=("outbox:inside", 3, errno.ENOSPC)),
    Hardship(failing=("outbox:inside", 2, errno.EIO)),
    Hardship(failing=("begin:inside", 1, errno.EROFS)),
    Hardship(largest_file=4096),  # neither ledger nor database
    Hardship(largest_file=1 << 18),
)


@pytest.mark.slow
def test_a_disk_that_fails_stops_a_peer_before_anything_leaves(group):
    sites = group(3, rounds=12)
    for number in (1, 2):
        sites.start(number)
    for hardship in DISKS:
        sites.start(0, hardship=hardship)
        code = sites.ended(0)
        assert code in (2, 4), (hardship, sites.log(0))
        last = last_words(sites)
        assert last.startswith(("RunFailed: ", "InputError: ")), last
    sites.start(0)
    same_bits(sites)
    assert audit_run(sites.home(0), sites.run(0)).problems == ()


def test_a_real_disk_that_is_read_only_or_full_stops_a_peer_before_anything_leaves(
    group,
):
    """The same at a mounted file system: the run's folder is on it, the ledger is not."""
    sites = group(3, rounds=12)
    with disk_at(sites.path / "mercy", 8) as disk:
        sites.start_all()
        until(lambda: begun(sites, 0) >= 3)
        disk.fill()  # while it runs
        assert sites.ended(0) == 4, sites.log(0)
        assert says_why(sites, "disk is full", "No space left on device")
        disk.clear()
        refused_while(sites, disk)
        sites.start(0)
        same_bits(sites)
        assert audit_run(sites.home(0), sites.run(0)).problems == ()
        assert "Traceback" not in sites.log(0)


def test_a_peer_that_cannot_write_who_has_come_back_tells_it_and_ends(group):
    """It waits in a round; what fails is in the thread of the network, which serves the others."""
    sites = group(2, graph="complete", rounds=200)
    with disk_at(sites.path / "mercy", 8) as disk:
        sites.start_all()
        until(lambda: begun(sites, 0) >= 3)
        sites.kill(1)
        disk.fill()
        sites.start(1)  # its hello has to be remembered
        assert sites.ended(0) == 4, sites.log(0)
        assert says_why(sites, "disk is full", "No space left on device")
        assert "Traceback" not in sites.log(0)
        disk.clear()
        sites.start(0)
        until(lambda: begun(sites, 0) >= begun(sites, 1) > 4)
        nothing_unpaid(sites)


def refused_while(sites: Group, disk: Disk) -> None:
    """Starts on a file system that cannot be written change nothing, and say why."""
    before, arrived = standing(sites, 0), said_by_mercy(sites)
    disk.read_only(True)
    sites.start(0)
    assert sites.ended(0) in (2, 4), sites.log(0)
    disk.read_only(False)
    assert says_why(sites, "neither full nor read-only")
    disk.fill()
    sites.start(0)
    assert sites.ended(0) in (2, 4), sites.log(0)
    disk.clear()
    assert says_why(sites, "neither full nor read-only", "database or disk is full")
    assert standing(sites, 0) == before, "nothing was committed"
    assert said_by_mercy(sites) == arrived, "and nothing new was sent"


def says_why(sites: Group, *words: str) -> bool:
    last = last_words(sites)
    assert last.startswith(("RunFailed: ", "InputError: ")), last
    assert any(word in last for word in words), last
    return True


def said_by_mercy(sites: Group) -> set[tuple[object, ...]]:
    return {one.slot for one in sites.seen() if one.source == "mercy"}


# ------------------------------------------------------------------ 9, 10: neighbours
def crafted(**changed: object) -> Callable[[Neighbourly, Slot, FrameHead], bytes]:
    """An answer that is honest but for these fields of its header."""

    def answer(me: Neighbourly, slot: Slot, head: FrameHead) -> bytes:
        return me.honest(slot, replace(head, **changed))

    return answer


def not_finite(me: Neighbourly, slot: Slot, head: FrameHead) -> bytes:
    return me.honest(slot, head, float("nan"))


def other_shape(me: Neighbourly, slot: Slot, head: FrameHead) -> bytes:
    return me.honest(slot, replace(head, shape=(*head.shape[:-1], head.shape[-1] + 1)))


def unsigned(me: Neighbourly, slot: Slot, head: FrameHead) -> bytes:
    content = bytearray(me.honest(slot, head))
    content[-head.payload_bytes - 1] ^= 1
    return bytes(content)


def replayed(me: Neighbourly, slot: Slot, head: FrameHead) -> bytes:
    """In round 2, the frame of round 1."""
    return me.honest(slot, replace(head, round=1))


def honest(me: Neighbourly, slot: Slot, head: FrameHead) -> bytes:
    return me.honest(slot, head)


CRAFTED = (
    (not_finite, "not finite"),
    (other_shape, "bytes where"),
    (unsigned, "not signed with its key"),
    (crafted(round=2), "round 2 where 1"),
    (crafted(run="cd" * 32), "not signed with its key"),  # signed, but not sent
    (crafted(view=1), "view 1 where 0"),
    (crafted(source="vita"), "not signed with its key"),
    (crafted(target="vita"), "not signed with its key"),
    (crafted(step=1), "step 1 where 0"),
)


def violated(sites: Group) -> list[str]:
    with StoreReader(sites.run(0).path) as store:
        return [one.text for one in store.events() if one.kind == "violation"]


@pytest.mark.slow
def test_crafted_frames_under_a_valid_key_change_nothing_and_are_evidence(group):
    sites = group(2, graph="complete", rounds=5)
    with Neighbourly(sites) as olav:
        sites.start(0)
        until(lambda: olav.sent(FIRST))
        sites.kill(0)
        before = standing(sites, 0)
        for number, (answer, said) in enumerate(CRAFTED, 1):
            olav.answer = answer
            sites.start(0)
            assert sites.ended(0) == 4, sites.log(0)
            assert said in last_words(sites)
            assert "Peer olav" in last_words(sites)
            assert standing(sites, 0) == before, said
            evidence = violated(sites)
            assert len(evidence) == number
            assert said in evidence[-1]
        replays_and_equivocation_are_refused(sites, olav)
    nothing_twice_from_mercy(sites)


def replays_and_equivocation_are_refused(sites: Group, olav: Neighbourly) -> None:
    """A frame of the round before; and, across a restart, another frame than before."""

    def stale(me: Neighbourly, slot: Slot, head: FrameHead) -> bytes:
        return replayed(me, slot, head) if slot.round == 2 else honest(me, slot, head)

    olav.answer = stale
    sites.start(0)
    assert sites.ended(0) == 4, sites.log(0)
    assert "round 1 where 2" in last_words(sites)
    before = standing(sites, 0)

    def second(me: Neighbourly, slot: Slot, head: FrameHead) -> bytes | None:
        return None if slot.step else me.honest(slot, head, 1.0)

    olav.answer = lambda me, slot, head: None if slot.step else honest(me, slot, head)
    sites.start(0)
    until(lambda: olav.sent(Slot(0, 2, 1)))  # what olav sent in step 0 is pinned
    sites.kill(0)
    before = standing(sites, 0)
    olav.answer = second
    sites.start(0)
    assert sites.ended(0) == 4, sites.log(0)
    assert "signed two different frames for round 2, step 0" in sites.log(0)
    assert standing(sites, 0) == before, "nothing was sent"
    both = json.loads(violated(sites)[-1].partition(": ")[2])
    assert len({json.loads(one["header"])["sha256"] for one in both}) == 2
    public = sites.home(1).signing.public
    for one in both:
        signature = bytes.fromhex(one["signature"])
        assert verify(public, DOMAIN + one["header"].encode(), signature)


def nothing_twice_from_mercy(sites: Group) -> None:
    """The auditor at mercy saw both frames that olav signed for one slot."""
    assert {one.source for one in said_twice(sites.seen())} == {"olav"}
