"""Networks of real sites: TLS over the loopback interface, one thread each."""

from __future__ import annotations

import threading
import time
from concurrent.futures import CancelledError, wait
from dataclasses import replace

import pytest

from dpdl.errors import InputError
from dpdl.peer.asking import OtherManifest
from dpdl.peer.failures import Refused, SecondInstance, ViewOver, Violation
from dpdl.peer.frame import Slot
from dpdl.peer.network import Network
from tests.peer.relay import BACK, Relay
from tests.peer.sites import (
    LOOPBACK,
    QUICK,
    RUN,
    Shown,
    identity,
    neighbour,
    sites,
    started,
)

SLOT = Slot(0, 3, 1)
WAIT = 10.0
MUTES = pytest.mark.parametrize(
    "mute", [(), ("alder",), ("birch",)], ids=["both", "out only", "in only"]
)
"""Both have an address; who asks has none; who is asked has none."""


def until(condition, seconds: float = WAIT) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


# ------------------------------------------------------------------ frames
@MUTES
def test_a_frame_that_is_there_is_fetched(mute):
    with sites("alder", "birch", mute=mute) as (alder, birch):
        birch.show(SLOT, "alder", b"frame")
        found = alder.network.ask("birch", SLOT, 5, lambda: 2)
        assert found.result(WAIT) == b"frame"
        assert birch.shelf.durable == {"alder": 2}


@MUTES
def test_a_frame_is_waited_for_over_several_polls(mute):
    with sites("alder", "birch", mute=mute) as (alder, birch):
        found = alder.network.ask("birch", SLOT, 5, lambda: 2)
        time.sleep(2.5 * QUICK.long_poll)
        assert not found.done()
        birch.show(SLOT, "alder", b"frame")
        assert found.result(WAIT) == b"frame"
        assert alder.troubles == []


@MUTES
def test_four_megabytes_arrive_whole(mute):
    content = bytes(range(256)) * (1 << 14)
    with sites("alder", "birch", mute=mute) as (alder, birch):
        birch.show(SLOT, "alder", content)
        found = alder.network.ask("birch", SLOT, len(content), lambda: 2)
        assert found.result(WAIT) == content


@MUTES
def test_both_directions_go_on_for_many_rounds(mute):
    with sites("alder", "birch", mute=mute) as pair:
        for round in range(1, 30):
            slot = Slot(0, round, 0)
            asked = [
                one.network.ask(two.name, slot, 5, lambda: 0)
                for one, two in (pair, pair[::-1])
            ]
            for one, two in (pair, pair[::-1]):
                one.show(slot, two.name, f"{round:5}".encode())
            for future in asked:
                assert future.result(WAIT) == f"{round:5}".encode()
        assert [site.troubles for site in pair] == [[], []]


def test_who_asks_twice_gets_the_same_future():
    with sites("alder", "birch") as (alder, birch):
        first = alder.network.ask("birch", SLOT, 5, lambda: 2)
        assert alder.network.ask("birch", SLOT, 5, lambda: 2) is first
        birch.show(SLOT, "alder", b"frame")
        assert first.result(WAIT) == b"frame"
        assert alder.network.ask("birch", SLOT, 5, lambda: 2) is not first


def test_a_cancelled_ask_is_forgotten_and_can_be_made_again():
    with sites("alder", "birch") as (alder, birch):
        assert alder.network.ask("birch", SLOT, 5, lambda: 2).cancel()
        birch.show(SLOT, "alder", b"frame")
        again = alder.network.ask("birch", SLOT, 5, lambda: 2)
        assert again.result(WAIT) == b"frame"


@MUTES
def test_a_view_that_is_over_ends_asks(mute):
    with sites("alder", "birch", mute=mute) as (alder, birch):
        found = alder.network.ask("birch", SLOT, 5, lambda: 2)
        birch.shelf.ended[0] = b"statements"
        birch.network.publish()
        with pytest.raises(ViewOver, match="birch says that the members go on"):
            found.result(WAIT)


@MUTES
def test_a_frame_of_another_length_is_a_violation_that_names_the_site(mute):
    with sites("alder", "birch", mute=mute) as (alder, birch):
        birch.show(SLOT, "alder", b"a longer frame")
        found = alder.network.ask("birch", SLOT, 5, lambda: 2)
        with pytest.raises(Violation, match="birch") as caught:
            found.result(WAIT)
        assert caught.value.name == "birch"


# ------------------------------------------------------------------ hello and documents
@MUTES
def test_hello_is_answered_by_the_shelf(mute):
    with sites("alder", "birch", mute=mute) as (alder, birch):
        birch.shelf.greet = lambda name, content: name.encode() + b" said " + content
        found = alder.network.hello("birch", lambda: b"hello")
        assert found.result(WAIT) == b"alder said hello"


