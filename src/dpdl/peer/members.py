"""The other members of a run, as the network needs them: from their newest cards."""

from __future__ import annotations

from base64 import b64decode

from dpdl.errors import InputError
from dpdl.peer.home import Home
from dpdl.peer.manifest import Manifest
from dpdl.peer.wire import Neighbour


def members_of(home: Home, manifest: Manifest) -> list[Neighbour]:
    """All members but this one; each must have been admitted under the key of the manifest."""
    return [
        _neighbour(home, manifest, number)
        for number, name in enumerate(manifest.names)
        if name != home.name
    ]


def _neighbour(home: Home, manifest: Manifest, number: int) -> Neighbour:
    member = manifest.members[number]
    card = home.contact(member.name)
    if card.key != member.key:
        raise InputError(
            f"The manifest has another key for {member.name} than the card that was admitted; "
            f"compare fingerprints by telephone: dpdl peer admit CARD."
        )
    certificate = b64decode(card.certificate)
    return Neighbour(
        member.name,
        number,
        member.key,
        certificate,
        card.url,
        card.mailbox,
        card.agreement,
    )
