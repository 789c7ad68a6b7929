"""The first secret of every link in a view, from keys that are made for the view alone.

    K_1(i, j) = HKDF(X25519(run key of i, run key of j), manifest hash, "link" and both names)

The public run keys of the first view are in the approvals, those of a later one in the statements
that ended the view before. When a round has begun, the links are in `round.key`, and the run key is
erased: who takes the disk later cannot compute them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from dpdl.peer.keys import AgreementKey, erase_secret
from dpdl.peer.run_folder import PeerRun
from dpdl.peer.view import FIRST
from dpdl.privacy.links import first_link


@final
@dataclass(frozen=True)
class FirstLinks:
    """Computes the first secrets of one member's links, while its run key is there."""

    run: PeerRun
    manifest: str  # its hash
    name: str
    agreements: Mapping[str, str]  # public run keys, by member of the view
    view: int = FIRST

    def __call__(self) -> dict[str, bytes]:
        """By the other member of the view, neighbour or not."""
        key = AgreementKey.read(self.run.run_key(self.view))
        salt = bytes.fromhex(self.manifest)
        return {
            other: first_link(key.shared(public), salt, (self.name, other))
            for other, public in self.agreements.items()
            if other != self.name
        }

    def forget(self) -> None:
        """Erase the run keys up to this view; the links have become durable elsewhere."""
        for view in range(FIRST, self.view + 1):
            erase_secret(self.run.run_key(view))
