"""What a site lets in: nobody without a known certificate, and nobody beyond the bounds."""

from __future__ import annotations

import contextlib
import socket
import ssl
import time
from contextlib import ExitStack
from dataclasses import replace

import pytest

from dpdl.peer.certificates import sha256_of
from dpdl.peer.frame import Slot
from tests.peer.authority import issued
from tests.peer.hostile import asked, calling, connect
from tests.peer.sites import (
    LOOPBACK,
    QUICK,
    RUN,
    WAIT,
    certified,
    refusals,
    serves,
    sites,
)

SLOT = Slot(0, 3, 1)
FRAME = f"GET /v1/{RUN}/0/3-1"
END = b"\r\n"


# ------------------------------------------------------------------ who is let in
@pytest.mark.parametrize("who", ["stranger", None], ids=["stranger", "no certificate"])
def test_who_is_not_known_is_refused_at_once_and_noted(who):
    with sites("alder", "birch") as (alder, birch):
        alder.show(SLOT, "stranger", b"frame")
        begun = time.monotonic()
        assert asked(alder.network.port, who, FRAME, END) == b""
        assert time.monotonic() - begun < 1.0  # 0.01 s where the machine is idle
        assert "certificate" in refusals(alder)[0]
        serves(alder, birch)


def test_the_second_time_the_fingerprint_of_a_stranger_is_noted():
    with sites("alder", "birch") as (alder, birch):
        for _ in range(5):
            assert asked(alder.network.port, "stranger", FRAME, END) == b""
        fingerprint = sha256_of(certified("stranger")[2])
        assert [fingerprint in one for one in refusals(alder, 2)] == [False, True]
        serves(alder, birch)


def test_plain_text_is_refused():
    with sites("alder", "birch") as (alder, birch):
        with socket.create_connection((LOOPBACK, alder.network.port), WAIT) as plain:
            plain.sendall(f"{FRAME} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            begun = time.monotonic()
            with contextlib.suppress(ConnectionError):
                assert b"HTTP" not in plain.recv(4096)
            assert time.monotonic() - begun < 1.0
        assert "did not speak TLS 1.3" in refusals(alder)[0]
        serves(alder, birch)


def test_tls_1_2_is_refused_also_with_a_known_certificate():
    with sites("alder", "birch") as (alder, birch):
        with pytest.raises(OSError, match=r"(?i)version|eof|reset"):
            connect(alder.network.port, calling("birch", ssl.TLSVersion.TLSv1_2))
        assert "did not speak TLS 1.3" in refusals(alder)[0]
        serves(alder, birch)


def test_a_handshake_that_is_not_finished_ends():
    hasty = replace(QUICK, handshake=0.2)
    with sites("alder", "birch", settings=hasty) as (alder, birch):
        with socket.create_connection((LOOPBACK, alder.network.port), WAIT) as silent:
            begun = time.monotonic()
            assert silent.recv(1) == b""
            assert 0.1 < time.monotonic() - begun < 1.5
        assert refusals(alder) == ["It did not finish the TLS handshake in time."]
        serves(alder, birch)


def test_silent_callers_do_not_keep_neighbours_out():
    """Where all places are taken by handshakes, the oldest of them gives way."""
    narrow = replace(QUICK, connections=8, handshake=30.0)
    with (
        sites("alder", "birch", settings=narrow) as (alder, birch),
        ExitStack() as held,
    ):
        for _ in range(50):
            one = socket.create_connection((LOOPBACK, alder.network.port), WAIT)
            held.enter_context(one)
        serves(alder, birch)


def test_one_neighbour_has_so_many_connections_and_the_others_are_served():
    narrow = replace(QUICK, connections_each=4)
    with (
        sites("alder", "birch", "cedar", settings=narrow) as (alder, birch, _),
        ExitStack() as stack,
    ):
        context = calling("cedar")
        held = [
            stack.enter_context(connect(alder.network.port, context)) for _ in range(30)
        ]
        assert refusals(alder) == ["cedar has too many connections."]
        assert sum(map(_is_open, held)) == 4
        serves(alder, birch)


def _is_open(one: ssl.SSLSocket) -> bool:
    one.settimeout(0.1)
    try:
        return one.recv(1) != b""
    except TimeoutError:
        return True
    except OSError:
        return False


def test_a_certificate_that_a_known_one_issued_is_of_nobody():
    authority, leaf = issued()
    with sites("alder", "birch") as (alder, birch):
        alder.network.trust("birch", authority)
        context = calling(None)
        context.load_cert_chain(leaf)
        with connect(alder.network.port, context) as one:
            one.sendall(f"{FRAME} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            assert b" 403 " in one.recv(4096)
        assert refusals(alder) == ["Its certificate is of no neighbour."]
        serves(alder, birch)


def test_headers_that_drip_are_given_up():
    hasty = replace(QUICK, idle=0.3)
    with sites("alder", "birch", settings=hasty) as (alder, birch):
        with connect(alder.network.port, calling("birch")) as one:
            begun = time.monotonic()
            one.sendall(b"GET /")
            while _takes(one, b"x") and time.monotonic() - begun < WAIT:
                time.sleep(0.02)
            assert time.monotonic() - begun < 3.0
        serves(alder, birch)


def _takes(one: ssl.SSLSocket, content: bytes) -> bool:
    try:
        one.sendall(content)
    except OSError:
        return False
    return True


def test_requests_that_wait_behind_a_poll_are_not_all_read():
    """A neighbour may send requests without waiting for answers; memory is bounded."""
    request = f"{FRAME} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    with sites("alder", "birch", settings=replace(QUICK, long_poll=20.0)) as (
        alder,
        birch,
    ):
        with connect(alder.network.port, calling("birch")) as one:
            one.settimeout(0.5)
            with pytest.raises(TimeoutError):
                one.sendall(request * 256_000)  # 20 MB: buffers have less
        serves(alder, birch)


def test_who_hangs_up_makes_room_at_once():
    with sites("alder", "birch", settings=replace(QUICK, long_poll=20.0)) as (
        alder,
        birch,
    ):
        for step in range(10, 10 + 2 * QUICK.requests):
            with connect(alder.network.port, calling("birch")) as one:
                path = f"GET /v1/{RUN}/0/3-{step}?have={step}"
                one.sendall(f"{path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
                while alder.shelf.durable.get("birch") != step:
                    assert not one.pending()
                    time.sleep(0.005)
            time.sleep(0.05)
        serves(alder, birch)


def test_a_poll_that_is_left_of_a_broken_link_gives_way():
    """All places are taken by what is left; the same poll is answered nevertheless."""
    with (
        sites("alder", "birch", settings=replace(QUICK, long_poll=20.0)) as (
            alder,
            birch,
        ),
        ExitStack() as stack,
    ):
        for _ in range(4):
            one = connect(alder.network.port, calling("birch"))
            stack.enter_context(one)
            one.sendall(f"{FRAME} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            time.sleep(0.05)
        found = birch.network.ask("alder", SLOT, 5, lambda: 2)
        time.sleep(0.2)
        alder.show(SLOT, "birch", b"frame")
        assert found.result(2.0) == b"frame"
