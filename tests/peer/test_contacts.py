"""Contacts: a site keeps the key under which it was admitted; newer cards replace older ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.peer.card import Card, encoded
from dpdl.peer.contacts import Contacts, read_card
from dpdl.peer.keys import AgreementKey, SigningKey
from tests.peer.agreements import agreement, card, certificate, signing


@pytest.fixture
def contacts(tmp_path: Path) -> Contacts:
    found = Contacts(tmp_path)
    found.admit(card("mercy", serial=5))
    return found


def test_an_admitted_card_is_found_by_its_name(contacts: Contacts) -> None:
    assert contacts.names() == ["mercy"]
    assert contacts.card("mercy") == card("mercy", serial=5)
    assert contacts.knows(card("mercy", serial=9))
    assert not contacts.knows(card("st-olav"))


def test_a_higher_serial_replaces_a_lower_one(contacts: Contacts) -> None:
    new = card("mercy", serial=6, certificate=encoded(certificate("mercy-2")))
    contacts.admit(new)
    assert contacts.card("mercy") == new


def test_the_same_card_again_changes_nothing(contacts: Contacts) -> None:
    contacts.admit(card("mercy", serial=5))
    assert contacts.card("mercy").serial == 5


def test_an_older_card_is_refused(contacts: Contacts) -> None:
    with pytest.raises(
        InputError, match="card of mercy is old: number 4, and 5 is known"
    ):
        contacts.admit(card("mercy", serial=4))
    assert contacts.card("mercy").serial == 5


def test_another_card_with_the_same_serial_is_refused(contacts: Contacts) -> None:
    with pytest.raises(InputError, match="two different cards of mercy with number 5"):
        contacts.admit(card("mercy", serial=5, url=None))
    assert contacts.card("mercy").url is not None


def test_another_key_is_refused_whatever_its_serial(contacts: Contacts) -> None:
    thief = SigningKey.create()
    forged = replace(card("mercy", serial=99), key=thief.public, signature=None)
    with pytest.raises(InputError, match="another key than the one that was admitted"):
        contacts.admit(forged.signed(thief))
    assert contacts.card("mercy").key == signing("mercy").public
    assert not contacts.knows(forged)


@pytest.mark.parametrize("field", ["key", "agreement", "certificate"])
def test_no_two_sites_share_a_key_or_a_certificate(
    field: str, contacts: Contacts
) -> None:
    taken = getattr(card("mercy"), field)
    signer = signing("mercy") if field == "key" else signing("vita")
    other = replace(card("vita"), signature=None, **{field: taken}).signed(signer)
    with pytest.raises(InputError, match=f"card of vita has the {field} of mercy"):
        contacts.admit(other)
    assert contacts.names() == ["mercy"]


def test_a_new_agreement_key_comes_with_a_newer_card(contacts: Contacts) -> None:
    fresh = AgreementKey.create().public
    contacts.admit(card("mercy", serial=7, agreement=fresh))
    assert contacts.card("mercy").agreement == fresh != agreement("mercy").public


def test_a_draft_is_not_admitted(contacts: Contacts) -> None:
    with pytest.raises(InputError, match="not signed yet"):
        contacts.admit(replace(card("vita"), signature=None))


def test_who_was_not_admitted_is_named(contacts: Contacts) -> None:
    with pytest.raises(InputError, match="vita has not been admitted here"):
        contacts.card("vita")
    with pytest.raises(InputError, match="name of a site must be 1 to 40"):
        contacts.card("../mercy")


def test_a_card_under_the_name_of_another_is_refused(
    contacts: Contacts, tmp_path: Path
) -> None:
    (tmp_path / "vita.toml").write_bytes(card("mercy").content)
    with pytest.raises(InputError, match="is the card of mercy, not of vita"):
        contacts.card("vita")


def test_a_card_that_was_changed_on_disk_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "card.toml"
    file.write_bytes(card("mercy").content.replace(b"400", b"900"))
    with pytest.raises(InputError, match="not signed with the key"):
        read_card(file)
    with pytest.raises(InputError, match=r"none\.toml' cannot be read: No such file"):
        read_card(tmp_path / "none.toml")


def test_cards_are_kept_as_they_were_signed(contacts: Contacts, tmp_path: Path) -> None:
    content = (tmp_path / "mercy.toml").read_bytes()
    assert Card.parse(content).content == content == card("mercy", serial=5).content
