"""The runs that a page shows: one, or all in a folder, those that begin later included."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, final

from dpdl.errors import InputError
from dpdl.folder import names
from dpdl.records import Json, JsonObject
from dpdl.watch.watched_run import WatchedRun

DEPTH = 3
"""Folders below the one given in which runs are looked for; those of a comparison are two below."""
MOST = 60
"""Runs on one page: the latest ones."""
SKIPPED = {names.RECORDING, names.ATTACK, names.TENSORBOARD, names.FIGURES}


class Has(NamedTuple):
    """What a page has of a run already."""

    generation: int
    rounds: int


@final
class WatchedFolder:
    """All runs in a folder; `public` leaves out what no epsilon covers."""

    def __init__(self, path: Path, public: bool = False) -> None:
        if not path.is_dir():
            raise InputError(
                f"{str(path)!r} is not a folder; give a run folder, or one that "
                "holds runs."
            )
        self.path = path.resolve()
        self.public = public
        self._runs: dict[Path, WatchedRun] = {}
        self._count = 0
        self._left_out = 0
        self._lock = threading.Lock()
        self._work = threading.Event()
        self._closed = False
        self.refresh()

    def require_runs(self) -> None:
        """Refuse a folder of other things; in an empty one runs may still begin."""
        if not self._runs and any(self.path.iterdir()):
            raise InputError(
                f"Folder {str(self.path)!r} holds no run ({names.EXPERIMENT}), nor "
                "does a folder in it; give a run folder, or one that holds runs."
            )

    # ------------------------------------------------------------------ reading
    def refresh(self) -> None:
        """Look for runs that came or went, and read what is new in all of them."""
        with self._lock:
            found = sorted(runs_in(self.path), key=_began, reverse=True)
            self._left_out = max(0, len(found) - MOST)
            for path in reversed(found[:MOST]):
                if path not in self._runs:
                    self._count += 1
                    self._runs[path] = WatchedRun(self._count, path)
            for gone in set(self._runs) - set(found[:MOST]):
                del self._runs[gone]
            for run in self._runs.values():
                run.refresh()
        self._work.set()

    @property
    def runs(self) -> list[WatchedRun]:
        """In the order in which they were found."""
        return list(self._runs.values())

    def run(self, number: int) -> WatchedRun | None:
        """The run with this number."""
        return next((run for run in self.runs if run.number == number), None)

    # ------------------------------------------------------------------ saying
    def to_json(self, have: Mapping[int, Has]) -> JsonObject:
        """What is new for a page that has some rounds already."""
        with self._lock:
            runs: list[Json] = []
            for run in self.runs:
                has = have.get(run.number, Has(0, 0))
                runs.append(run.to_json(self.public, has.generation, has.rounds))
        return {
            "folder": "" if self.public else self.path.name,
            "public": self.public,
            "left_out": self._left_out,
            "runs": runs,
        }

    def drawing(self, number: int) -> JsonObject | None:
        """The graph of a run; None: there is no such run."""
        with self._lock:
            run = self.run(number)
            return run.drawing() if run else None

    def agents_in(self, number: int, round: int) -> JsonObject | None:
        """The scores of all agents of a run in an evaluated round; None: there are none."""
        with self._lock:
            run = self.run(number)
            if run is None or (self.public and run.closed):
                return None
            return run.agents_in(round)

    # ------------------------------------------------------------------ epsilons
    def account(self) -> None:
        """Compute the epsilons that are wanted, one after the other, until `close`."""
        while not self._closed:
            if not self.account_once():
                self._work.wait()
                self._work.clear()

    def account_once(self) -> bool:
        """Compute one; whether there was one to compute. The newest run comes first."""
        for run in reversed(self.runs):
            spending = run.spending
            rounds = spending.wanted if spending else None
            if spending and rounds is not None:
                spending.compute(rounds)
                return True
        return False

    def close(self) -> None:
        """Let `account` end."""
        self._closed = True
        self._work.set()


def runs_in(folder: Path, depth: int = DEPTH) -> Iterator[Path]:
    """The folder, if it is a run, or the runs below it; links are not followed."""
    begun = folder / names.EXPERIMENT
    if begun.is_file() and not begun.is_symlink():
        yield folder
        return
    if depth == 0:
        return
    try:
        inner = [Path(one.path) for one in os.scandir(folder) if _is_place(one)]
    except OSError:
        return
    for one in inner:
        yield from runs_in(one, depth - 1)


def _is_place(one: os.DirEntry[str]) -> bool:
    if one.name.startswith(".") or one.name in SKIPPED:
        return False
    return one.is_dir(follow_symlinks=False)


def _began(run: Path) -> float:
    try:
        return (run / names.EXPERIMENT).lstat().st_mtime
    except OSError:
        return 0.0
