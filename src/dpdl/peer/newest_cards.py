"""Cards that are admitted while a run goes on: certificates and addresses change without a stop.

The order of a rotation: the site makes a certificate and mails its card, the others admit it, and
both certificates are valid there; then the site starts again and shows the new one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, final

from dpdl.errors import InputError
from dpdl.peer.certificates import validity
from dpdl.peer.contacts import written
from dpdl.peer.home import Home
from dpdl.peer.manifest import Manifest
from dpdl.peer.members import members_of


class Trusting(Protocol):
    """As much of `Network` as a new card changes."""

    def trust(self, name: str, certificate: bytes) -> None:
        """A neighbour's new certificate (DER)."""
        ...

    def locate(self, name: str, url: str | None) -> None:
        """A neighbour's new address."""
        ...


@final
class NewestCards:
    """The cards of the members, looked at again whenever a file of them has changed."""

    def __init__(
        self, home: Home, manifest: Manifest, on_refused: Callable[[str], None]
    ) -> None:
        """`on_refused` hears why cards that are there cannot be used."""
        self._home = home
        self._manifest = manifest
        self._on_refused = on_refused
        others = [name for name in manifest.names if name != home.name]
        self._files = [home.contacts.file(name) for name in others]
        self._seen = self._marks()

    def look(self, network: Trusting) -> None:
        """Tell the network what is new; costs next to nothing if nothing is."""
        marks = self._marks()
        if marks == self._seen:
            return
        self._seen = marks
        try:
            for one in members_of(self._home, self._manifest):
                network.trust(one.name, one.certificate)
                network.locate(one.name, one.url)
        except InputError as failure:
            self._on_refused(str(failure))

    def _marks(self) -> list[int]:
        """When each card was written; 0: it is not there."""
        return [written(file) for file in self._files]


def expiring(home: Home, manifest: Manifest) -> list[str]:
    """A sentence for each member whose certificate ends within 30 days, or has ended."""
    cards = {home.name: home.card.der}
    for one in members_of(home, manifest):
        cards[one.name] = one.certificate
    found = [_mention(name, cards[name]) for name in manifest.names if name in cards]
    return [sentence for sentence in found if sentence]


def _mention(name: str, der: bytes) -> str | None:
    try:
        return validity(der, f"The certificate of {name}")
    except InputError as failure:
        return str(failure)
