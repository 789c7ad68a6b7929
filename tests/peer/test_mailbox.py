"""A mailbox at a real socket, asked by signed requests, good and bad ones."""

from __future__ import annotations

import asyncio
import http.client
import socket
import ssl
import time
from collections.abc import Iterator

import pytest

from dpdl.errors import InputError
from dpdl.peer.keys import SigningKey
from dpdl.peer.mailbox import Mailbox, members_by_key
from dpdl.peer.mailbox_folder import Bounds
from dpdl.peer.mailbox_request import ITEM_HEADER, BoxPath, Item, signed_headers
from tests.peer.mailboxes import LOOPBACK, mailbox, member, settings_in, web_files

RUN = "ab" * 32
NAMES = ("mercy", "olav")
CARDS = [member(name).card for name in NAMES]
BOX = BoxPath(RUN, "olav")
PLACE = BOX._replace(item=Item("mercy", "call", "0" * 32))


@pytest.fixture
def address(tmp_path) -> Iterator[str]:
    bounds = Bounds(quota=1000, largest=900)
    with mailbox(settings_in(tmp_path / "mail", bounds=bounds), CARDS) as url:
        yield url


def asked(
    url: str,
    who: str | SigningKey,
    method: str,
    path: str,
    body: bytes = b"",
    signed: bytes | None = None,
    now: float | None = None,
) -> tuple[int, str, bytes]:
    key = who if isinstance(who, SigningKey) else member(who).signing
    said = body if signed is None else signed
    headers = signed_headers(key, method, path, said, now or time.time())
    context = ssl.create_default_context(cafile=web_files().authorities)
    port = int(url.rsplit(":", 1)[1])
    line = http.client.HTTPSConnection(LOOPBACK, port, context=context, timeout=10)
    try:
        line.request(method, path, body or None, headers)
        answer = line.getresponse()
        return answer.status, answer.getheader(ITEM_HEADER, ""), answer.read()
    finally:
        line.close()


def test_an_envelope_is_kept_until_its_receiver_says_that_it_arrived(address):
    assert asked(address, "mercy", "PUT", PLACE.text, b"sealed")[0] == 204
    found = (200, PLACE.item.text, b"sealed")
    assert asked(address, "olav", "GET", BOX.text) == found
    assert asked(address, "olav", "GET", BOX.text) == found
    assert asked(address, "olav", "GET", PLACE.text)[0] == 204


def test_who_sent_an_envelope_may_take_it_back(address):
    asked(address, "mercy", "PUT", PLACE.text, b"sealed")
    assert asked(address, "mercy", "DELETE", PLACE.text)[0] == 204
    assert asked(address, "olav", "GET", BOX.text)[0] == 204


def refused(answer: tuple[int, str, bytes], status: int, sentence: str) -> None:
    assert answer[0] == status
    assert sentence in answer[2].decode()
    assert answer[2].count(b"\n") == 0


def test_only_the_two_may_touch_an_envelope(address):
    asked(address, "mercy", "PUT", PLACE.text, b"sealed")
    refused(
        asked(address, "mercy", "GET", BOX.text), 403, "cannot be asked for by mercy"
    )
    refused(asked(address, "mercy", "GET", PLACE.text), 405, "Only GET, PUT and DELETE")
    refused(asked(address, "olav", "PUT", PLACE.text, b"x"), 403, "asked for by olav")
    refused(asked(address, "olav", "DELETE", PLACE.text), 403, "asked for by olav")
    assert asked(address, "olav", "GET", BOX.text)[2] == b"sealed"


def test_what_is_not_signed_by_a_member_now_is_refused_in_one_sentence(address):
    path = PLACE.text
    stranger = asked(address, SigningKey.create(), "PUT", path, b"x")
    refused(stranger, 401, "no card with the key of the request")
    old = asked(address, "mercy", "PUT", path, b"x", now=time.time() - 400)
    refused(old, 401, "set the clock")
    other = asked(address, "mercy", "PUT", path, b"x", signed=b"y")
    refused(other, 400, "The body is not the one that was signed.")
    assert asked(address, "olav", "GET", BOX.text)[0] == 204


def test_what_is_too_much_is_refused_in_one_sentence(address):
    many = asked(address, "mercy", "PUT", PLACE.text, bytes(901))
    refused(many, 413, "at most 900 are taken")
    assert asked(address, "mercy", "PUT", PLACE.text, bytes(900))[0] == 204
    place = PLACE._replace(item=Item("mercy", "call", "1" * 32))
    full = asked(address, "mercy", "PUT", place.text, bytes(101))
    refused(full, 507, "and may have 1000.")


def test_who_is_no_member_gets_no_envelopes(address):
    place = PLACE._replace(target="vita")
    answer = asked(address, "mercy", "PUT", place.text, b"x")
    refused(answer, 404, "no card of vita")
    refused(asked(address, "mercy", "PUT", "/etc/passwd", b"x"), 404, "nothing here")


def test_a_wrong_clock_of_the_mailbox_is_told(tmp_path):
    with mailbox(settings_in(tmp_path), CARDS, shift=86400) as url:
        refused(asked(url, "mercy", "GET", BOX.text), 401, "set the clock")


def test_what_a_mailbox_cannot_begin_with_is_refused(tmp_path):
    with pytest.raises(InputError, match="needs the cards"):
        members_by_key([])
    with pytest.raises(InputError, match="the name or the key of mercy"):
        members_by_key([CARDS[0], CARDS[0]])
    with socket.create_server((LOOPBACK, 0)) as taken:
        settings = settings_in(tmp_path, taken.getsockname()[1])

        async def serve() -> None:
            await Mailbox(settings, CARDS).serve(lambda port: None)

        with pytest.raises(InputError, match=r"cannot listen at 127\.0\.0\.1"):
            asyncio.run(serve())
