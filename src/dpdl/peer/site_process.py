"""`dpdl peer run` as a child of a measurement or a rehearsal, which ends when its parent does.

A parent that is killed tells nobody. But then the pipe to the child's standard input has no other
end any more, and the child, which does nothing but wait for that there, stops.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from dpdl.peer.home import Home
from dpdl.peer.run_folder import PeerRun

STDIN = 0


def start_site(
    home: Home, run: PeerRun, log: IO[bytes], cores: int, tracer: Sequence[str] = ()
) -> subprocess.Popen[bytes]:
    """The process of a site, with so many cores; `tracer` are words before the command."""
    words = ["peer", "run", run.path.name, "--home", str(home.path), "--until-eof"]
    return subprocess.Popen(
        [*tracer, sys.executable, "-m", "dpdl", *words],
        stdin=subprocess.PIPE,  # nothing is ever written
        stdout=log,
        stderr=log,
        env={**os.environ, "DPDL_CORES": str(cores)},
        start_new_session=True,  # strace does not pass signals on
    )


def last_words(log: Path) -> str:
    """The last line that a process has written."""
    said = log.read_text("utf-8", "replace").strip().splitlines()
    return (said or ["it said nothing"])[-1]


def when_alone(stop: Callable[[], None], stdin: int = STDIN) -> threading.Thread:
    """Call `stop` when nobody holds the other end of standard input."""

    def wait() -> None:
        while os.read(stdin, 1 << 10):
            pass
        stop()

    thread = threading.Thread(target=wait, name="dpdl-peer-alone", daemon=True)
    thread.start()
    return thread
