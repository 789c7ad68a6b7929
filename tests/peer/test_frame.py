"""A frame is the expected one, byte by byte, or a violation; no bytes do more than be refused."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dpdl.peer.failures import Violation
from dpdl.peer.frame import (
    DOMAIN,
    LARGEST_HEADER,
    SIZES,
    Frame,
    FrameHead,
    Slot,
    check_frame,
    check_signed,
    digest_of,
    head_of,
    make_frame,
    payload_of,
    rows_of,
)
from dpdl.peer.keys import SigningKey, verify
from tests.peer.frames import a_frame, a_head, some_rows

KEY = SigningKey.create()
OTHER = SigningKey.create()


def signed(header: bytes, payload: bytes = b"", key: SigningKey = KEY) -> Frame:
    """A frame whose signature is right, whatever its header is."""
    return Frame(header, key.sign(DOMAIN + header), payload)


# ------------------------------------------------------------------ the form
def test_a_header_is_signed_json_in_the_order_of_its_fields() -> None:
    frame = a_frame(KEY)
    assert list(json.loads(frame.header)) == [
        *("v", "run", "view", "round", "step", "channel"),
        *("source", "target", "dtype", "shape", "sha256"),
    ]
    assert b" " not in frame.header
    assert verify(KEY.public, b"dpdl-frame-1\0" + frame.header, frame.signature)
    assert frame.payload == some_rows().numpy().astype("<f4").tobytes()
    assert frame.head == replace(a_head(), sha256=digest_of(frame.payload))
    assert frame.head.slot == Slot(0, 3, 1)


@pytest.mark.parametrize("channel", ["model", '"\u00fc\n', "a,b"])
def test_a_header_is_what_records_write(channel: str) -> None:
    """The plain way: `to_json`, field by field."""
    for shape in ((), (0, 3), (1, 4810)):
        head = a_head(Slot(11, 123456, 17), channel=channel, shape=shape)
        digest = "0af" * 20 + "beef"
        named = replace(head, sha256=digest)
        plain = json.dumps(named.to_json(), separators=(",", ":")).encode()
        assert named.text() == head.naming(digest) == plain
        assert Frame(plain, b"", b"").sha256 == digest


def test_a_digest_that_is_known_is_not_computed_again() -> None:
    payload = payload_of(some_rows())
    frame = make_frame(a_head(), payload, KEY, digest="ab" * 32)
    assert frame.head.sha256 == "ab" * 32
    with pytest.raises(Violation, match="not the one it signed"):
        check_frame(frame, a_head(), KEY.public, "ann")


def test_what_cannot_be_sent_is_not_signed() -> None:
    with pytest.raises(ValueError, match="no rows of shape"):
        make_frame(a_head(), b"123", KEY)
    with pytest.raises(ValueError, match="too long"):
        make_frame(a_head(channel="c" * 5000), payload_of(some_rows()), KEY)


# ------------------------------------------------------------------ rows
@pytest.mark.parametrize("name", SIZES)
def test_rows_survive_exactly(name: str) -> None:
    rows = (100 * some_rows(3, 4, 5).abs()).to(getattr(torch, name))
    payload = payload_of(rows)
    assert len(payload) == a_head(dtype=name, shape=(4, 5)).payload_bytes
    found = rows_of(payload, name, (4, 5))
    assert found.dtype == rows.dtype
    assert found.equal(rows)
    found.zero_()  # its memory is its own
    assert rows_of(payload, name, (4, 5)).equal(rows)


def test_rows_need_not_be_contiguous() -> None:
    rows = some_rows(1, 4, 6).T[1:4]
    assert rows_of(payload_of(rows), "float32", (3, 4)).equal(rows)


def test_there_may_be_no_rows() -> None:
    empty = torch.zeros(0, 3)
    assert rows_of(payload_of(empty), "float32", (0, 3)).shape == (0, 3)
    frame = make_frame(a_head(shape=(0, 3)), b"", KEY)
    check_frame(frame, a_head(shape=(0, 3)), KEY.public, "ann", largest_norm=1.0)


@pytest.mark.parametrize("kind", [torch.bool, torch.complex64])
def test_rows_of_other_types_are_not_sent(kind: torch.dtype) -> None:
    with pytest.raises(ValueError, match="cannot be sent"):
        payload_of(torch.zeros(2, dtype=kind))


# ------------------------------------------------------------------ what is refused
CHANGES = {
    "run": "5f" * 32,
    "view": 1,
    "round": 4,
    "step": 0,
    "channel": "gradient",
    "source": "eve",
    "target": "eve",
    "dtype": "float64",
    "shape": (1, 3),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_field_that_differs_is_named(name: str) -> None:
    """Replays, other rounds, runs and views, from somebody who has a valid key."""
    head = a_head(**{name: CHANGES[name]})
    frame = make_frame(head, bytes(head.payload_bytes), KEY)
    with pytest.raises(
        Violation, match=f"Peer ann sent a frame with {name} "
    ) as caught:
        check_frame(frame, a_head(), KEY.public, "ann")
    assert caught.value.name == "ann"


def test_every_field_but_the_digest_is_compared() -> None:
    names = {field.name for field in fields(FrameHead)}
    assert names - set(CHANGES) == {"v", "sha256"}


def test_another_key_is_refused() -> None:
    with pytest.raises(Violation, match="not signed with its key"):
        check_frame(a_frame(OTHER), a_head(), KEY.public, "ann")


def test_a_signature_of_something_else_is_none() -> None:
    frame = a_frame(KEY)
    bare = frame._replace(signature=KEY.sign(frame.header))
    with pytest.raises(Violation, match="not signed with its key"):
        check_frame(bare, a_head(), KEY.public, "ann")


def test_another_payload_is_refused() -> None:
    swapped = a_frame(KEY)._replace(payload=payload_of(some_rows(9)))
    with pytest.raises(Violation, match="not the one it signed"):
        check_frame(swapped, a_head(), KEY.public, "ann")
    shorter = a_frame(KEY)._replace(payload=payload_of(some_rows())[:-4])
    with pytest.raises(Violation, match="a payload of 20 bytes"):
        check_frame(shorter, a_head(), KEY.public, "ann")


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_numbers_that_are_not_finite_are_refused(number: float, kind: str) -> None:
    rows = some_rows().to(getattr(torch, kind))
    rows[1, 2] = number
    head = a_head(dtype=kind)
    frame = make_frame(head, payload_of(rows), KEY)
    with pytest.raises(Violation, match="not finite"):
        check_frame(frame, head, KEY.public, "ann")


@pytest.mark.parametrize("kind", ["float32", "float64", "uint8", "int64"])
def test_the_norm_of_every_row_is_bounded(kind: str) -> None:
    rows = torch.tensor([[1, 2, 2], [4, 0, 3]], dtype=getattr(torch, kind))
    head = a_head(dtype=kind)
    frame = make_frame(head, payload_of(rows), KEY)
    check_frame(frame, head, KEY.public, "ann", largest_norm=5.0)
    with pytest.raises(Violation, match=r"a row of norm 5, above 4\.99"):
        check_frame(frame, head, KEY.public, "ann", largest_norm=4.99)


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_a_norm_that_overflows_is_too_large(kind: torch.dtype) -> None:
    head = a_head(dtype=str(kind).removeprefix("torch."))
    rows = torch.full((2, 3), torch.finfo(kind).max, dtype=kind)
    with pytest.raises(Violation, match="a row of norm"):
        check_frame(
            make_frame(head, payload_of(rows), KEY), head, KEY.public, "ann", 1e9
        )


SPELLINGS = {
    "a space": lambda text: text.replace(b",", b", ", 1),
    "another order": lambda text: json.dumps(
        dict(reversed(json.loads(text).items())), separators=(",", ":")
    ).encode(),
    "one field more": lambda text: text[:-1] + b',"more":1}',
    "a field twice": lambda text: text[:-1] + b',"v":1}',
    "an escape": lambda text: text.replace(b"model", b"mode\\u006c"),
    "a byte order mark": lambda text: b"\xef\xbb\xbf" + text,
}


@pytest.mark.parametrize("change", SPELLINGS.values(), ids=SPELLINGS)
def test_a_header_has_one_spelling(change) -> None:
    """Otherwise one peer could sign one slot in two ways and call them equal."""
    frame = a_frame(KEY)
    other = signed(change(frame.header), frame.payload)
    with pytest.raises(ValueError, match="the one form"):
        head_of(other.header)
    with pytest.raises(Violation, match="the one form"):
        check_frame(other, a_head(), KEY.public, "ann")


WRONG = {
    "no object": b"[]",
    "no JSON": b"\xff{",
    "too deep": b"[" * 4000,
    "a huge number": b'{"v":' + b"9" * 4000 + b"}",
    "too long": b" " * (LARGEST_HEADER + 1),
    "another version": a_head(v=2, sha256="0" * 64).text(),
    "an unknown type": a_head(dtype="object", sha256="0" * 64).text(),
    "many axes": a_head(shape=(1,) * 9, sha256="0" * 64).text(),
    "a negative axis": a_head(shape=(-2, -3), sha256="0" * 64).text(),
    "a negative round": a_head(Slot(0, -1, 0), sha256="0" * 64).text(),
    "no digest": a_head().text(),
    "a truth value": a_head(sha256="0" * 64).text().replace(b"1", b"true", 1),
}


@pytest.mark.parametrize("header", WRONG.values(), ids=WRONG)
def test_a_header_that_cannot_be_is_refused(header: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        head_of(header)
    with pytest.raises(Violation, match="Peer ann sent a frame that is wrong"):
        check_signed(header, KEY.sign(DOMAIN + header), a_head(), KEY.public, "ann")


# ------------------------------------------------------------------ any header
GOOD = a_frame(KEY)
VALUES = (
    st.sampled_from([None, True, "", "float64", -1, 2**80, 0.5, {}, [], [2, 3], [[]]])
    | st.integers()
    | st.text(max_size=9)
    | st.lists(st.integers(), max_size=4)
)


@st.composite
def other_headers(draw: st.DrawFn) -> bytes:
    """A header with two values of any kind."""
    names = st.sampled_from([*(field.name for field in fields(FrameHead)), "more"])
    other = {draw(names): draw(VALUES), draw(names): draw(VALUES)}
    header = json.dumps(json.loads(GOOD.header) | other, separators=(",", ":"))
    return header.encode()


@settings(max_examples=700, deadline=None)
@given(other_headers())
def test_any_other_header_is_refused(header: bytes) -> None:
    """Rightly signed as it may be."""
    try:
        check_frame(signed(header, GOOD.payload), a_head(), KEY.public, "ann", 1e6)
    except Violation:
        assert header != GOOD.header
    else:
        assert header == GOOD.header
