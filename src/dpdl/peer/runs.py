"""The runs that a site knows: one folder each, named by the hash of its manifest."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import final

from dpdl import foreign
from dpdl.errors import InputError, reason
from dpdl.peer.manifest import LARGEST_MANIFEST, Manifest
from dpdl.peer.spelling import check_hexadecimal
from dpdl.text import shown

MANIFEST = "manifest.toml"
FEWEST = 4
"""Digits by which a run may be named."""


@final
@dataclass(frozen=True)
class Runs:
    """The folder in which those of the runs are."""

    folder: Path

    def place(self, run: str) -> Path:
        """The folder of a run, whether it is there or not."""
        check_hexadecimal(run, "The name of a run")
        return self.folder / run

    def all(self) -> list[Path]:
        """The folders of all runs, the one that was taken in last at the end."""
        found = self.folder.glob(f"*/{MANIFEST}")
        return [file.parent for file in sorted(found, key=_age)]

    def find(self, name: str) -> Path:
        """The folder of a run by its hash, the beginning of it, its folder or its manifest."""
        if _is_file(name):
            name = _manifest(Path(name)).hash
        start = Path(name).name
        found = [folder for folder in self.all() if folder.name.startswith(start)]
        if len(start) < FEWEST:
            raise InputError(
                f"A run is named by at least {FEWEST} digits of its hash, not {shown(start)}."
            )
        if len(found) != 1:
            which = f"{len(found)} runs" if found else "no run"
            raise InputError(
                f"This site has {which} whose hash begins with {shown(start)}; dpdl peer status "
                "lists them."
            )
        return found[0]

    def last_manifest(self) -> Manifest | None:
        """The manifest that was taken in last, if there is one."""
        runs = self.all()
        return _manifest(runs[-1] / MANIFEST) if runs else None


def _age(file: Path) -> tuple[float, str]:
    return file.stat().st_mtime, file.parent.name


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):
        return False


def _manifest(file: Path) -> Manifest:
    try:
        return Manifest.parse(foreign.read_bytes(file, LARGEST_MANIFEST))
    except (OSError, ValueError) as failure:
        raise InputError(
            f"Manifest {str(file)!r} cannot be read: {reason(failure)}."
        ) from failure
