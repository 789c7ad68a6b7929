"""What requests of known sites get: an answer within bounds, or a status."""

from __future__ import annotations

import contextlib
import ssl
import time
from contextlib import ExitStack
from dataclasses import replace

import pytest

from dpdl.peer.frame import Slot
from tests.peer.hostile import asked, calling, connect
from tests.peer.sites import (
    QUICK,
    RUN,
    WAIT,
    certified,
    refusals,
    serves,
    sites,
    started,
)

SLOT = Slot(0, 3, 1)
FRAME = f"GET /v1/{RUN}/0/3-1"
END = b"\r\n"


# ------------------------------------------------------------------ what is answered
@pytest.mark.parametrize("size", [5, 20_000, (1 << 18) + 1])
def test_an_answer_has_a_length_and_no_header_that_nobody_reads(size):
    with sites("alder", "birch") as (alder, _):
        alder.show(SLOT, "birch", bytes(size))
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n".encode()
        line = f"{FRAME} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
        with connect(alder.network.port, calling("birch")) as one:
            one.sendall(line)
            assert _all_of(one) == head + bytes(size)


@pytest.mark.parametrize(
    ("request_line", "headers", "status"),
    [
        (f"GET /v1/{'cd' * 32}/0/3-1", "", 409),
        (f"GET /v1/{RUN}/0/3-1?have=-1", "", 400),
        (f"GET /v1/{RUN}/0/3-1?have=9e99", "", 400),
        (f"GET /v1/{RUN}/0/3-1?have={'9' * 40}", "", 400),
        (f"GET /v1/{RUN}/0/03-1", "", 404),
        (f"GET /v1/{RUN}/0/{'9' * 30}-1", "", 404),
        (f"GET /v1/{RUN}/../../etc/passwd", "", 404),
        (f"GET /v1/{RUN}/card/..%2f..%2fid.key", "", 404),
        ("GET /", "", 404),
        (f"POST /v1/{RUN}/hello", "Content-Length: 1\r\n", 405),
        (f"GET /v1/{RUN}/hello", "", 405),
        (f"PUT /v1/{RUN}/0/3-1", "Content-Length: 0\r\n", 405),
        (f"PUT /v1/{RUN}/hello", "", 411),
        (f"PUT /v1/{RUN}/hello", "Transfer-Encoding: chunked\r\n", 411),
        (f"PUT /v1/{RUN}/hello", "Content-Length: 65537\r\n", 413),
        (f"PUT /v1/{RUN}/hello", "Content-Length: 99999999999\r\n", 413),
        (f"PUT /v1/{RUN}/card/x", "Content-Length: 5\r\nContent-Encoding: gzip\r\n", 415),
        (f"GET /v1/{RUN}/hello", "Content-Length: 5\r\n", 413),
        (f"PUT /v1/{RUN}/answers/1/200", "Content-Length: 5\r\n", 404),
        (f"GET /v1/{RUN}/calls/", "", 404),
        (f"GET /v1/{RUN}/card/{'x' * 9000}", "", 400),
        ("nonsense", "", 400),
    ],
)  # fmt: skip
def test_a_request_that_is_wrong_gets_a_status_and_changes_nothing(
    request_line, headers, status
):
    with sites("alder", "birch") as (alder, birch):
        found = asked(alder.network.port, "birch", request_line, headers.encode() + END)
        assert found.startswith(f"HTTP/1.1 {status} ".encode()) or (
            status == 400 and found.startswith(b"HTTP/1.0 400 ")
        )
        assert alder.shelf.durable == {}
        assert alder.shelf.documents == {}
        serves(alder, birch)


def test_a_site_that_is_no_neighbour_any_more_gets_403():
    """Its certificate is trusted by TLS, but it is of nobody."""
    with sites("alder", "birch") as (alder, _):
        new = certified("birch-new")[2]
        alder.network.trust("birch", new)
        assert b" 404 " in asked(alder.network.port, "birch", "GET /", END)
        assert b" 404 " in asked(alder.network.port, "birch-new", "GET /", END)
        assert b" 403 " in asked(alder.network.port, "birch", "GET /", END)


