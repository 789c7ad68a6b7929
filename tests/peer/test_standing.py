from __future__ import annotations

import threading

import pytest

from dpdl.errors import RunFailed
from dpdl.peer.failures import Stopped
from dpdl.peer.standing import UNKNOWN, Standing


def test_nothing_is_known_of_neighbours_before_they_speak():
    standing = Standing(["a", "b"])
    assert standing.least() == UNKNOWN
    assert standing.missing(0) == ["a", "b"]


def test_the_slowest_neighbour_decides_and_nobody_goes_back():
    standing = Standing(["a", "b"])
    standing.heard("a", 7)
    standing.heard("b", 5)
    standing.heard("a", 3)
    standing.heard("stranger", 1)
    assert standing.least() == 5
    assert standing.missing(6) == ["b"]
    assert standing.missing(7) == ["b"]
    assert standing.missing(5) == []


def test_the_first_failure_is_the_one_that_is_raised():
    standing = Standing([])
    standing.check()
    standing.fail(RunFailed("first"))
    standing.fail(RunFailed("second"))
    standing.stop()
    with pytest.raises(RunFailed, match="first"):
        standing.check()


def test_a_peer_that_is_asked_to_stop_stops():
    standing = Standing([])
    standing.stop()
    with pytest.raises(Stopped):
        standing.check()


def test_who_waits_is_woken_by_news():
    standing = Standing(["a"])
    woken = threading.Event()

    def wait() -> None:
        standing.wait(30)
        woken.set()

    thread = threading.Thread(target=wait)
    thread.start()
    while not woken.wait(0.01):
        standing.heard("a", standing.least() + 1)
    thread.join()
    assert standing.least() >= 0
