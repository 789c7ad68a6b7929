"""The files that a reader needs, whole again after every input, and always at a new place.

Only what an input has changed is written again. The place changes its name, so that nobody can
remember what a file held before.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from tests.fuzz.judge import Snapshot, snapshot


class Bench:
    """A folder with copies of some files of the world."""

    def __init__(self, world: Path, needed: tuple[str, ...], place: Path) -> None:
        self._place = place
        self._moves = 0
        self._home = place / "0"
        self._home.mkdir(parents=True)
        for name in needed:
            self._take(world / name, self._home / name)
        self._whole = snapshot(self._home)
        self._content = _content(self._home, self._whole)

    def _take(self, source: Path, target: Path) -> None:
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)

    def moved(self) -> Path:
        """The folder, under a name that it did not have before."""
        self._moves += 1
        before, self._home = self._home, self._place / str(self._moves)
        before.rename(self._home)
        return self._home

    def mend(self, found: Snapshot) -> None:
        """Make everything as it was; `found` is what there is now."""
        changed = [name for name in found if found[name] != self._whole.get(name)]
        for name in changed:
            _remove(self._home / name)
        for name, content in self._content.items():
            if found.get(name) != self._whole[name]:
                path = self._home / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)


def _content(home: Path, files: Snapshot) -> Mapping[str, bytes]:
    return {
        name: (home / name).read_bytes() for name in files if (home / name).is_file()
    }


def _remove(path: Path) -> None:
    if not os.path.lexists(path):  # it was in a folder that is gone
        return
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
