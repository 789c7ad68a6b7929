"""Who has approved a run: nothing begins before all members have."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import final

from dpdl.errors import InputError
from dpdl.foreign import read_bytes
from dpdl.peer.approval import Approval
from dpdl.peer.manifest import Manifest
from dpdl.peer.signed import LARGEST
from dpdl.peer.store import Store

KIND = "approval"


@final
@dataclass(frozen=True)
class Approvals:
    """The approvals of one run, which neighbours pass on to each other."""

    manifest: Manifest
    store: Store

    def collect(self, folder: Path) -> None:
        """Take those that lie in the folder of the run, brought by mail or made here."""
        for name in self.missing():
            file = folder / f"approval-{name}.toml"
            if file.exists():
                self.accept(name, read_bytes(file, LARGEST))

    def accept(self, name: str, content: bytes) -> None:
        """Keep an approval; one that is not the member's, or of another manifest, is refused."""
        if name not in self.manifest.names:
            raise InputError(f"{name} is no member of this run.")
        self._parsed(name, content)
        known = self.store.documents(KIND).get(name)
        if known is None:
            self.store.put_document(KIND, name, content)
            self.store.log("consent", f"approval of {name}")
        elif (
            self._parsed(name, known).agreement != self._parsed(name, content).agreement
        ):
            raise InputError(
                f"{name} has approved this run twice, with different keys; the first one counts."
            )

    def missing(self) -> list[str]:
        """Who has not approved yet, as far as this peer knows."""
        known = self.store.documents(KIND)
        return [name for name in self.manifest.names if name not in known]

    def agreements(self) -> dict[str, str]:
        """The run key of every member that has approved."""
        found = self.store.documents(KIND)
        return {name: self._parsed(name, one).agreement for name, one in found.items()}

    def _parsed(self, name: str, content: bytes) -> Approval:
        number = self.manifest.number(name)
        public = self.manifest.members[number].key
        return Approval.parse(content, public, self.manifest.hash)
