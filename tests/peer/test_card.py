"""Cards: signed by the key they name; whatever else there is, is refused in one sentence."""

from __future__ import annotations

import tomllib
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpdl.errors import InputError
from dpdl.peer.card import Card, Offer, encoded
from dpdl.peer.signed import DOMAIN, LARGEST, signed_text
from dpdl.peer.toml_text import flat
from dpdl.records import JsonObject
from tests.peer import damaged
from tests.peer.agreements import card, certificate, signing

CARD = card("mercy")
KEY = signing("mercy")


def table() -> JsonObject:
    """A valid card as a table without its signature, to be changed and signed again."""
    found = tomllib.loads(CARD.content.decode())
    del found["signature"]
    return found


def test_a_card_is_read_as_it_was_signed() -> None:
    assert Card.parse(CARD.content) == CARD
    assert CARD.der == certificate("mercy")
    assert CARD.offer("lungs") == Offer("lungs", 400, "1,8,8", "10 classes")
    assert tomllib.loads(CARD.content.decode()) == CARD.to_json()


def test_a_site_without_an_address_says_so_by_leaving_it_out() -> None:
    quiet = card("mercy", url=None, mailbox="https://post.example", data=())
    assert b"url" not in quiet.content
    assert Card.parse(quiet.content).mailbox == "https://post.example"


def test_every_changed_byte_is_noticed() -> None:
    content = CARD.content
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1 << place % 8
        assert damaged.read(Card.parse, bytes(changed)) is None, place


def test_nobody_signs_the_card_of_another() -> None:
    with pytest.raises(
        InputError, match="card of mercy has another key than this site"
    ):
        CARD.text(signing("st-olav"))
    forged = signed_text(table(), signing("st-olav"))
    with pytest.raises(InputError, match="card is not signed with the key"):
        Card.parse(forged)


def test_a_draft_has_no_bytes() -> None:
    draft = replace(CARD, signature=None)
    with pytest.raises(InputError, match="card of mercy is not signed yet"):
        draft.content  # noqa: B018
    assert draft.text(KEY) == CARD.content
    assert draft.signed(KEY) == CARD


def test_a_data_set_that_is_not_offered_is_named() -> None:
    with pytest.raises(
        InputError, match=r"mercy offers no data set 'knees'.*: lungs\."
    ):
        CARD.offer("knees")
    with pytest.raises(InputError, match="its card has: none"):
        card("mercy", data=()).offer("knees")


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("name", "St Olav", r"card\.name must be 1 to 40 small letters"),
        ("key", "ab", r"card\.key must be 64 hexadecimal digits"),
        ("agreement", "ab", r"card\.agreement must be 64 hexadecimal digits"),
        ("agreement", "00" * 32, "small order"),
        ("certificate", "!", r"card\.certificate must be base64"),
        ("certificate", "YWJj", "certificate must be one of X.509"),
        ("certificate", "é", r"card\.certificate must be base64"),
        ("certificate", encoded(certificate("a") * 2), "must be one of X.509"),
        ("serial", 0, r"card\.serial must be a whole number from 1"),
        ("serial", 2**40, r"card\.serial must be a whole number from 1"),
        ("serial", "1", r"card\.serial must be a whole number, not '1'"),
        ("time", "today", r"card\.time must be a time such as"),
        ("url", "http://mercy.example", r"card\.url must be https://HOST"),
        ("mailbox", "post", r"card\.mailbox must be https://HOST"),
        ("data", 1, r"card\.data must be a list"),
        ("data", [{"name": "a"}], r"card\.data\[0\] has no 'records'"),
        ("phone", "1", "card has an unknown field 'phone'"),
        ("signature", "00" * 64, "signature above its last line"),
        ("format", 7, "card is of format 7"),
    ],
)
def test_a_wrong_field_is_named(field: str, value: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        Card.parse(signed_text({**table(), field: value}, KEY))


@pytest.mark.parametrize("field", ["name", "key", "serial", "time", "data", "format"])
def test_a_missing_field_is_named(field: str) -> None:
    found = table()
    del found[field]
    with pytest.raises(InputError, match=rf"card has no '{field}'"):
        Card.parse(signed_text(found, KEY))


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("name", "", r"card\.data\.name must be"),
        ("records", 0, r"card\.data\.records must be"),
        ("shape", "1,2", r"card\.data\.shape must be"),
        ("predict", "3", r"card\.data\.predict must be"),
        ("scaling", "x", r"card\.data\.scaling must be"),
    ],
)
def test_a_wrong_offer_is_named(field: str, value: object, said: str) -> None:
    found = table()
    found["data"][0][field] = value
    with pytest.raises(InputError, match=said):
        Card.parse(signed_text(found, KEY))


def test_offers_have_different_names_and_an_end() -> None:
    offer = Offer("lungs", 400, "1,8,8", "10 classes")
    with pytest.raises(InputError, match="Two data sets of a card have the same name"):
        replace(CARD, data=(offer, offer))
    many = tuple(replace(offer, name=f"d{k}") for k in range(101))
    with pytest.raises(InputError, match="number of data sets of a card must be"):
        replace(CARD, data=many)


def test_a_card_that_is_written_in_another_way_is_refused() -> None:
    """The signature is over the bytes; one card has one file, so that two files are two cards."""
    body = b"# a note\n" + flat(table()).encode()
    last = f'signature = "{KEY.sign(DOMAIN + body).hex()}"\n'.encode()
    with pytest.raises(InputError, match="not written as this version writes cards"):
        Card.parse(body + last)


# ------------------------------------------------------------------ whatever there is
@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300))
def test_no_bytes_break_the_reader(content: bytes) -> None:
    assert damaged.read(Card.parse, content) is None


@settings(max_examples=200, deadline=None)
@given(damaged.broken_text(CARD.content))
def test_damage_is_refused(content: bytes) -> None:
    found = damaged.read(Card.parse, content)
    assert (found is not None) == (content == CARD.content)


@settings(max_examples=300, deadline=None)
@given(damaged.broken_table(table()))
def test_whatever_a_site_signs_is_a_card_or_refused(found: JsonObject) -> None:
    read = damaged.read(Card.parse, signed_text(found, KEY))
    assert read is None or {**found, "signature": read.signature} == read.to_json()


@pytest.mark.parametrize("inner", ["[],", "{},", "0,", "'',"])
def test_reading_takes_no_more_memory_than_is_bounded(inner: str) -> None:
    """200 bytes for one that is read: 13 MB for the largest card."""
    body = f"a = [{inner * (64000 // len(inner))}]\n".encode()
    last = f'signature = "{KEY.sign(DOMAIN + body).hex()}"\n'.encode()
    assert damaged.peak(Card.parse, body + last) < 200 * LARGEST
