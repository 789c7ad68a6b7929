"""A command in this process: what it prints, how it ends, what it changes, and whether that is right."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from dpdl.cli import outcome

SOFT = 1.0
"""Seconds of computing after which a command is asked to stop, as by Ctrl-C."""
WAITING = 1.0
"""Seconds by the clock; one that computes next to nothing in two of them only waits, as a server
does, and is asked to stop."""
IDLE = 0.01
"""Seconds of computing that are next to nothing."""
HARD, WALL = 20.0, 300.0
"""Seconds of computing, and by the clock, after which it hangs."""
CODES = (0, 2, 3, 4, 130)
LONGEST = 300


class Hang(BaseException):
    """A command does not end, though it was asked to."""


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int | None  # None: with an exception that nobody caught
    out: str
    err: str
    seconds: float


@contextlib.contextmanager
def asked_to_stop(soft: float, hard: float) -> Iterator[None]:
    """Ctrl-C after some seconds, and again; `Hang` when that does not help."""
    started, clock = time.process_time(), time.monotonic()
    last, idle = started, 0

    def ring(number: int, frame: FrameType | None) -> None:
        computed = time.process_time() - started
        if computed > soft + hard or time.monotonic() - clock > soft + WALL:
            raise Hang
        os.kill(os.getpid(), signal.SIGINT)

    def look(number: int, frame: FrameType | None) -> None:
        nonlocal last, idle
        now = time.process_time()
        last, idle = now, idle + 1 if now - last < IDLE else 0
        if idle >= 2:
            ring(number, frame)

    handlers = {
        signal.SIGPROF: ring,
        signal.SIGALRM: look,
        signal.SIGINT: signal.default_int_handler,
    }
    before = {number: signal.signal(number, to) for number, to in handlers.items()}
    signal.setitimer(signal.ITIMER_PROF, soft, 4.0)
    signal.setitimer(signal.ITIMER_REAL, WAITING, WAITING)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def no_longer_than(seconds: float) -> Iterator[None]:
    """`Hang` after so many seconds of computing."""
    before = signal.signal(signal.SIGPROF, _hang)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _hang(number: int, frame: FrameType | None) -> None:
    raise Hang


def performed(words: Sequence[str], seconds: float = SOFT) -> Done:
    """A command as `main` runs it, with its output; no other process is started by it."""
    out, err = (
        io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace") for _ in "12"
    )
    started, code = time.monotonic(), None
    python = sys.executable
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("error")
        # As for people: whoever is interrupted leaves files to be closed at the end.
        warnings.simplefilter("ignore", ResourceWarning)
        sys.executable = "/bin/false"
        try:
            with asked_to_stop(seconds, HARD):
                code = outcome(words)
        except KeyboardInterrupt:  # it rang when all was over
            code = 130
        except (Hang, SystemExit, Exception):
            traceback.print_exc(file=err)
        finally:
            sys.executable = python
    return Done(code, _text(out), _text(err), time.monotonic() - started)


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    raw = stream.buffer
    assert isinstance(raw, io.BytesIO)
    return raw.getvalue().decode("utf-8", "replace")


# ------------------------------------------------------------------ what is right
def complaints(done: Done) -> Iterator[str]:
    """What is wrong with how a command ended."""
    if done.code not in CODES:
        yield f"exit code {done.code}"
    if "Traceback" in done.err:
        yield "a traceback"
    said = [line for line in done.err.splitlines() if line.startswith("error:")]
    wanted = {0: (0,), 3: (0, 1)}.get(done.code or 0, (1,))
    if done.code in CODES and len(said) not in wanted:
        yield f"{len(said)} errors at exit code {done.code}"
    for line in said:
        if len(line) > LONGEST:
            yield f"an error of {len(line)} characters"
        if not line.isprintable():
            yield "an error with control characters"


Snapshot = Mapping[str, str]
"""What every file in a folder holds."""


def snapshot(folder: Path) -> Snapshot:
    """Links are not followed, and pipes are not read."""
    found: dict[str, str] = {}
    _look(str(folder), "", found)
    return dict(sorted(found.items()))


def _look(folder: str, below: str, found: dict[str, str]) -> None:
    with os.scandir(folder) as entries:
        for one in entries:
            name = f"{below}{one.name}"
            if one.is_symlink():
                found[name] = f"link {Path(one.path).readlink()}"
            elif one.is_file():
                found[name] = _hash(one.path)
            else:
                found[name] = "folder or pipe"
                if one.is_dir():
                    _look(one.path, f"{name}/", found)


def _hash(path: str) -> str:
    handle = os.open(path, os.O_RDONLY)
    try:
        content = os.read(handle, os.fstat(handle).st_size)
    finally:
        os.close(handle)
    return hashlib.sha256(content).hexdigest()


def lost(before: Snapshot, after: Snapshot, mine: Sequence[str]) -> Iterator[str]:
    """Files that are gone or changed, but for those below what the command may write to."""
    for name, content in before.items():
        if after.get(name) != content and not any(
            name == one or name.startswith(f"{one}/") for one in mine
        ):
            yield f"{name} was {'changed' if name in after else 'lost'}"
