from __future__ import annotations

import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpdl.peer.certificates import server_context, sha256_of
from dpdl.peer.refusals import AGAIN, MOST, Refusals, certificate_in, watch
from tests.peer.hostile import calling
from tests.peer.sites import certified


def test_the_same_is_told_once_a_minute():
    now = [0.0]
    told = []
    refusals = Refusals(lambda who, what: told.append((who, what)), lambda: now[0])
    for _ in range(5):
        refusals.note("here", "one")
    refusals.note("here", "two")
    refusals.note("there", "one")
    assert told == [("here", "one"), ("here", "two"), ("there", "one")]
    now[0] = AGAIN
    refusals.note("here", "one")
    assert len(told) == 4


def test_who_showed_an_unknown_certificate_is_looked_at_once():
    refusals = Refusals(lambda who, what: None, lambda: 0.0)
    refusals.note("here", "one", unknown=True)
    refusals.note("there", "one")
    assert refusals.is_suspect("here")
    assert not refusals.is_suspect("here")
    assert not refusals.is_suspect("there")


def test_any_number_of_addresses_needs_bounded_memory():
    refusals = Refusals(lambda who, what: None, lambda: 0.0)
    for number in range(10_000):
        refusals.note(str(number), "one", unknown=True)
    assert sum(refusals.is_suspect(str(number)) for number in range(10_000)) == MOST
    assert len(refusals._told) <= MOST


def shaken(server: ssl.SSLContext, client: ssl.SSLContext) -> None:
    """A handshake in memory, up to its end or the first error of the server."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    one = client.wrap_bio(to_client, to_server, server_hostname="x")
    two = server.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(4):
        for side in (one, two):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue


def test_a_watched_context_says_which_certificate_it_refused():
    certificate, key, known = certified("alder")
    server = server_context(certificate, key, [known])
    watch(server)
    shaken(server, calling("alder"))
    with pytest.raises(ssl.SSLCertVerificationError) as caught:
        shaken(server, calling("stranger"))
    assert caught.value.__notes__ == [sha256_of(certified("stranger")[2])]


@given(st.binary(max_size=64))
def test_any_bytes_of_a_message_can_be_looked_at(message):
    assert certificate_in(message) in message or certificate_in(message) == b""