@MUTES
@pytest.mark.parametrize(
    ("status", "kind"), [(409, Violation), (423, SecondInstance)], ids=str
)
def test_a_refused_hello_comes_back_with_the_sentence(mute, status, kind):
    def refuse(name: str, content: bytes) -> bytes:
        raise Refused(status, "Your incarnation is old.")

    with sites("alder", "birch", mute=mute) as (alder, birch):
        birch.shelf.greet = refuse
        with pytest.raises(kind, match=r"birch.*Your incarnation is old"):
            alder.network.hello("birch", lambda: b"hello").result(WAIT)


def test_a_site_that_cannot_answer_now_is_greeted_again():
    attempts = []

    def greet(name: str, content: bytes) -> bytes:
        attempts.append(content)
        if len(attempts) < 3:
            raise Refused(503, "birch has stopped.")
        return b"hello"

    with sites("alder", "birch") as (alder, birch):
        birch.shelf.greet = greet
        counted = iter(range(10))
        found = alder.network.hello("birch", lambda: b"%d" % next(counted))
        assert found.result(WAIT) == b"hello"
        assert attempts == [b"0", b"1", b"2"]
        assert ("birch", "birch answers 503: birch has stopped.") in alder.troubles
        assert alder.troubles[-1] == ("birch", "")


@MUTES
def test_documents_are_handed_over_and_fetched(mute):
    with sites("alder", "birch", mute=mute) as (alder, birch):
        alder.network.send_document("birch", "card", "cedar", b"card").result(WAIT)
        assert birch.shelf.documents == {("card", "cedar"): b"card"}
        found = alder.network.fetch_document("birch", "card", "cedar")
        assert found.result(WAIT) == b"card"
        missing = alder.network.fetch_document("birch", "approval", "cedar")
        assert missing.result(WAIT) is None


def test_a_refused_document_comes_back_with_the_sentence():
    with sites("alder", "birch") as (alder, _):
        sent = alder.network.send_document("birch", "card", "cedar", b"wrong")
        with pytest.raises(Violation, match="The card of cedar from alder is wrong"):
            sent.result(WAIT)


def test_a_document_of_64_kilobytes_is_taken_and_a_longer_one_is_not():
    with sites("alder", "birch") as (alder, _):
        most = bytes(65536)
        alder.network.send_document("birch", "card", "cedar", most).result(WAIT)
        found = alder.network.fetch_document("birch", "card", "cedar")
        assert found.result(WAIT) == most
        sent = alder.network.send_document("birch", "card", "cedar", most + b"x")
        with pytest.raises(Violation, match="413"):
            sent.result(WAIT)


def test_who_runs_another_manifest_is_told_which_one():
    other = "cd" * 32
    birch = started("birch", ["alder"], run=other)
    alder = started("alder", ["birch"])
    try:
        alder.network.locate("birch", birch.url)
        with pytest.raises(OtherManifest, match="cdcdcdcdcdcd") as caught:
            alder.network.hello("birch", lambda: b"hello").result(WAIT)
        assert caught.value.run == other
        alder.shelf.documents["manifest", RUN] = b"[privacy]\nsigma = 1"
        birch.shelf.documents["manifest", other] = b"[privacy]\nsigma = 2"
        with pytest.raises(OtherManifest, match=r"they differ in privacy\.sigma;"):
            alder.network.hello("birch", lambda: b"hello").result(WAIT)
        birch.shelf.documents["manifest", "birch"] = b"theirs"
        found = alder.network.fetch_document("birch", "manifest", "birch", run=other)
        assert found.result(WAIT) == b"theirs"
    finally:
        alder.network.close()
        birch.network.close()


# ------------------------------------------------------------------ life
def test_closing_ends_the_thread_and_what_is_asked_for():
    before = threading.active_count()
    with sites("alder", "birch") as (alder, birch):
        found = alder.network.ask("birch", SLOT, 5, lambda: 2)
        assert birch.shelf.heard_from.wait(WAIT)
    with pytest.raises(CancelledError):
        found.result(WAIT)
    assert threading.active_count() == before
    assert alder.network.ask("birch", SLOT, 5, lambda: 2).cancelled()
    alder.network.publish()
    alder.network.close()


def test_closing_is_quick_when_neighbours_hang():
    with sites("alder", "birch") as (alder, birch), Relay(birch.network.port) as relay:
        alder.network.locate("birch", f"https://{LOOPBACK}:{relay.port}")
        birch.show(SLOT, "alder", b"frame")
        alder.network.ask("birch", SLOT, 5, lambda: 2).result(WAIT)
        relay.cut()
        waiting = [
            alder.network.ask("birch", Slot(0, 3, step), 5, lambda: 2)
            for step in range(2, 9)
        ]
        assert not wait(waiting, 0.1).done
        begun = time.monotonic()
        alder.network.close()
        birch.network.close()
        assert time.monotonic() - begun < 1.0
        assert all(future.cancelled() for future in waiting)


def test_closing_before_the_start_and_twice_does_nothing():
    network = Network(RUN, identity("alder"), [neighbour("birch")], Shown(), QUICK)
    network.close()
    network.start()
    network.close()
    network.close()


