"""The folder of one run at one peer, and what is in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import final

from dpdl.folder import names
from dpdl.peer.documents import read_file
from dpdl.peer.manifest import LARGEST_MANIFEST, Manifest
from dpdl.peer.view import FIRST

LARGEST_MODEL = 1 << 32
"""Bytes of an initial model."""


@final
@dataclass(frozen=True)
class PeerRun:
    """Where the files of a run are: `runs/HASH` in the folder of a site."""

    path: Path
    modules: tuple[str, ...] = ()  # of the site's own code that a manifest may name

    @property
    def manifest_file(self) -> Path:
        """What was agreed."""
        return self.path / "manifest.toml"

    @property
    def initial_file(self) -> Path:
        """The model that all start from."""
        return self.path / "initial.safetensors"

    def run_key(self, view: int = FIRST) -> Path:
        """The X25519 key of a view of this run, until links have been made of it."""
        return self.path / ("run.key" if view == FIRST else f"run-{view}.key")

    @property
    def round_key(self) -> Path:
        """The secrets of the last two rounds: leave it out of backups."""
        return self.path / "round.key"

    @property
    def metrics(self) -> Path:
        """What the site measures for itself."""
        return self.path / "private" / names.METRICS

    @property
    def pause_file(self) -> Path:
        """While it is there, no further round is begun."""
        return self.path / "pause"

    @property
    def status_file(self) -> Path:
        """What the running process says of itself."""
        return self.path / "private" / "status.json"

    def approval_file(self, name: str) -> Path:
        """The approval of a member."""
        return self.path / f"approval-{name}.toml"

    def stop_file(self, view: int) -> Path:
        """This member's statement that a view shall end."""
        return self.path / f"stop-{view}.toml"

    def manifest(self) -> Manifest:
        """The manifest, as it was approved."""
        return Manifest.parse(
            read_file(self.manifest_file, LARGEST_MANIFEST), self.modules
        )

    def initial(self) -> bytes:
        """The content of the initial model."""
        return read_file(self.initial_file, LARGEST_MODEL)
