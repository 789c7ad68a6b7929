"""Real file systems for tests: small ones, that are full or read-only when a test says so."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


class Disk:
    """A file system in memory that is mounted at a folder, with what the folder held."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._filler = folder / "filler"

    def read_only(self, yes: bool) -> None:
        """As after an error, or as an administrator mounts it; nobody may write there now."""
        how = "ro" if yes else "rw"
        subprocess.run(["mount", "-o", f"remount,{how}", self.folder], check=True)

    def fill(self) -> None:
        """Leave not a byte."""
        with self._filler.open("ab", buffering=0) as file:
            size = 1 << 20
            while size:
                try:
                    if file.write(bytes(size)) < size:
                        size //= 2
                except OSError:
                    size //= 2
        assert shutil.disk_usage(self.folder).free == 0

    def clear(self) -> None:
        """Make room again."""
        self._filler.unlink()


@contextmanager
def disk_at(folder: Path, megabytes: int) -> Iterator[Disk]:
    """Skips, with the reason, where this process may not mount anything."""
    if os.geteuid() or not shutil.which("mount"):
        pytest.skip("mounting a file system needs root, and the command mount")
    aside = folder.with_name(f"{folder.name}-aside")
    folder.rename(aside)
    folder.mkdir(mode=0o700)
    size = f"size={megabytes}m,mode=700"
    words = ["mount", "-t", "tmpfs", "-o", size, "tmpfs", folder]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        folder.rmdir()
        aside.rename(folder)
        pytest.skip(f"this system lets nobody mount: {done.stderr.strip()}")
    try:
        shutil.copytree(aside, folder, dirs_exist_ok=True)
        yield Disk(folder)
        shutil.rmtree(aside)
        shutil.copytree(folder, aside)
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
        folder.rmdir()
        aside.rename(folder)
