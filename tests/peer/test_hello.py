from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from dpdl.peer.failures import (
    Doubled,
    LedgerRollback,
    Rollback,
    SecondInstance,
    Violation,
)
from dpdl.peer.hello import Greeter, Hello
from dpdl.peer.signed import signed_text
from dpdl.transport import Address
from tests.peer.posts import KEYS, NAMES, RUN, Heads, Wires, peers_of, stores_in

PUBLIC = {name: key.public for name, key in KEYS.items()}
LIKE = torch.zeros(1, 4)
LEDGER = Heads()


@pytest.fixture
def stores(tmp_path):
    found = stores_in(tmp_path)
    for store in found.values():
        store.begin(1, b"state 0", 0)
    yield found
    for store in found.values():
        store.close()


def greeter(
    stores,
    name: str,
    incarnation: int = 1,
    nonce: str = "aa",
    ledger: Heads = LEDGER,
) -> Greeter:
    store = stores[name]
    found = Greeter(
        RUN,
        name,
        KEYS[name],
        PUBLIC,
        store,
        incarnation,
        nonce,
        ledger,
        lambda: store.here.done,
    )
    found.heard.set()
    return found


def exchanged(stores) -> None:
    """olav has a frame of mercy, durably."""
    mercy = peers_of("mercy", stores, Wires("mercy", stores))
    mercy.swap(Address(1, "model", 0), {1: torch.ones(1, 4)}, {}, LIKE)
    olav = peers_of("olav", stores, Wires("olav", stores))
    olav.swap(Address(1, "model", 0), {}, {0: 1}, LIKE)
    olav.swap(Address(1, "next", 1), {0: torch.ones(1, 4)}, {}, LIKE)


def test_a_hello_is_understood(stores):
    said = greeter(stores, "mercy").judged(
        "olav", greeter(stores, "olav").text_for("mercy")
    )
    assert (said.source, said.target, said.have) == ("olav", "mercy", 0)
    assert said.header is None


def test_a_neighbour_shows_my_last_frame_and_i_know_it(stores):
    exchanged(stores)
    text = greeter(stores, "olav").text_for("mercy")
    said = greeter(stores, "mercy").judged("olav", text)
    assert said.header is not None
    assert '"round":1' in said.header


def test_a_database_that_is_older_than_what_was_sent_is_noticed(stores, tmp_path):
    exchanged(stores)
    text = greeter(stores, "olav").text_for("mercy")
    (tmp_path / "copy").mkdir()
    old = stores_in(tmp_path / "copy")
    try:
        with pytest.raises(Rollback, match="olav has a frame of round 1") as failure:
            greeter(old, "mercy").judged("olav", text)
        assert failure.value.round == 1
        for store in old.values():
            store.begin(1, b"state 0", 0)
        with pytest.raises(Rollback):  # the round has begun, its frame is not there
            greeter(old, "mercy").judged("olav", text)
    finally:
        for store in old.values():
            store.close()


def test_a_frame_that_a_neighbour_waits_with_is_shown_as_well(stores, tmp_path):
    """olav has it, and waits for somebody else: nothing of it is in its database yet."""
    mercy = peers_of("mercy", stores, Wires("mercy", stores))
    mercy.swap(Address(1, "model", 0), {1: torch.ones(1, 4)}, {}, LIKE)
    olav = peers_of("olav", stores, Wires("olav", stores))
    olav.swap(Address(1, "model", 0), {}, {0: 1}, LIKE)
    text = greeter(stores, "olav").text_for("mercy")
    greeter(stores, "mercy").judged("olav", text)
    (tmp_path / "copy").mkdir()
    old = stores_in(tmp_path / "copy")
    try:
        with pytest.raises(Rollback, match="olav has a frame of round 1"):
            greeter(old, "mercy").judged("olav", text)
    finally:
        for store in old.values():
            store.close()


def test_another_frame_in_the_same_place_is_noticed(stores, tmp_path):
    exchanged(stores)
    text = greeter(stores, "olav").text_for("mercy")
    (tmp_path / "copy").mkdir()
    old = stores_in(tmp_path / "copy")
    try:
        old["mercy"].begin(1, b"state 0", 0)
        mercy = peers_of("mercy", old, Wires("mercy", old))
        mercy.swap(Address(1, "model", 0), {1: torch.zeros(1, 4)}, {}, LIKE)
        with pytest.raises(Rollback):
            greeter(old, "mercy").judged("olav", text)
    finally:
        for store in old.values():
            store.close()


def test_a_second_process_under_a_name_is_noticed(stores):
    mercy = greeter(stores, "mercy")
    mercy.judged("olav", greeter(stores, "olav", 5, "aa").text_for("mercy"))
    mercy.judged("olav", greeter(stores, "olav", 5, "aa").text_for("mercy"))
    with pytest.raises(SecondInstance, match="Two processes run as olav"):
        mercy.judged("olav", greeter(stores, "olav", 5, "bb").text_for("mercy"))
    with pytest.raises(SecondInstance):
        mercy.judged("olav", greeter(stores, "olav", 4, "cc").text_for("mercy"))
    mercy.judged("olav", greeter(stores, "olav", 6, "dd").text_for("mercy"))


HEADS = [f"{k:02x}" * 32 for k in range(1, 20)]


def told(stores, incarnation: int, *heads: str) -> bytes:
    """mercy starts and says hello to olav; what olav says to it afterwards."""
    mercy = greeter(stores, "mercy", incarnation, f"{incarnation}", Heads(*heads))
    olav = greeter(stores, "olav")
    olav.judged("mercy", mercy.text_for("olav"))
    return olav.text_for("mercy")


