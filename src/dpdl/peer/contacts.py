"""The cards of other sites that this one has admitted.

The first card of a site is admitted by people, who compare its fingerprint. From then on its key
stays: a card with a higher serial number replaces the one before, so certificates and addresses
change without anybody's help.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import final

from dpdl import foreign
from dpdl.errors import InputError, reason
from dpdl.folder.files import write
from dpdl.peer.card import Card
from dpdl.peer.signed import LARGEST
from dpdl.peer.spelling import check_name


@final
@dataclass(frozen=True)
class Contacts:
    """A folder with one card of every admitted site."""

    folder: Path

    def names(self) -> list[str]:
        """Who has been admitted."""
        return sorted(file.stem for file in self.folder.glob("*.toml"))

    def card(self, name: str) -> Card:
        """The newest card of a site; one that was never admitted is refused."""
        check_name(name, "The name of a site")
        file = self.file(name)
        if not file.exists():
            raise InputError(
                f"{name} has not been admitted here: get its card.toml, and enter dpdl peer admit "
                "CARD."
            )
        card = read_card(file)
        if card.name != name:
            raise InputError(
                f"{str(file)!r} is the card of {card.name}, not of {name}."
            )
        return card

    def knows(self, card: Card) -> bool:
        """Whether this site was admitted before, under the same key."""
        return card.name in self.names() and self.card(card.name).key == card.key

    def admit(self, card: Card) -> None:
        """Keep a signed card; the same once more changes nothing, and an older one is refused."""
        content = card.content
        if card.name in self.names():
            before = self.card(card.name)
            if before.content == content:
                return
            _check_newer(before, card)
        for other in map(self.card, self.names()):
            check_other(other, card)
        write(self.file(card.name), content)

    def file(self, name: str) -> Path:
        """Where the card of a site is, if it has been admitted."""
        return self.folder / f"{name}.toml"


def written(file: Path) -> int:
    """When a card was written, in nanoseconds; 0: there is none."""
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0


def read_card(file: Path) -> Card:
    """The card in a file."""
    try:
        return Card.parse(foreign.read_bytes(file, LARGEST))
    except (OSError, ValueError) as failure:
        raise InputError(
            f"Card {str(file)!r} cannot be read: {reason(failure)}."
        ) from failure


def check_other(known: Card, card: Card) -> None:
    """Refuse a card that has taken something of another site's: nobody could tell them apart."""
    if known.name == card.name:
        return
    for field in ("key", "agreement", "certificate"):
        if getattr(known, field) == getattr(card, field):
            raise InputError(
                f"The card of {card.name} has the {field} of {known.name}: one of them is false."
            )


def _check_newer(before: Card, card: Card) -> None:
    if before.key != card.key:
        raise InputError(
            f"The card of {card.name} has another key than the one that was admitted; ask by "
            f"telephone, and remove contacts/{card.name}.toml first if it is right."
        )
    if card.serial < before.serial:
        raise InputError(
            f"The card of {card.name} is old: number {card.serial}, and {before.serial} is known."
        )
    if card.serial == before.serial:
        raise InputError(
            f"There are two different cards of {card.name} with number {card.serial}: one of them "
            "is false, or its site was copied."
        )
