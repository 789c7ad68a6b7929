"""Sites that accept no connections, by mailboxes, honest and hostile ones."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

import pytest

from dpdl.peer.auditing import audit_run
from dpdl.peer.desk import Desk
from dpdl.peer.directory import Directory
from dpdl.peer.envelope import Seal
from dpdl.peer.failures import Violation
from dpdl.peer.frame import Slot
from dpdl.peer.mailbox_client import Letter
from dpdl.peer.mailbox_request import BoxPath, Item
from dpdl.peer.network import Network
from dpdl.peer.post import FRESH, Post, answer_in, written_answer
from dpdl.peer.pushes import Errands, written_call
from dpdl.peer.wire import Answer, Call
from tests.peer.group import QUICK, Group, free_ports, said_twice
from tests.peer.mailboxes import HostileMailbox, member, web_files
from tests.peer.sites import RUN, Shown

SETTINGS = replace(QUICK, patience=0.5, authorities=web_files().authorities)


def ended_well(group: Group, seconds: float = 60.0) -> None:
    codes = group.wait(seconds)
    assert set(codes.values()) == {0}, [group.log(k) for k in codes]
    assert (group.models() == group.reference()).all()
    for k in range(len(group.ports)):
        assert audit_run(group.home(k), group.run(k)).violations == 0


def mute_group(group, port, mute=("olav", "vita"), **options):
    url = f"https://127.0.0.1:{port}"
    sites = group(3, mailboxes=dict.fromkeys(mute, url), **options)
    sites.settings = SETTINGS
    return sites


@contextmanager
def hosted(sites: Group, port: int) -> Iterator[subprocess.Popen[str]]:
    """`dpdl peer mailbox` in a process of its own."""
    files = web_files()
    cards = [str(sites.home(k).path / "card.toml") for k in range(3)]
    words = ["peer", "mailbox", *cards, "--listen", f"127.0.0.1:{port}"]
    words += ["--folder", str(sites.path / "mail")]
    words += ["--tls-cert", str(files.certificate), "--tls-key", str(files.key)]
    command = [sys.executable, "-m", "dpdl", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as found:
        try:
            assert found.stdout is not None
            assert "Mailbox of mercy, olav, vita at" in found.stdout.readline()
            yield found
        finally:
            found.kill()


@pytest.mark.parametrize(
    "mute",
    [
        ("mercy", "olav", "vita"),
        pytest.param(("olav", "vita"), marks=pytest.mark.slow),
    ],
)
def test_sites_that_accept_no_connections_have_the_bits_of_one_process(group, mute):
    (port,) = free_ports(1)
    sites = mute_group(group, port, mute)
    with hosted(sites, port) as box:
        sites.start_all()
        ended_well(sites)
        box.send_signal(signal.SIGTERM)
        assert box.wait(10) == 0


@pytest.mark.slow
def test_a_mailbox_that_deletes_repeats_and_swaps_only_delays(group):
    hostile = HostileMailbox(loses=0.08)
    with hostile.serving() as url:
        sites = mute_group(group, int(url.rsplit(":", 1)[1]), algorithm="dp-dpsgd")
        sites.start_all()
        ended_well(sites, 120)
    assert set(hostile.deeds) >= {"delete", "repeat", "swap", "replay", "change"}
    assert not said_twice(sites.seen())


@pytest.mark.slow
def test_sites_wait_for_a_mailbox_that_is_away_and_may_be_killed_themselves(group):
    (port,) = free_ports(1)
    sites = mute_group(group, port, rounds=12)
    sites.start_all()
    time.sleep(1.0)
    with ExitStack() as stack:
        for number in (1, 2):
            box = stack.enter_context(hosted(sites, port))
            time.sleep(1.5)
            sites.kill(number)
            box.kill()
            assert box.wait(10) == -signal.SIGKILL
            sites.start(number)
        stack.enter_context(hosted(sites, port))
        ended_well(sites, 120)
        assert not said_twice(sites.seen())


# ------------------------------------------------------------------ two sites in this process
SLOT = Slot(0, 1, 0)
NEVER = 1e-9
"""A mailbox that loses so little is honest, and shows what it holds."""


@dataclass
class Pair:
    """Two sites that only a mailbox connects."""

    box: HostileMailbox
    alder: Network
    birch: Network
    shelf: Shown  # birch's
    troubles: list[str]

    def replay(self, items: list[tuple[str, bytes]]) -> None:
        """Show birch these envelopes, and wait until it has fetched them."""
        held = self.box.held.setdefault(f"{RUN}/birch", [])
        held.extend(items)
        until = time.monotonic() + 10
        while held and time.monotonic() < until:
            time.sleep(0.01)
        assert not held
        assert self.alder.fetch_document("birch", "card", "oak").result(10) is None


@pytest.fixture
def pair() -> Iterator[Pair]:
    alder, birch = member("alder"), member("birch")
    box, shelf = HostileMailbox(loses=NEVER), Shown()
    settings = replace(SETTINGS, long_poll=0.5)
    with box.serving() as url, ExitStack() as stack:
        first = Network(
            RUN, alder.identity(url), [birch.neighbour(url)], Shown(), settings
        )
        second = Network(
            RUN, birch.identity(url), [alder.neighbour(url)], shelf, settings
        )
        found = Pair(box, first, second, shelf, [])
        first.on_trouble = lambda _, sentence: found.troubles.append(sentence)
        stack.enter_context(first)
        stack.enter_context(second)
        yield found


def test_hellos_documents_and_frames_go_by_a_mailbox(pair):
    assert pair.alder.hello("birch", lambda: b"alder").result(10) == b"hello alder"
    pair.alder.send_document("birch", "approval", "alder", b"yes").result(10)
    assert pair.shelf.documents == {("approval", "alder"): b"yes"}
    asked = pair.alder.ask("birch", SLOT, 100_000, lambda: 7)
    time.sleep(0.7)  # longer than a long poll
    pair.shelf.frames[SLOT, "alder"] = bytes(100_000)
    pair.birch.publish()
    assert asked.result(10) == bytes(100_000)
    assert pair.shelf.durable == {"alder": 7}
    assert not pair.troubles


def test_a_mailbox_holds_nothing_that_it_can_read(pair):
    pair.alder.send_document("birch", "approval", "alder", b"a secret").result(10)
    assert pair.box.old
    assert not any(b"secret" in content for _, content in pair.box.old)
    assert not any(b"approval" in content for _, content in pair.box.old)


def test_a_call_that_is_shown_again_is_not_taken(pair):
    pair.alder.send_document("birch", "approval", "alder", b"yes").result(10)
    calls = [one for one in pair.box.old if "/call/" in one[0]]
    pair.shelf.documents.clear()
    pair.replay(calls)
    assert pair.shelf.documents == {}


def test_an_envelope_at_another_place_is_not_taken(pair):
    pair.alder.send_document("birch", "approval", "alder", b"yes").result(10)
    ((item, content),) = (one for one in pair.box.old if "/call/" in one[0])
    pair.shelf.documents.clear()
    moved = [
        (item[:-4] + "beef", content),
        (item.replace("call", "answer"), content),
        (item.replace("alder", "oak"), content),
        (item[:-4] + "dead", b""),
        (item[:-4] + "feed", bytes(100)),
        (item[:-4] + "fade", bytes(1 << 20)),
    ]
    pair.replay(moved)
    assert pair.shelf.documents == {}


def test_an_answer_of_another_call_is_not_taken(pair):
    """Where the mailbox has nothing but old answers to show, the caller waits."""
    assert pair.alder.hello("birch", lambda: b"1").result(10) == b"hello 1"
    (_, old) = next(one for one in pair.box.old if "/answer/" in one[0])
    pair.birch.close()
    asked = pair.alder.hello("birch", lambda: b"2")
    until = time.monotonic() + 10
    while len(pair.box.old) < 3 and time.monotonic() < until:
        time.sleep(0.01)
    number = pair.box.old[-1][0].rsplit("/", 1)[1]
    pair.box.held.setdefault(f"{RUN}/alder", []).append((f"birch/answer/{number}", old))
    time.sleep(0.3)
    assert not asked.done()


def test_a_neighbour_that_is_away_is_named(pair):
    pair.birch.close()
    asked = pair.alder.hello("birch", lambda: b"1")
    until = time.monotonic() + 10
    while not pair.troubles and time.monotonic() < until:
        time.sleep(0.01)
    assert not asked.done()
    assert "birch does not answer what was left at its mailbox" in pair.troubles[0]


def test_an_old_call_is_not_taken_by_a_process_that_has_not_seen_it():
    """A process that is started again knows no numbers, but the time."""
    taken: list[bool] = []

    async def work(late: float) -> None:
        alder, birch = member("alder"), member("birch")
        url, place = (
            "https://127.0.0.1:1",
            BoxPath(RUN, "birch", Item("alder", "call", "0" * 32)),
        )
        seal = Seal.between(
            alder.agreement, birch.agreement.public, RUN, "alder", "birch"
        )
        call = written_call(int(time.time()), Call("PUT", "/v1/nothing"))
        letter = Letter(place.item, seal.closed(place.text, call))
        directory = Directory(birch.identity(url), [alder.neighbour(url)])
        post = Post(
            RUN, directory.me.mailbox, directory, SETTINGS, lambda: time.time() + late
        )
        desk = Desk(RUN, Shown(), Errands(SETTINGS, lambda name: True), SETTINGS)
        taken.append(post.take(letter, desk))
        taken.append(post.take(letter, desk))
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await post.close()

    asyncio.run(work(FRESH - 10))
    assert taken == [True, False]
    asyncio.run(work(FRESH + 10))
    assert taken == [True, False, False, False]


def test_a_frame_of_another_length_is_a_violation(pair):
    pair.shelf.frames[SLOT, "alder"] = b"long"
    with pytest.raises(Violation, match="sent 4 bytes where 3 are expected"):
        pair.alder.ask("birch", SLOT, 3, lambda: 0).result(10)


@pytest.mark.parametrize(
    "answer", [Answer(200, b"a\nb"), Answer(409, b"", "ab"), Answer(204)]
)
def test_an_answer_is_read_as_it_was_written(answer):
    assert answer_in(written_answer(answer)) == answer


@pytest.mark.parametrize(
    "content", [b"", b"{}\n", b"[200]\n", b'["200",null]\n', b"[1,2]\n"]
)
def test_what_is_no_answer_is_none(content):
    assert answer_in(content) is None