def test_a_ledger_that_is_older_than_what_was_told_of_it_is_noticed(stores):
    unheard = greeter(stores, "mercy", 1, "1", Heads("ff" * 32))
    unheard.heard.clear()  # it may still find out that its ledger is old
    greeter(stores, "olav").judged("mercy", unheard.text_for("olav"))
    text = told(stores, 1, *HEADS[:3])
    later = greeter(stores, "mercy", 2, "bb", Heads(*HEADS[:5]))
    assert later.judged("olav", text).heads[0].startswith(HEADS[2])
    old = greeter(stores, "mercy", 2, "bb", Heads(*HEADS[:2]))
    with pytest.raises(LedgerRollback, match="older than what olav was told") as raised:
        old.judged("olav", text)
    assert raised.value.exit_code == 3
    assert f"dpdl peer drop {RUN[:12]} mercy" in str(raised.value)


def test_an_old_ledger_that_has_grown_another_way_is_noticed_at_every_start(stores):
    told(stores, 1, *HEADS[:3])
    grown = (*HEADS[:2], HEADS[10])
    for incarnation in range(2, 20):
        text = told(stores, incarnation, *grown)
        again = greeter(stores, "mercy", incarnation, "bb", Heads(*grown))
        with pytest.raises(LedgerRollback):
            again.judged("olav", text)
    for k in range(20, 40):
        text = told(stores, k, *HEADS[:3], *HEADS[k - 16 : k - 14])
    heads = greeter(stores, "mercy").parsed("olav", text).heads
    assert len(heads) == 8, "it does not grow for ever"


@pytest.mark.parametrize(
    "changed",
    [
        {"ledger": "ab" * 20000},
        {"ledger": "ab " * 64},
        {"nonce": "a" * 60000},
        {"nonce": ""},
    ],
    ids=["long ledger", "several ledgers", "long nonce", "no nonce"],
)
def test_what_would_spoil_every_later_hello_is_not_kept(stores, changed):
    """It is shown to its sender again: a hello that is too long could never be said."""
    olav, mercy = greeter(stores, "olav"), greeter(stores, "mercy")
    said = mercy.judged("olav", olav.text_for("mercy"))
    before = stores["mercy"].neighbour("olav")
    for _ in range(8):
        content = signed_text({**said.to_json(), **changed}, KEYS["olav"])
        with pytest.raises(Violation, match="wrong hello"):
            mercy.judged("olav", content)
    assert stores["mercy"].neighbour("olav") == before
    olav.judged("mercy", mercy.text_for("olav"))


def test_a_head_that_i_never_signed_is_a_violation(stores):
    said = greeter(stores, "mercy").judged("olav", told(stores, 1))
    for head in (HEADS[4] + said.heads[0][64:], HEADS[4], "x", HEADS[4] + "zz"):
        forged = replace(said, heads=(head,))
        with pytest.raises(Violation, match="not signed"):
            greeter(stores, "mercy").judged(
                "olav", signed_text(forged.to_json(), KEYS["olav"])
            )


def test_who_is_taken_for_a_second_process_learns_that_its_files_are_old(
    stores, tmp_path
):
    exchanged(stores)
    text = told(stores, 7, *HEADS[:3])
    failure = SecondInstance("Two processes run as mercy.", text)
    with pytest.raises(LedgerRollback):
        greeter(stores, "mercy", 4, ledger=Heads(HEADS[0])).doubted(failure, "olav")
    with pytest.raises(Doubled, match="Two processes") as raised:
        greeter(stores, "mercy", 4, ledger=Heads(*HEADS[:3])).doubted(failure, "olav")
    assert raised.value.exit_code == 3
    with pytest.raises(Doubled):
        greeter(stores, "mercy", 4).doubted(SecondInstance("Two."), "olav")
    (tmp_path / "copy").mkdir()
    old = stores_in(tmp_path / "copy")
    try:
        with pytest.raises(Rollback, match="olav has a frame of round 1"):
            greeter(old, "mercy", 4, ledger=Heads(*HEADS[:3])).doubted(failure, "olav")
    finally:
        for store in old.values():
            store.close()


def test_a_hello_of_another_or_for_another_is_a_violation(stores):
    mercy = greeter(stores, "mercy")
    for_vita = greeter(stores, "olav").text_for("vita")
    with pytest.raises(Violation, match="made for another"):
        mercy.judged("olav", for_vita)
    with pytest.raises(Violation, match="wrong hello"):
        mercy.judged("vita", greeter(stores, "olav").text_for("mercy"))
    with pytest.raises(Violation, match="wrong hello"):
        mercy.judged("olav", b"\xff\x00")


def test_a_header_that_i_never_signed_is_a_violation(stores):
    exchanged(stores)
    text = greeter(stores, "olav").text_for("mercy")
    said = greeter(stores, "mercy").judged("olav", text)
    assert said.header_signature is not None
    forged = replace(said, header_signature="00" * 64)
    content = signed_text(forged.to_json(), KEYS["olav"])
    with pytest.raises(Violation, match="has not signed"):
        greeter(stores, "mercy").judged("olav", content)
    broken = replace(said, header="{}")
    with pytest.raises(Violation, match="wrong header"):
        greeter(stores, "mercy").judged(
            "olav", signed_text(broken.to_json(), KEYS["olav"])
        )
    assert Hello.from_json(said.to_json()) == said
    assert set(PUBLIC) == set(NAMES)