def test_a_port_in_use_is_said_in_one_sentence():
    with sites("alder") as (alder,):
        taken = replace(QUICK, port=alder.network.port)
        network = Network(RUN, identity("birch"), [], Shown(), taken)
        with pytest.raises(InputError, match=f"{LOOPBACK}:{alder.network.port}.*use"):
            network.start()
        network.close()


def test_a_site_without_an_address_listens_nowhere():
    with sites("alder", mute=("alder",)) as (alder,):
        assert alder.network.port == 0


# ------------------------------------------------------------------ what goes wrong between sites
def test_a_neighbour_that_starts_later_is_waited_for_and_the_trouble_is_named():
    with sites("alder", "birch") as (alder, birch):
        port = birch.network.port
        birch.network.close()
        found = alder.network.ask("birch", SLOT, 5, lambda: 2)
        until(lambda: alder.network.since("birch") is not None)
        trouble = alder.network.since("birch")
        assert trouble.sentence.startswith("Nothing listens at https://127.0.0.1:")
        assert abs(trouble.since - time.time()) < 5
        again = started("birch", ["alder"], replace(QUICK, port=port))
        try:
            again.show(SLOT, "alder", b"frame")
            assert found.result(WAIT) == b"frame"
            assert alder.network.since("birch") is None
            assert alder.troubles[-1] == ("birch", "")
        finally:
            again.network.close()


@MUTES
def test_a_broken_connection_does_not_lose_a_frame(mute):
    content = bytes(1 << 20)
    with sites("alder", "birch", mute=mute) as (alder, birch):
        server, client = (alder, birch) if mute == ("birch",) else (birch, alder)
        with Relay(server.network.port) as relay:
            client.network.locate(server.name, f"https://{LOOPBACK}:{relay.port}")
            birch.show(SLOT, "alder", content)
            found = alder.network.ask("birch", SLOT, len(content), lambda: 2)
            assert found.result(WAIT) == content
            later = Slot(0, 3, 2)
            for step in range(2, 8):
                later = Slot(0, 3, step)
                found = alder.network.ask("birch", later, len(content), lambda: 2)
                if step % 2:
                    relay.halve()
                else:
                    relay.drop()
                birch.show(later, "alder", content)
                assert found.result(WAIT) == content


@MUTES
@pytest.mark.parametrize("way", [None, BACK], ids=["both ways", "one way"])
def test_a_cut_link_heals(mute, way):
    with sites("alder", "birch", mute=mute) as (alder, birch):
        server, client = (alder, birch) if mute == ("birch",) else (birch, alder)
        with Relay(server.network.port) as relay:
            client.network.locate(server.name, f"https://{LOOPBACK}:{relay.port}")
            birch.show(SLOT, "alder", b"frame")
            alder.network.ask("birch", SLOT, 5, lambda: 2).result(WAIT)
            relay.cut(way)
            later = Slot(0, 3, 2)
            found = alder.network.ask("birch", later, 5, lambda: 2)
            birch.show(later, "alder", b"later")
            assert not wait([found], 0.3).done
            relay.heal()
            assert found.result(WAIT) == b"later"


@MUTES
def test_a_restarted_neighbour_is_served_and_asked_again(mute):
    with sites("alder", "birch", mute=mute) as (alder, birch):
        port = birch.network.port
        found = alder.network.ask("birch", SLOT, 5, lambda: 2)
        time.sleep(0.1)
        birch.network.close()
        url = None if mute == ("birch",) else f"https://{LOOPBACK}"
        urls = {} if mute == ("alder",) else {"alder": alder.url}
        again = started("birch", ["alder"], replace(QUICK, port=port), url, urls=urls)
        try:
            again.show(SLOT, "alder", b"frame")
            assert found.result(WAIT) == b"frame"
            back = again.network.ask("alder", SLOT, 5, lambda: 2)
            alder.show(SLOT, "birch", b"other")
            assert back.result(WAIT) == b"other"
        finally:
            again.network.close()


def test_two_sites_without_addresses_are_told_that_they_need_a_mailbox():
    with sites("alder", "birch", mute=("alder", "birch")) as (alder, _):
        alder.network.ask("birch", SLOT, 5, lambda: 2)
        until(lambda: alder.troubles)
        assert alder.troubles == [
            ("birch", "Neither birch nor this site accepts connections: they need a mailbox.")
        ]  # fmt: skip


def test_a_neighbour_that_calls_is_asked_at_once_however_long_the_pause():
    patient = replace(QUICK, first_pause=0.2, longest_pause=60.0)
    with sites("alder", "birch", settings=patient) as (alder, birch):
        alder.network.locate("birch", f"https://{LOOPBACK}:1")
        found = alder.network.ask("birch", SLOT, 5, lambda: 2)
        time.sleep(1.5)  # pauses of 0.2, 0.4 and 0.8 s; the next takes 1.6 s
        alder.network.locate("birch", birch.url)
        birch.show(SLOT, "alder", b"frame")
        begun = time.monotonic()
        birch.network.hello("alder", lambda: b"hello").result(WAIT)
        assert found.result(WAIT) == b"frame"
        assert time.monotonic() - begun < 1.0
