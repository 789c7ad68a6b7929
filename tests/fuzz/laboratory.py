"""Where inputs are tried: a world, and a fresh copy of what an input needs of it."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from dpdl.errors import DpdlError
from dpdl.text import sentence
from tests.fuzz import cases, quick, world
from tests.fuzz.bench import Bench
from tests.fuzz.judge import (
    HARD,
    LONGEST,
    Hang,
    Snapshot,
    complaints,
    lost,
    no_longer_than,
    performed,
    snapshot,
)

INPUTS = (world.DATA, *world.SITES, world.GRAPH, world.MATRIX, world.TOML)
NEEDED: Mapping[str, tuple[str, ...]] = {
    "run folders": (world.RUN, world.OPEN, world.DATA),
    "studies": (world.COMPARED, world.SEARCHED, world.CELLS),
    "experiments": INPUTS,
    "graphs": (),
    "data": INPUTS,
    "privacy": (),
}
"""What of the world a kind of input needs; others need all of it."""
KINDS = (*cases.KINDS, *quick.QUICK)


@dataclass(frozen=True)
class Verdict:
    """What an input came to."""

    kind: str
    ended: str  # an exit code, or how a reader ended
    wrong: tuple[str, ...] = ()
    about: str = ""  # the command line, and what was done to files
    err: str = field(default="", repr=False)
    seconds: float = 0.0
    input: str = ""  # a hash of all that was handed over: equal inputs have equal ones


class Laboratory:
    """Has the world, and tries one input after the other in copies of it."""

    def __init__(self, place: Path) -> None:
        self._world = place / "world"
        self._copies = place / f"copies-{os.getpid()}"
        shutil.rmtree(self._copies, ignore_errors=True)
        self._copies.mkdir(parents=True)
        self._benches: dict[str, Bench] = {}
        nothing = place / "no-data"
        nothing.write_text("")
        os.environ["DPDL_DATA"] = str(nothing / "here")  # nothing can be fetched
        os.environ["DPDL_CALIBRATIONS"] = str(place / "calibrations")
        os.environ["HOME"] = str(place)  # a person's own files are left alone
        os.environ["DPDL_CORES"] = "1"
        os.environ["BROWSER"] = "true"  # the program that does nothing
        os.environ.pop("RANK", None)
        if not self._world.exists():
            world.make_world(self._world)

    def try_one(self, kind: str, r: Random) -> Verdict:
        """Draw an input of a kind, try it, and judge."""
        if kind in quick.QUICK:
            return _read(kind, r, self._bench(kind))
        with self._copy(NEEDED.get(kind, self._all())) as home:
            return _performed(kind, r, home)

    def _bench(self, kind: str) -> Bench:
        if kind not in self._benches:
            place = self._copies / f"bench-{len(self._benches)}"
            self._benches[kind] = Bench(self._world, quick.QUICK[kind][1], place)
        return self._benches[kind]

    def warm_up(self) -> None:
        """Import what commands import when they are used: no time limit may interrupt that."""
        with self._copy(self._all()) as home, _in(home):
            for words in WARMING:
                performed(words, seconds=3000)

    def _all(self) -> tuple[str, ...]:
        return tuple(sorted(path.name for path in self._world.iterdir()))

    @contextmanager
    def _copy(self, needed: tuple[str, ...]) -> Iterator[Path]:
        home = Path(tempfile.mkdtemp(dir=self._copies))
        try:
            for name in needed:
                _copy(self._world / name, home / name)
            yield home
        finally:
            shutil.rmtree(home, ignore_errors=True)


ONE_CASE = ("--scenario", "cg", "--rounds", "1", "--whose", "0")
WARMING = (
    ("graph", world.GRAPH, "--out", "g.png"),
    ("report", world.RUN),
    ("privacy", "statement", world.RUN),
    ("audit", world.RUN, "--canaries", "20", "--rounds", "1"),
    ("attack", world.RUN, *ONE_CASE, "--iterations", "1", "--restarts", "1", "--quiet"),
    ("report", world.CELLS),
    ("bench", "gradients", "--batch", "2", "--pairs", "1", "--repeats", "1"),
    ("resume", world.OPEN, "--quiet"),
)


def memory() -> Path | None:
    """A folder in memory, if there is one: files are made and removed there without a disk."""
    found = Path("/dev/shm")
    return found if os.access(found, os.W_OK) else None


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


@contextmanager
def _in(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _performed(kind: str, r: Random, home: Path) -> Verdict:
    (home / "loop").symlink_to("loop")
    os.mkfifo(home / "pipe")
    case = cases.KINDS[kind](r, home)
    there = snapshot(home)
    with _in(home):
        done = performed(case.words)
    mine = case.mine if done.code != 2 else ()
    wrong = (*complaints(done), *lost(there, snapshot(home), mine))
    about = " ".join(word[:80] for word in (*case.words, "|", *case.done))
    given = _hash(there, "\0".join(case.words))
    return Verdict(kind, str(done.code), wrong, about, done.err, done.seconds, given)


def _hash(files: Snapshot, words: str) -> str:
    """Of all that an input consists of."""
    content = "\0".join([words, *(f"{name}={files[name]}" for name in files)])
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _read(kind: str, r: Random, bench: Bench) -> Verdict:
    home = bench.moved()
    drawn = quick.QUICK[kind][0](r, home)
    there, started = snapshot(home), time.monotonic()
    ended, wrong, err = _tried(drawn)
    seconds, after = time.monotonic() - started, snapshot(home)
    wrong = (*wrong, *lost(there, after, ()))
    bench.mend(after)
    given = _hash(there, f"{kind} {drawn.about}")
    return Verdict(kind, ended, wrong, drawn.about[:300], err, seconds, given)


def _tried(drawn: quick.Drawn) -> tuple[str, tuple[str, ...], str]:
    """How a reader ended, and what is wrong with that: all but a result and a refusal."""
    try:
        with warnings.catch_warnings(), no_longer_than(HARD):
            warnings.simplefilter("error")
            drawn.read()
    except DpdlError as refusal:
        return "refused", tuple(_complaints(refusal)), ""
    except OSError:  # of which the command line makes one sentence, too
        return "refused", (), ""
    except (Exception, KeyboardInterrupt, Hang) as failure:
        wrong = f"{type(failure).__name__}: {str(failure)[:200]}"
        return "bug", (wrong,), traceback.format_exc()
    return "read", (), ""


def _complaints(refusal: DpdlError) -> Iterator[str]:
    line = f"error: {sentence(str(refusal))}"
    if not str(refusal).strip():
        yield "an error without words"
    if len(line) > LONGEST or not line.isprintable():
        yield f"an error of {len(line)} characters, or with control characters"
