"""The relay that other tests rely on does what it says."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.peer.relay import BACK, HOST, Relay

WAIT = 5.0


@contextmanager
def echoing() -> Iterator[int]:
    """A server that sends back what it gets; its port."""
    with socket.create_server((HOST, 0)) as listening:
        ended = threading.Event()

        def serve_one(one: socket.socket) -> None:
            with one:
                try:
                    while content := one.recv(1 << 16):
                        one.sendall(content)
                except OSError:
                    return

        threads = []

        def serve() -> None:
            while not ended.is_set():
                try:
                    one, _ = listening.accept()
                except OSError:
                    return
                threads.append(threading.Thread(target=serve_one, args=(one,)))
                threads[-1].start()

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            ended.set()
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()
            for one in threads:
                one.join()


@contextmanager
def connected(delay: float = 0.0) -> Iterator[tuple[Relay, socket.socket]]:
    with (
        echoing() as port,
        Relay(port, delay) as relay,
        socket.create_connection((HOST, relay.port), WAIT) as caller,
    ):
        yield relay, caller


def test_bytes_pass_both_ways_after_the_delay():
    with connected(delay=0.05) as (relay, caller):
        begun = time.monotonic()
        caller.sendall(b"abc")
        assert caller.recv(3) == b"abc"
        assert 0.1 <= time.monotonic() - begun < 1
        assert relay.passed == {"out": 3, "back": 3}


def test_what_waits_behind_a_cut_passes_when_it_is_healed():
    with connected() as (relay, caller):
        relay.cut(BACK)
        caller.sendall(b"abc")
        caller.settimeout(0.1)
        with pytest.raises(TimeoutError):
            caller.recv(3)
        relay.heal()
        caller.settimeout(WAIT)
        assert caller.recv(3) == b"abc"
        assert relay.passed["out"] == 3


def test_dropped_connections_are_reset_and_new_ones_pass():
    with connected() as (relay, caller):
        caller.sendall(b"abc")
        assert caller.recv(3) == b"abc"
        relay.drop()
        assert _ended(caller)
        with socket.create_connection((HOST, relay.port), WAIT) as again:
            again.sendall(b"abc")
            assert again.recv(3) == b"abc"
        assert relay.connections == 2


def test_half_of_an_answer_arrives():
    with connected() as (relay, caller):
        relay.halve()
        caller.sendall(b"abcd")
        assert caller.recv(4) == b"ab"
        assert _ended(caller)


def _ended(caller: socket.socket) -> bool:
    try:
        return caller.recv(1) == b""
    except ConnectionResetError:
        return True
