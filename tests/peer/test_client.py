"""What a site believes of an answer: nothing but a body of the expected length, from the right site."""

from __future__ import annotations

import gzip
import ssl
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from dpdl.errors import InputError
from dpdl.peer.client import without_user
from dpdl.peer.failures import Violation
from dpdl.peer.frame import Slot
from dpdl.peer.network import Network
from tests.peer.authority import issued
from tests.peer.hostile import (
    HostileServer,
    Script,
    answering,
    head_of,
    response,
    showing,
)
from tests.peer.proxy import Proxy
from tests.peer.sites import LOOPBACK, QUICK, RUN, Shown, Site, identity, sites, started

SLOT = Slot(0, 3, 1)
WAIT = 10.0


@contextmanager
def asking(
    script: Script, settings=QUICK, name: str = "birch", context=None
) -> Iterator[tuple[Site, HostileServer]]:
    """A site whose neighbour birch is a hostile server."""
    with HostileServer(name, script, context) as server:
        alder = started("alder", ["birch"], settings, urls={"birch": server.url})
        try:
            yield alder, server
        finally:
            alder.network.close()


def sentence(site: Site) -> str:
    """The first trouble that a site has."""
    end = time.monotonic() + WAIT
    while not site.troubles:
        assert time.monotonic() < end
        time.sleep(0.005)
    return site.troubles[0][1]


# ------------------------------------------------------------------ answers that nobody honest gives
@pytest.mark.parametrize(
    ("answer", "what"),
    [
        (response("200 OK", "Content-Length: 6\r\n", b"longer"), "6 bytes where 5"),
        (response("200 OK", "Content-Length: 4\r\n", b"less"), "4 bytes where 5"),
        (response("200 OK", "Content-Length: 99999999999\r\n"), "99999999999 bytes"),
        (response("200 OK", "Transfer-Encoding: chunked\r\n"), "without its length"),
        (response("200 OK", "Connection: close\r\n"), "without its length"),
        (
            response("200 OK", "Content-Length: 5\r\nContent-Encoding: gzip\r\n"),
            "an encoded answer",
        ),
    ],
)
def test_an_answer_that_cannot_be_the_frame_is_a_violation_and_is_not_read(
    answer, what
):
    with asking(answering(answer)) as (alder, _):
        found = alder.network.ask("birch", SLOT, 5, lambda: 2)
        with pytest.raises(Violation, match=what) as caught:
            found.result(WAIT)
        assert caught.value.name == "birch"


def test_a_redirect_is_not_followed():
    trap = HostileServer("birch", answering(b""))
    with trap:
        elsewhere = response(
            "302 Found", f"Location: {trap.url}/x\r\nContent-Length: 0\r\n"
        )
        with asking(answering(elsewhere)) as (alder, _):
            alder.network.ask("birch", SLOT, 5, lambda: 2)
            assert "elsewhere (302)" in sentence(alder)
    assert trap.requests == []


def test_a_gzip_bomb_is_not_inflated():
    bomb = gzip.compress(bytes(200 << 20), 1)
    headers = f"Content-Length: {len(bomb)}\r\nContent-Encoding: gzip\r\n"
    with asking(answering(response("200 OK", headers, bomb))) as (alder, _):
        with measured() as most:
            found = alder.network.ask("birch", SLOT, len(bomb), lambda: 2)
            with pytest.raises(Violation, match="encoded"):
                found.result(WAIT)
        assert most() < 3 << 20


