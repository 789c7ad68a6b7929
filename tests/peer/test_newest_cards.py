from __future__ import annotations

from base64 import b64decode

from dpdl.peer.newest_cards import NewestCards


class Told:
    """A network that only notes what it is told."""

    def __init__(self) -> None:
        self.certificates: dict[str, bytes] = {}
        self.urls: dict[str, str | None] = {}

    def trust(self, name: str, certificate: bytes) -> None:
        self.certificates[name] = certificate

    def locate(self, name: str, url: str | None) -> None:
        self.urls[name] = url


def test_a_card_that_is_admitted_later_is_told_once(group):
    sites = group(2, graph="complete")
    mercy, olav = sites.home(0), sites.home(1)
    refused: list[str] = []
    cards, told = NewestCards(mercy, sites.manifest, refused.append), Told()
    cards.look(told)
    assert told.urls == {}, "nothing is new"
    card = olav.rotate()
    mercy.admit(card)
    cards.look(told)
    assert told.certificates == {"olav": b64decode(card.certificate)}
    assert told.urls == {"olav": card.url}
    again = Told()
    cards.look(again)
    assert again.urls == {}
    (mercy.path / "contacts" / "olav.toml").unlink()
    cards.look(again)
    assert "olav has not been admitted here" in refused[0]
    assert again.urls == {}
