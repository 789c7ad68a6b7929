from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpdl.peer.failures import Refused
from dpdl.peer.keys import SigningKey
from dpdl.peer.mailbox_request import (
    CLOCK,
    DIGEST_HEADER,
    KEY_HEADER,
    SIGNATURE_HEADER,
    TIME_HEADER,
    BoxPath,
    Item,
    parsed_box,
    parsed_item,
    signed_headers,
    signer,
)

RUN = "ab" * 32
ITEM = Item("mercy", "call", "0" * 32)
PATH = BoxPath(RUN, "olav", ITEM).text
KEY, OTHER = SigningKey.create(), SigningKey.create()
MEMBERS = {KEY.public: "mercy", OTHER.public: "olav"}
NOW = 1_900_000_000.0


@pytest.mark.parametrize("item", [None, ITEM])
def test_a_path_is_read_as_it_was_written(item):
    place = BoxPath(RUN, "olav", item)
    assert parsed_box(place.text) == place
    assert item is None or parsed_item(item.text) == item


@pytest.mark.parametrize(
    "path",
    [
        "",
        f"/v1/{RUN}",
        f"/v1/{RUN}/../etc",
        f"/v1/{RUN}/olav/",
        f"/v1/{RUN}/olav/mercy/call/{'0' * 31}",
        f"/v1/{RUN}/olav/mercy/hello/{'0' * 32}",
        f"/v1/{RUN}/olav/mercy/call/{'0' * 32}?x=1",
        f"/v1/{RUN}/olav/mercy/call/{'0' * 32}\n",
    ],
)
def test_other_paths_are_none(path):
    assert parsed_box(path) is None


@given(st.text(max_size=100))
def test_any_text_is_a_path_or_none(text):
    assert parsed_item(text) is None or len(text) > 38
    assert parsed_box(text) is None


def test_who_signed_is_known_by_its_key():
    headers = signed_headers(KEY, "PUT", PATH, b"body", NOW)
    assert signer(headers, "PUT", PATH, MEMBERS, NOW) == "mercy"
    assert signer(headers, "PUT", PATH, MEMBERS, NOW + CLOCK) == "mercy"


@pytest.mark.parametrize("shift", [-CLOCK - 1, CLOCK + 1])
def test_an_old_or_early_request_is_refused(shift):
    headers = signed_headers(KEY, "GET", PATH, b"", NOW)
    with pytest.raises(Refused, match="differ by 301 s; 300 are allowed"):
        signer(headers, "GET", PATH, MEMBERS, NOW + shift)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (KEY_HEADER, OTHER.public),
        (TIME_HEADER, str(int(NOW) + 1)),
        (DIGEST_HEADER, "0" * 64),
        (SIGNATURE_HEADER, "0" * 128),
    ],
    ids=["key", "time", "digest", "signature"],
)
def test_whatever_is_changed_the_signature_does_not_fit(name, value):
    headers = {**signed_headers(KEY, "PUT", PATH, b"body", NOW), name: value}
    with pytest.raises(Refused, match="not signed by") as caught:
        signer(headers, "PUT", PATH, MEMBERS, NOW)
    assert caught.value.status == 401


def test_another_method_path_or_member_is_refused():
    headers = signed_headers(KEY, "PUT", PATH, b"body", NOW)
    with pytest.raises(Refused, match="not signed by mercy"):
        signer(headers, "DELETE", PATH, MEMBERS, NOW)
    with pytest.raises(Refused, match="not signed by mercy"):
        signer(headers, "PUT", PATH[:-1] + "1", MEMBERS, NOW)
    with pytest.raises(Refused, match="no card with the key"):
        signer(headers, "PUT", PATH, {OTHER.public: "olav"}, NOW)


@pytest.mark.parametrize(
    "name", [TIME_HEADER, DIGEST_HEADER, SIGNATURE_HEADER, KEY_HEADER]
)
@pytest.mark.parametrize("value", ["", "x", "é" * 64, "-1"])
def test_headers_that_are_none_are_refused(name, value):
    headers = {**signed_headers(KEY, "PUT", PATH, b"body", NOW), name: value}
    with pytest.raises(Refused):
        signer(headers, "PUT", PATH, MEMBERS, NOW)