@contextmanager
def measured():
    """Python's memory above what it is now, at most."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    try:
        yield lambda: tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


ENDLESS = {
    "a body": response("200 OK", "Content-Length: 99999999999\r\n"),
    "chunks": response("200 OK", "Transfer-Encoding: chunked\r\n"),
    "an error page": response("500 Oh", "Transfer-Encoding: chunked\r\n"),
    "a long error page": response("500 Oh", "Content-Length: 99999999999\r\n"),
    "headers": b"HTTP/1.1 200 OK\r\n",
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_an_endless_answer_takes_neither_memory_nor_time(kind):
    def script(one: ssl.SSLSocket) -> None:
        one.sendall(ENDLESS[kind])
        piece = (
            b"x-more: 1\r\n"
            if kind == "headers"
            else b"8000\r\n" + bytes(0x8000) + b"\r\n"
        )
        while True:
            one.sendall(piece)

    with asking(script) as (alder, _), measured() as most:
        found = alder.network.ask("birch", SLOT, 5, lambda: 2)
        begun = time.monotonic()
        while not (found.done() or alder.troubles):
            assert time.monotonic() - begun < WAIT
            time.sleep(0.01)
        assert most() < 8 << 20


@pytest.mark.parametrize(
    "part", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"]
)
def test_an_answer_that_drips_is_given_up_and_asked_for_again(part):
    hasty = replace(QUICK, long_poll=0.2, patience=0.3)

    def script(one: ssl.SSLSocket) -> None:
        one.sendall(part)
        for byte in (
            (b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 1000) if not part else bytes(1000)
        ):
            one.sendall(bytes([byte]))
            time.sleep(0.02)

    with asking(script, hasty) as (alder, server):
        alder.network.ask("birch", SLOT, 1000, lambda: 2)
        begun = time.monotonic()
        assert "does not answer" in sentence(alder)
        assert time.monotonic() - begun < 3.0
        while len(server.requests) < 2:
            assert time.monotonic() - begun < WAIT
            time.sleep(0.01)


def test_a_large_frame_has_time_by_its_size():
    """At the slowest speed that is allowed, one that takes longer than a long poll arrives."""
    slow = replace(QUICK, long_poll=0.2, patience=0.1, slowest=10_000.0)
    content = bytes(20_000)

    def script(one: ssl.SSLSocket) -> None:
        one.sendall(response("200 OK", f"Content-Length: {len(content)}\r\n"))
        for start in range(0, len(content), 1000):
            one.sendall(content[start : start + 1000])
            time.sleep(0.05)

    with asking(script, slow) as (alder, _):
        found = alder.network.ask("birch", SLOT, len(content), lambda: 2)
        assert found.result(WAIT) == content
        assert alder.troubles == []


def test_who_says_not_yet_at_once_is_not_asked_without_pause():
    times = []

    def script(one: ssl.SSLSocket) -> None:
        while True:
            times.append(time.monotonic())
            one.sendall(response("204 No Content"))
            if not head_of(one):
                return

    with asking(script) as (alder, _):
        alder.network.ask("birch", SLOT, 5, lambda: 2)
        time.sleep(1.0)
        assert 2 <= len(times) <= 8  # 0.05 + 0.1 + 0.2 + 0.2 + ...


def test_cookies_are_not_kept_and_nothing_of_this_machine_is_said():
    answer = response(
        "500 Oh", "Set-Cookie: a=b\r\nContent-Length: 0\r\nConnection: close\r\n"
    )
    with asking(answering(answer)) as (alder, server):
        # Cookies of numerical addresses are never kept.
        alder.network.locate("birch", server.url.replace(LOOPBACK, "localhost"))
        alder.network.ask("birch", SLOT, 5, lambda: 2)
        while len(server.requests) < 3:
            time.sleep(0.01)
        for request in server.requests:
            assert b"ookie" not in request
            assert b"ser-" not in request  # User-Agent
            assert b"ncoding" not in request


# ------------------------------------------------------------------ who answers
def test_another_certificate_than_the_one_of_the_card_is_refused_with_likely_causes():
    with asking(answering(b""), name="cedar") as (alder, server):
        alder.network.ask("birch", SLOT, 5, lambda: 2)
        told = sentence(alder)
        assert "another certificate" in told
        assert "a proxy inspects" in told
        assert "mailbox" in told
        assert server.requests == []


def test_a_certificate_that_the_right_one_issued_is_not_the_right_one():
    """Trust is in one certificate, not in what its key signs, also where it may sign others."""
    authority, leaf = issued()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(leaf)
    with HostileServer("birch", answering(b""), context) as server:
        alder = started("alder", ["birch"])
        try:
            alder.network.trust("birch", authority)
            alder.network.locate("birch", server.url)
            alder.network.ask("birch", SLOT, 5, lambda: 2)
            assert "another certificate" in sentence(alder)
            assert server.requests == []
        finally:
            alder.network.close()


def test_tls_1_2_is_not_spoken():
    old = showing("birch", ssl.TLSVersion.TLSv1_2)
    with asking(answering(b""), context=old) as (alder, server):
        alder.network.ask("birch", SLOT, 5, lambda: 2)
        assert "no TLS 1.3" in sentence(alder)
        assert server.requests == []


def test_who_is_refused_for_its_certificate_is_told_so():
    """In TLS 1.3 the handshake has succeeded for the client when the server refuses it."""
    with sites("alder") as (alder,):
        cedar = started("cedar", ["alder"], urls={"alder": alder.url})
        try:
            cedar.network.ask("alder", SLOT, 5, lambda: 2)
            assert "does not know this site's certificate" in sentence(cedar)
        finally:
            cedar.network.close()


@pytest.mark.parametrize(
    ("url", "words"),
    [
        (f"https://{LOOPBACK}:1", "Nothing listens at"),
        ("https://no-such-site.invalid:8443", "is not known here"),
    ],
)
def test_a_wrong_address_is_named(url, words):
    alder = started("alder", ["birch"], urls={"birch": url})
    try:
        alder.network.ask("birch", SLOT, 5, lambda: 2)
        assert words in sentence(alder)
    finally:
        alder.network.close()


# ------------------------------------------------------------------ proxies
def test_a_connect_proxy_leaves_tls_from_end_to_end():
    with Proxy() as proxy:
        birch = started("birch", ["alder"])
        settings = replace(QUICK, proxy=proxy.url)
        alder = started("alder", ["birch"], settings, urls={"birch": birch.url})
        try:
            for step in range(3):
                slot = Slot(0, 3, step)
                birch.show(slot, "alder", b"frame")
                found = alder.network.ask("birch", slot, 5, lambda: 2)
                assert found.result(WAIT) == b"frame"
            first = f"CONNECT {LOOPBACK}:{birch.network.port} HTTP/1.1"
            assert proxy.asked == [first]  # the connection is kept
        finally:
            alder.network.close()
            birch.network.close()


def test_a_proxy_that_opens_tls_is_found_out():
    with Proxy(inspecting=showing("proxy")) as proxy, sites("birch") as (birch,):
        settings = replace(QUICK, proxy=proxy.url)
        alder = started("alder", ["birch"], settings, urls={"birch": birch.url})
        try:
            alder.network.ask("birch", SLOT, 5, lambda: 2)
            told = sentence(alder)
            assert "a proxy inspects this connection" in told
            assert "ask for an exemption, or use a mailbox" in told
        finally:
            alder.network.close()


def test_a_proxy_that_refuses_or_is_away_is_named():
    with Proxy(refuse="407 Proxy Authentication Required") as proxy:
        settings = replace(QUICK, proxy=proxy.url)
        urls = {"birch": f"https://{LOOPBACK}:1"}
        alder = started("alder", ["birch"], settings, urls=urls)
        try:
            alder.network.ask("birch", SLOT, 5, lambda: 2)
            assert f"The proxy {proxy.url} refuses" in sentence(alder)
            assert "407" in sentence(alder)
        finally:
            alder.network.close()
    alder = started("alder", ["birch"], settings, urls=urls)
    try:
        alder.network.ask("birch", SLOT, 5, lambda: 2)
        assert f"The proxy {settings.proxy} cannot be reached" in sentence(alder)
    finally:
        alder.network.close()


def test_a_proxy_in_the_environment_is_ignored(monkeypatch):
    with Proxy() as proxy:
        for name in ("https_proxy", "HTTPS_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        with sites("alder", "birch") as (alder, birch):
            birch.show(SLOT, "alder", b"frame")
            alder.network.ask("birch", SLOT, 5, lambda: 2).result(WAIT)
        assert proxy.asked == []


@pytest.mark.parametrize("proxy", ["proxy:3128", "", "ftp://proxy", "http://a b"])
def test_a_proxy_that_is_none_is_refused(proxy):
    with pytest.raises(InputError, match="proxy must be http://HOST:PORT"):
        Network(RUN, identity("alder"), [], Shown(), replace(QUICK, proxy=proxy))


def test_the_password_of_a_proxy_is_not_shown():
    assert without_user("http://me:secret@proxy:3128") == "http://proxy:3128"
    assert without_user("http://proxy:3128") == "http://proxy:3128"
    assert without_user(None) == ""
