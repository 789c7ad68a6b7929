"""Children of a pool are started: by a server that has imported everything, or as an interpreter.

The server (`dpdl.studies.pool_server`) belongs to this process and is started with its first child.
Where there is none, because the system cannot fork safely or because it does not start, a child is
a fresh interpreter, which takes two seconds longer and does the same.
"""

from __future__ import annotations

import atexit
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Protocol, final

from dpdl.records import Record
from dpdl.studies.pool_messages import HEAD, KILL, START, ChildPlace, ChildProcess

OF_INTERPRETER = ("PYTHON", "OMP_", "MKL_", "KMP_", "OPENBLAS_", "LD_", "TORCH")
"""What such variables say is asked for once, before or while modules are imported."""
LEAVING = 5.0
"""Seconds that a server has to leave."""


class StartedChild(Protocol):
    """A process with two pipes of lines."""

    orders: IO[str]  # its standard input
    news: IO[str]  # what it writes

    def wait(self) -> int:
        """Wait until it has ended; its exit code, -N if signal N ended it."""

    def kill(self) -> None:
        """End it, unless it has ended."""


class StartChild(Protocol):
    """Whatever starts children."""

    def __call__(self, environment: Mapping[str, str]) -> StartedChild:
        """A child in this folder."""


@final
class FreshInterpreter:
    """A child that is a fresh interpreter."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "dpdl.studies.pool_child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=environment,
            start_new_session=True,
        )
        assert self._process.stdin and self._process.stdout
        self.orders, self.news = self._process.stdin, self._process.stdout

    def wait(self) -> int:
        """Its exit code."""
        return self._process.wait()

    def kill(self) -> None:
        """At once."""
        self._process.kill()


class ServerGone(Exception):
    """The server has left."""


@final
class ChildServer:
    """The parent's end of a `PoolServer`."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = _of_interpreter(environment)
        self._owner = os.getpid()
        self._starting, self._asked = threading.Lock(), threading.Lock()
        self._started: SimpleQueue[ForkedChild | None] = SimpleQueue()
        self._going: dict[int, ForkedChild] = {}
        self._asking, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "dpdl.studies.pool_server",
                    str(theirs.fileno()),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environment,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def process(self) -> int:
        """Its number."""
        return self._process.pid

    def serves(self, environment: Mapping[str, str]) -> bool:
        """Whether it belongs to this process, is there, and imported what such a child would."""
        here = self._owner == os.getpid() and self._process.poll() is None
        return here and self._environment == _of_interpreter(environment)

    def start(self, environment: Mapping[str, str]) -> ForkedChild:
        """A child in this folder."""
        theirs, orders = os.pipe()
        news, theirs_too = os.pipe()
        try:
            child = self._forked(environment, [theirs, theirs_too])
        finally:
            os.close(theirs)
            os.close(theirs_too)
        if child is None:
            os.close(orders)
            os.close(news)
            raise ServerGone
        child.orders = os.fdopen(orders, "w")
        child.news = os.fdopen(news, errors="replace")
        return child

    def _forked(
        self, environment: Mapping[str, str], pipes: list[int]
    ) -> ForkedChild | None:
        try:
            place = ChildPlace(str(Path.cwd()), dict(environment))
            with self._starting:
                self._ask(START, place, pipes)
                return self._started.get()
        except OSError:
            return None

    def kill(self, process: int) -> None:
        """End a child, unless it has ended."""
        with suppress(OSError):
            self._ask(KILL, ChildProcess(process), [])

    def leave(self) -> None:
        """Nothing more will be asked; a process that was forked from its owner may not say so."""
        if self._owner != os.getpid():
            return
        with suppress(OSError):
            self._asking.shutdown(socket.SHUT_RDWR)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(LEAVING)

    def _ask(self, kind: bytes, what: Record, pipes: list[int]) -> None:
        content = json.dumps(what.to_json()).encode()
        head = HEAD.pack(kind, len(content))
        with self._asked:
            socket.send_fds(self._asking, [head], pipes)
            self._asking.sendall(content)

    def _listen(self) -> None:
        with self._asking, suppress(OSError), self._asking.makefile() as lines:
            for line in lines:
                self._hear(ChildProcess.from_json(json.loads(line)))
        for child in self._going.values():
            child.end(None)
        self._started.put(None)

    def _hear(self, news: ChildProcess) -> None:
        if news.code is None:
            child = ForkedChild(self, news.process)
            self._going[news.process] = child
            self._started.put(child)
        else:
            self._going.pop(news.process).end(news.code)


@final
class ForkedChild:
    """A child of the server."""

    orders: IO[str]
    news: IO[str]

    def __init__(self, server: ChildServer, process: int) -> None:
        self.process = process
        self._server = server
        self._code: int | None = None
        self._over = threading.Event()

    def end(self, code: int | None) -> None:
        """It has ended; None: its server has, and nobody knows."""
        self._code = code
        self._over.set()

    def wait(self) -> int:
        """Its exit code; 1 if nobody knows."""
        self._over.wait()
        return 1 if self._code is None else self._code

    def kill(self) -> None:
        """Through the server, which knows whether the number is still its own."""
        self._server.kill(self.process)


@final
class ChildStarter:
    """Starts children, with one server for all of this process."""

    def __init__(self) -> None:
        self._server: ChildServer | None = None
        self._changing = threading.Lock()

    def __call__(self, environment: Mapping[str, str]) -> StartedChild:
        """Forked, if that can be."""
        if sys.platform == "linux":
            for _ in range(2):  # it may leave, idle for long, while it is asked
                with suppress(ServerGone):
                    return self.server(environment).start(environment)
        return FreshInterpreter(environment)

    def server(self, environment: Mapping[str, str]) -> ChildServer:
        """The one that serves such children, started if it is not there."""
        with self._changing:
            if self._server is None or not self._server.serves(environment):
                self._leave()
                self._server = ChildServer(environment)
            return self._server

    def leave(self) -> None:
        """End the server, if there is one; children that go on do so."""
        with self._changing:
            self._leave()

    def _leave(self) -> None:
        if self._server is not None:
            self._server.leave()
        self._server = None


def _of_interpreter(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(OF_INTERPRETER)
    }


start_child = ChildStarter()
"""For all pools of this process."""
atexit.register(start_child.leave)
