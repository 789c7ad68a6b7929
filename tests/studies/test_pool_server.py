"""A server forks children that are like fresh interpreters, and tells how each of them ends."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpdl.studies.pool_messages import HEAD, KILL, START, ChildPlace, ChildProcess
from dpdl.studies.pool_server import IDLE

SERVE = """
import os, socket, sys
from dpdl.studies.pool_server import PoolServer
def work():
    exec(os.environ["DPDL_TOLD"], {})
with socket.socket(fileno=int(sys.argv[1])) as asked:
    PoolServer(asked, work).serve(float(sys.argv[2]))
"""
"""A server whose children do what their environment says."""


class Asking:
    """The other end of a server, without anything of ours."""

    def __init__(self, idle: float) -> None:
        self.socket, theirs = socket.socketpair()
        self.socket.settimeout(60)
        words = [sys.executable, "-c", SERVE, str(theirs.fileno()), str(idle)]
        with theirs:
            self.server = subprocess.Popen(words, pass_fds=[theirs.fileno()])
        self._lines = self.socket.makefile()

    def start(self, code: str, folder: Path, **environment: str) -> tuple[int, int]:
        """A child that runs the code; its number, and where its words come from."""
        orders, news = os.pipe(), os.pipe()
        names = {**os.environ, "DPDL_TOLD": code, **environment}
        del names["PATH"]  # the server has it
        self.ask(START, ChildPlace(str(folder), names), [orders[0], news[1]])
        for one in (*orders, news[1]):
            os.close(one)
        return self.told().process, news[0]

    def ask(self, kind: bytes, what: ChildPlace | ChildProcess, pipes: list[int]):
        content = json.dumps(what.to_json()).encode()
        socket.send_fds(self.socket, [HEAD.pack(kind, len(content))], pipes)
        self.socket.sendall(content)

    def told(self) -> ChildProcess:
        return ChildProcess.from_json(json.loads(self._lines.readline()))

    def end(self) -> None:
        self._lines.close()
        self.socket.close()
        assert self.server.wait(30) == 0


@pytest.fixture(scope="module")
def asking() -> Iterator[Asking]:
    made = Asking(IDLE)
    yield made
    made.end()


def said(news: int) -> str:
    with os.fdopen(news) as lines:
        return lines.read()


def test_a_child_is_where_a_fresh_interpreter_would_be(
    asking: Asking, tmp_path: Path
) -> None:
    code = (
        "import os, sys; print(os.getcwd(), sys.path[0], os.environ['DPDL_ONE'], "
        "'PATH' in os.environ, os.getsid(0) == os.getpid(), sys.stdin.read() == '', "
        "len(os.listdir('/proc/self/task')), sorted(os.listdir('/proc/self/fd'))[:3])"
    )
    os.environ.pop("DPDL_ONE", None)
    process, news = asking.start(code, tmp_path, DPDL_ONE="two")
    assert said(news).split(" ", 7) == [
        *(str(tmp_path), str(tmp_path), "two", "False"),
        *("True", "True", "1", "['0', '1', '2']\n"),
    ]
    assert asking.told() == ChildProcess(process, 0)


def test_children_draw_apart_and_know_nothing_of_their_cores(
    asking: Asking, tmp_path: Path
) -> None:
    """As fresh interpreters: what nobody seeded is another one in each."""
    code = (
        "import numpy, random, torch, dpdl.parallel as p; print(random.random(), "
        "float(torch.rand(1)), numpy.random.rand(), p.cores.cache_info().currsize)"
    )
    heard = []
    for _ in range(2):
        process, news = asking.start(code, tmp_path)
        heard.append(said(news).split())
        assert asking.told() == ChildProcess(process, 0)
    (*drawn, cores), (*others, _) = heard
    assert cores == "0", "not asked for before there was a child"
    assert all(one != other for one, other in zip(drawn, others, strict=True))


@pytest.mark.parametrize(
    ("code", "ended", "words"),
    [
        ("raise SystemExit(3)", 1, "SystemExit: 3"),
        ("1 / 0", 1, "ZeroDivisionError"),
        ("import os; os._exit(7)", 7, ""),
        ("import os; os.kill(os.getpid(), 15)", -15, ""),
    ],
)
def test_how_a_child_ended_is_told(
    asking: Asking, tmp_path: Path, code: str, ended: int, words: str
) -> None:
    process, news = asking.start(code, tmp_path)
    assert words in said(news)
    assert asking.told() == ChildProcess(process, ended)


def test_children_are_killed_one_by_one_and_none_that_has_ended(
    asking: Asking, tmp_path: Path
) -> None:
    forever = "import time; time.sleep(600)"
    (one, first), (other, second) = (asking.start(forever, tmp_path) for _ in range(2))
    asking.ask(KILL, ChildProcess(one), [])
    assert asking.told() == ChildProcess(one, -signal.SIGKILL)
    asking.ask(KILL, ChildProcess(one), [])  # a number that somebody else may have
    asking.ask(KILL, ChildProcess(os.getpid()), [])
    asking.ask(KILL, ChildProcess(other), [])
    assert asking.told() == ChildProcess(other, -signal.SIGKILL)
    assert said(first) == said(second) == ""


def test_a_server_leaves_with_its_owner_and_its_children_stay(tmp_path: Path) -> None:
    asking = Asking(IDLE)
    process, news = asking.start("import time; time.sleep(600)", tmp_path)
    asking.end()
    try:
        os.kill(process, 0)  # it is there
        assert not select.select([news], [], [], 0)[0]
    finally:
        os.kill(process, signal.SIGKILL)
        os.close(news)


def test_a_server_without_children_leaves_after_a_while(tmp_path: Path) -> None:
    asking = Asking(0.2)
    code = "import time; time.sleep(0.5); print('well')"
    process, news = asking.start(code, tmp_path)  # longer than that
    assert said(news) == "well\n" and asking.told() == ChildProcess(process, 0)
    assert asking.server.wait(30) == 0
    asking.end()
