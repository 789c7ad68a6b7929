"""A process that has imported everything, and forks a child for each run of a pool.

Importing torch and the accounting library takes two seconds, as long as many a run of a search.
Here it is done once: `python -m dpdl.studies.pool_server FD` imports, then waits for requests on a
socket, whose number it is given, and does nothing else. So every child has what a fresh interpreter
has after its imports: no thread but its own, nothing drawn, nothing computed, and its number of
cores not asked for yet.

A request is its kind, its length and a JSON object. START brings the two ends of the child's pipes,
its folder and its environment; the answer is its process. KILL ends one that has not ended. When a
child has ended, its exit code is told. The server leaves when the other end of the socket is
closed, which leaves its children as they are, or when it had no child for a while.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import NoReturn, final

from dpdl.studies import pool_child
from dpdl.studies.pool_messages import HEAD, START, ChildPlace, ChildProcess

IDLE = 60.0
"""Seconds without a child after which the server leaves."""


@final
class PoolServer:
    """Forks children on request, and tells how they end."""

    def __init__(
        self, asked: socket.socket, work: Callable[[], None] = pool_child.main
    ) -> None:
        self._asked, self._work = asked, work
        self._children: set[int] = set()
        # A signal ends `select` through this pipe, and nothing is missed in between.
        self._ended, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        signal.set_wakeup_fd(self._wake)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def serve(self, idle: float = IDLE) -> None:
        """Until nobody can ask any more, or nobody has for a while."""
        while ready := self._wait(None if self._children else idle):
            if self._ended in ready:
                os.read(self._ended, 4096)
                self._reap()
            if self._asked.fileno() in ready and not self._answer():
                return

    def _wait(self, seconds: float | None) -> list[int]:
        both = [self._asked.fileno(), self._ended]
        return select.select(both, [], [], seconds)[0]

    def _answer(self) -> bool:
        """Do what is asked for; False: nobody is there."""
        head, pipes, _, _ = socket.recv_fds(self._asked, HEAD.size, 2)
        if not head:
            return False
        kind, length = HEAD.unpack(head)
        content = json.loads(self._asked.recv(length, socket.MSG_WAITALL))
        if kind == START:
            self._start(ChildPlace.from_json(content), *pipes)
        else:
            self._kill(ChildProcess.from_json(content).process)
        return True

    def _start(self, place: ChildPlace, orders: int, news: int) -> None:
        process = _forked()
        if process == 0:
            self._become_child(place, orders, news)
        os.close(orders)
        os.close(news)
        self._children.add(process)
        self._tell(ChildProcess(process))

    def _become_child(self, place: ChildPlace, orders: int, news: int) -> NoReturn:
        """As `python -m dpdl.studies.pool_child`, in a session of its own."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setsid()
            settle(place, orders, news)
            for one in (self._asked.detach(), self._ended, self._wake, orders, news):
                os.close(one)
            self._work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def _kill(self, process: int) -> None:
        if process in self._children:  # not waited for, so the number is still its own
            os.kill(process, signal.SIGKILL)

    def _reap(self) -> None:
        for process in list(self._children):
            done, status = os.waitpid(process, os.WNOHANG)
            if done:
                self._children.remove(process)
                code = os.waitstatus_to_exitcode(status)
                self._tell(ChildProcess(process, code))

    def _tell(self, news: ChildProcess) -> None:
        self._asked.sendall(json.dumps(news.to_json()).encode() + b"\n")


def _forked() -> int:
    """Python 3.12 warns of threads; those of OpenBLAS, the only ones, are made for it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def settle(place: ChildPlace, orders: int, news: int) -> None:
    """Be where a fresh interpreter would be: its folder, its environment, its pipes."""
    import numpy as np
    import torch

    os.dup2(orders, 0)
    os.dup2(news, 1)
    os.dup2(news, 2)
    os.environ.clear()
    os.environ.update(place.environment)
    os.chdir(place.folder)
    if not sys.flags.safe_path:
        sys.path[0] = place.folder  # as `-m` has it
    # Nothing of ours draws from these, but a person's own function may.
    np.random.seed()
    torch.seed()


def main() -> None:
    """Serve the socket whose number is the argument."""
    import dp_accounting.pld  # noqa: F401 - children need it, too

    with socket.socket(fileno=int(sys.argv[1])) as asked:
        PoolServer(asked).serve()


if __name__ == "__main__":
    main()
