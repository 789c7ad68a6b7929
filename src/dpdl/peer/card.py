"""The card of a site: who it is, where it is reached, and which data sets it offers.

A site signs its card with the key that the card names, so a card proves that its sender has the
private key; that the key is the hospital's, people find out by telephone (`fingerprint`). A card
with a higher serial number replaces one with a lower.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, replace
from typing import ClassVar, final

from dpdl.bounds import MOST
from dpdl.errors import InputError
from dpdl.peer.certificates import check_der
from dpdl.peer.documents import record_of, table_of
from dpdl.peer.keys import SigningKey, check_agreement, check_signing
from dpdl.peer.manifest_parts import check_form
from dpdl.peer.signed import (
    LARGEST,
    check_signature,
    signed_text,
    split,
    with_signature,
)
from dpdl.peer.spelling import (
    check_count,
    check_hexadecimal,
    check_name,
    check_time,
    check_url,
)
from dpdl.records import JsonObject, Record, absent
from dpdl.text import sentence

WHAT = "card"
MOST_OFFERS = 100
MOST_SERIAL = 2**31


@final
@dataclass(frozen=True)
class Offer(Record):
    """A data set that a site would use: declared records, and what a record looks like."""

    name: str
    records: int
    shape: str
    predict: str
    scaling: str | None = absent()

    def __post_init__(self) -> None:
        check_name(self.name, "card.data.name")
        check_count(self.records, "card.data.records", 1, MOST["records"])
        check_form(self.shape, self.predict, self.scaling, "card.data")


@final
@dataclass(frozen=True)
class Card(Record):
    """What a site says of itself, in the order of the file; without `signature`, a draft."""

    FORMAT: ClassVar[int | None] = 1

    name: str
    key: str  # Ed25519
    agreement: str  # X25519
    certificate: str  # DER, base64
    serial: int
    time: str
    data: tuple[Offer, ...]
    url: str | None = absent()  # None: it accepts no connections
    mailbox: str | None = absent()
    signature: str | None = absent()

    def __post_init__(self) -> None:
        check_name(self.name, "card.name")
        check_hexadecimal(self.key, "card.key")
        check_hexadecimal(self.agreement, "card.agreement")
        check_signing(self.key)
        check_agreement(self.agreement)
        check_der(self.der)
        check_count(self.serial, "card.serial", 1, MOST_SERIAL)
        check_time(self.time, "card.time")
        for name in ("url", "mailbox"):
            if (address := getattr(self, name)) is not None:
                check_url(address, f"card.{name}")
        self._check_offers()

    def _check_offers(self) -> None:
        check_count(len(self.data), "The number of data sets of a card", 0, MOST_OFFERS)
        names = [offer.name for offer in self.data]
        if len(set(names)) < len(names):
            raise InputError("Two data sets of a card have the same name.")

    @classmethod
    def parse(cls, content: bytes) -> Card:
        """The card in a file, if the owner of its key has signed exactly these bytes."""
        sealed = split(content, WHAT)
        table = table_of(sealed.body, WHAT, LARGEST)
        draft = record_of(cls, table, WHAT)
        try:
            if draft.signature is not None:
                raise InputError("card has a signature above its last line.")
            check_signature(sealed, draft.key, WHAT)
            card = replace(draft, signature=sealed.signature.hex())
            if card.content != content:
                raise InputError("card is not written as this version writes cards.")
        except InputError as failure:
            raise InputError(sentence(str(failure))) from failure
        return card

    def text(self, key: SigningKey) -> bytes:
        """The file of this card, signed by its owner."""
        if key.public != self.key:
            raise InputError(f"The card of {self.name} has another key than this site.")
        return signed_text(self._body(), key)

    def signed(self, key: SigningKey) -> Card:
        """The same card with its signature."""
        return Card.parse(self.text(key))

    @property
    def content(self) -> bytes:
        """The bytes of a signed card, exactly as its owner wrote them."""
        if self.signature is None:
            raise InputError(f"The card of {self.name} is not signed yet.")
        return with_signature(self._body(), bytes.fromhex(self.signature))

    @property
    def der(self) -> bytes:
        """The certificate that the site shows."""
        try:
            return base64.b64decode(self.certificate, validate=True)
        except (binascii.Error, ValueError) as failure:
            raise InputError("card.certificate must be base64.") from failure

    def offer(self, data: str) -> Offer:
        """The data set of a name; one that is not offered is refused."""
        for one in self.data:
            if one.name == data:
                return one
        offered = ", ".join(one.name for one in self.data)[:100] or "none"
        raise InputError(
            f"{self.name} offers no data set {data!r}; its card has: {offered}."
        )

    def _body(self) -> JsonObject:
        return replace(self, signature=None).to_json()


def encoded(der: bytes) -> str:
    """A certificate as a card has it."""
    return base64.b64encode(der).decode("ascii")
