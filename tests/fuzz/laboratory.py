"""Where inputs are tried: a world, and a fresh copy of what an input needs of it."""

from __future__ import annotations

import os
import shutil
import tempfile
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.fuzz import cases, quick, world
from tests.fuzz.judge import complaints, lost, performed, snapshot

INPUTS = (world.DATA, *world.SITES, world.GRAPH, world.MATRIX, world.TOML)
NEEDED: Mapping[str, tuple[str, ...]] = {
    "run folders": (world.RUN, world.OPEN, world.DATA),
    "studies": (world.COMPARED, world.SEARCHED, world.CELLS),
    "experiments": INPUTS,
    "graphs": (),
    "data": INPUTS,
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


class Laboratory:
    """Has the world, and tries one input after the other in copies of it."""

    def __init__(self, place: Path) -> None:
        self._world = place / "world"
        self._copies = place / f"copies-{os.getpid()}"
        self._copies.mkdir(parents=True, exist_ok=True)
        nothing = place / "no-data"
        nothing.write_text("")
        os.environ["DPDL_DATA"] = str(nothing / "here")  # nothing can be fetched
        os.environ["DPDL_CORES"] = "1"
        os.environ["BROWSER"] = "true"  # the program that does nothing
        os.environ.pop("RANK", None)
        if not self._world.exists():
            world.make_world(self._world)

    def try_one(self, kind: str, r: Random) -> Verdict:
        """Draw an input of a kind, try it, and judge."""
        if kind in quick.QUICK:
            with self._copy(quick.QUICK[kind][1]) as home:
                return _read(kind, r, home)
        with self._copy(NEEDED.get(kind, self._all())) as home:
            return _performed(kind, r, home)

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


WARMING = (
    ("graph", world.GRAPH, "--out", "g.png"),
    ("report", world.RUN),
    ("privacy", "statement", world.RUN),
    ("audit", world.RUN, "--canaries", "20", "--rounds", "1"),
    ("attack", world.RUN, "--iterations", "1", "--restarts", "1", "--quiet"),
    ("report", world.CELLS),
    ("bench", "gradients", "--batch", "2", "--pairs", "1", "--repeats", "1"),
    ("resume", world.OPEN, "--quiet"),
)


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
    return Verdict(kind, str(done.code), wrong, about, done.err, done.seconds)


def _read(kind: str, r: Random, home: Path) -> Verdict:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return Verdict(kind, quick.tried(kind, r, home))
        except Exception as failure:
            wrong = f"{type(failure).__name__}: {str(failure)[:200]}"
            return Verdict(kind, "bug", (wrong,), err=traceback.format_exc())