# ------------------------------------------------------------------ bounds
def test_of_200_polls_four_wait_and_the_others_are_refused():
    many = replace(QUICK, connections_each=300, connections=400, long_poll=20.0)
    with (
        sites("alder", "birch", "cedar", settings=many) as (alder, birch, _),
        ExitStack() as stack,
    ):
        context = calling("cedar")
        polls = []
        for _ in range(200):
            one = stack.enter_context(connect(alder.network.port, context))
            one.sendall(f"{FRAME} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            polls.append(one)
        refused = [one for one in polls if _answered(one, b" 429 ")]
        assert len(refused) == 196
        serves(alder, birch)
        alder.show(SLOT, "cedar", b"frame")
        held = [one for one in polls if one not in refused]
        assert [_answered(one, b" 200 ") for one in held] == [True] * 4


def _answered(one: ssl.SSLSocket, status: bytes) -> bool:
    one.settimeout(0.5)
    try:
        return status in one.recv(4096)
    except TimeoutError:
        return False


def test_requests_that_fetch_nothing_new_are_bounded_by_the_rate():
    slow = replace(QUICK, rate=5.0)
    with sites("alder", "birch", settings=slow) as (alder, _):
        alder.show(SLOT, "birch", b"frame")
        with connect(alder.network.port, calling("birch")) as one:
            found = []
            for _ in range(30):
                one.sendall(f"{FRAME} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
                found.append(_response_to(one)[9:12])
            assert 5 <= found.count(b"200") <= 12
            assert found.count(b"429") == 30 - found.count(b"200")


def _response_to(one: ssl.SSLSocket) -> bytes:
    """One answer, with its body."""
    found = b""
    while not found.endswith((b"frame", b".")):
        found += one.recv(4096)
    return found


def test_training_may_be_faster_than_the_rate():
    slow = replace(QUICK, rate=5.0)
    with sites("alder", "birch", settings=slow) as (alder, birch):
        begun = time.monotonic()
        for round in range(50):
            slot = Slot(0, round, 0)
            alder.show(slot, "birch", b"frame")
            birch.network.ask("alder", slot, 5, lambda: 0).result(WAIT)
        assert time.monotonic() - begun < 5.0
        assert birch.troubles == []


def test_a_body_that_drips_is_given_up():
    hasty = replace(QUICK, long_poll=0.1, patience=0.3)
    with sites("alder", "birch", settings=hasty) as (alder, birch):
        with connect(alder.network.port, calling("birch")) as one:
            head = f"PUT /v1/{RUN}/hello HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n"
            one.sendall(head.encode())
            begun = time.monotonic()
            found = b""
            while not found and time.monotonic() - begun < WAIT:
                with contextlib.suppress(OSError):
                    one.sendall(b"x")
                found = _soon(one)
            assert b" 408 " in found
            assert time.monotonic() - begun < 3.0
        serves(alder, birch)


def _soon(one: ssl.SSLSocket) -> bytes:
    one.settimeout(0.05)
    try:
        return one.recv(4096)
    except TimeoutError:
        return b""


def test_who_does_not_read_its_answers_loses_the_connection_and_takes_few_at_once():
    hasty = replace(QUICK, patience=1.5, slowest=1e9)
    with sites("alder", "birch", settings=hasty) as (alder, birch), ExitStack() as held:
        alder.show(Slot(0, 2, 0), "birch", bytes(16 << 20))
        context = calling("birch")
        polls = [
            held.enter_context(connect(alder.network.port, context)) for _ in range(8)
        ]
        for one in polls:
            one.sendall(f"GET /v1/{RUN}/0/2-0 HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        time.sleep(2.5)
        read = [_all_of(one) for one in polls]
        assert sum(b" 429 " in one for one in read) == 8 - QUICK.requests
        assert max(map(len, read)) < 16 << 20
        serves(alder, birch)


def _all_of(one: ssl.SSLSocket) -> bytes:
    """What arrives until the other side closes, or says nothing more."""
    found = []
    one.settimeout(0.2)
    with contextlib.suppress(OSError):
        while more := one.recv(1 << 16):
            found.append(more)
    return b"".join(found)


def test_a_shelf_that_fails_is_told_and_the_site_goes_on():
    def fail(name: str, content: bytes) -> bytes:
        raise ZeroDivisionError("a mistake")

    birch = started("birch", ["alder"])
    try:
        birch.shelf.greet = fail
        path = f"PUT /v1/{RUN}/hello"
        found = asked(birch.network.port, "alder", path, b"Content-Length: 0\r\n" + END)
        assert b" 500 " in found
        assert refusals(birch) == ["It was not answered: a mistake."]
    finally:
        birch.network.close()
