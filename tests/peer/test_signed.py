"""Signed documents: what the owner of a key has not signed, bit by bit, is refused unread."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpdl.errors import InputError
from dpdl.peer.keys import SigningKey
from dpdl.peer.signed import DOMAIN, LARGEST, checked, signed_text, with_signature
from dpdl.records import JsonObject
from tests.peer import damaged

KEY = SigningKey.create()
TABLE: JsonObject = {"name": "mercy", "rows": [{"a": 1}, {"a": 0.1}], "text": 'x"\n'}
CONTENT = signed_text(TABLE, KEY)


def read(content: bytes) -> JsonObject:
    return checked(content, KEY.public, "It")


def test_a_document_is_read_as_it_was_signed() -> None:
    assert read(CONTENT) == TABLE
    last = CONTENT.decode().splitlines()[-1]
    assert last.startswith('signature = "') and len(last) == 13 + 128 + 1


def test_every_flipped_bit_is_noticed() -> None:
    for bit in range(8 * len(CONTENT)):
        changed = bytearray(CONTENT)
        changed[bit // 8] ^= 1 << bit % 8
        assert damaged.read(read, bytes(changed)) is None, bit


def test_everything_that_is_cut_off_or_added_is_noticed() -> None:
    for length in range(len(CONTENT)):
        assert damaged.read(read, CONTENT[:length]) is None
        assert damaged.read(read, CONTENT[length + 1 :]) is None
    for added in (b"\n", b" ", b"\r\n", b"#", CONTENT):
        assert damaged.read(read, CONTENT + added) is None
        assert damaged.read(read, added + CONTENT) is None
    assert damaged.read(read, CONTENT.replace(b"\n", b"\r\n")) is None


def test_another_key_is_noticed() -> None:
    with pytest.raises(InputError, match=r"^It is not signed with the key .*as a file"):
        checked(CONTENT, SigningKey.create().public, "It")
    with pytest.raises(InputError, match="is not signed with the key"):
        checked(CONTENT, "no key at all", "It")


def test_what_is_signed_for_another_purpose_is_no_document() -> None:
    body = b'name = "mercy"\n'
    for signature in (KEY.sign(body), KEY.sign(b"dpdl-frame-1\0" + body)):
        with pytest.raises(InputError, match="is not signed"):
            read(with_signature({"name": "mercy"}, signature))
    assert read(with_signature({"name": "mercy"}, KEY.sign(DOMAIN + body)))


def test_what_is_not_signed_is_not_parsed() -> None:
    """The same wrong TOML, without and with a signature."""
    body = b"not = = toml\n"
    with pytest.raises(InputError, match="is not signed"):
        read(body + b'signature = "%s"\n' % (b"00" * 64))
    signature = KEY.sign(DOMAIN + body).hex().encode()
    with pytest.raises(InputError, match="is not valid TOML"):
        read(body + b'signature = "%s"\n' % signature)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'signature = "00"\n',
        b'a = 1 signature = "%s"\n' % (b"00" * 64),
        CONTENT[:-1],
        CONTENT.replace(b"signature = ", b"signature= "),
    ],
)
def test_a_document_without_a_last_line_is_refused(content: bytes) -> None:
    with pytest.raises(InputError, match="It has no signature in its last line"):
        read(content)


def test_a_document_has_a_largest_size() -> None:
    with pytest.raises(InputError, match="at most 65,536 bytes"):
        signed_text({"a": "x" * LARGEST}, KEY)
    with pytest.raises(InputError, match="It has more than 65,536 bytes"):
        read(b"#" * LARGEST + CONTENT)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300))
def test_no_bytes_break_the_reader(content: bytes) -> None:
    assert damaged.read(read, content) is None


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300))
def test_no_signed_bytes_break_the_reader(body: bytes) -> None:
    last = f'signature = "{KEY.sign(DOMAIN + body).hex()}"\n'.encode()
    damaged.read(read, body + last)


@settings(max_examples=200, deadline=None)
@given(damaged.broken_text(CONTENT))
def test_damage_is_refused(content: bytes) -> None:
    found = damaged.read(read, content)
    assert (found is not None) == (content == CONTENT)
