"""The folder of a site: its keys, its card, the cards of others, and its runs.

    peer.toml  id.key  x25519.key  tls.key  tls.crt  card.toml  contacts/NAME.toml  runs/HASH/

Private keys have mode 0600 and are never sent; a folder whose keys others can read is refused. A
certificate that replaced the first one has the serial number of its card in its name (`tls-4.crt`);
the card says which one is in use.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Self, final

from dpdl import foreign
from dpdl.errors import InputError
from dpdl.folder.data_ledger import DataLedger
from dpdl.folder.data_ledger_place import beside
from dpdl.folder.files import write
from dpdl.peer.card import Card, Offer, encoded
from dpdl.peer.certificates import der_of
from dpdl.peer.contacts import Contacts, check_other, read_card
from dpdl.peer.home_making import (
    AGREEMENT_KEY,
    CARD,
    CONTACTS,
    ID_KEY,
    RUNS,
    SETTINGS,
    TLS,
    NewSite,
    make_home,
    new_pair,
    store_certificate,
)
from dpdl.peer.keys import AgreementKey, SigningKey, read_secret
from dpdl.peer.manifest import Manifest
from dpdl.peer.runs import Runs
from dpdl.peer.site_settings import DataPlace, SiteSettings, add_place, read_settings
from dpdl.peer.spelling import check_name, time_text
from dpdl.peer.wire import Identity, Mailing, NetworkSettings
from dpdl.text import shown


@final
class Home:
    """One site, from its folder."""

    def __init__(
        self, path: Path, signing: SigningKey, agreement: AgreementKey
    ) -> None:
        self.path = path
        self.signing = signing
        self.agreement = agreement

    def __repr__(self) -> str:
        return f"Home({str(self.path)!r}, {self.signing})"

    @classmethod
    def create(
        cls,
        path: Path,
        name: str,
        url: str | None = None,
        *,
        listen: str | None = None,
        mailbox: str | None = None,
        proxy: str | None = None,
        tls_cert: Path | None = None,
        tls_key: Path | None = None,
        now: datetime | None = None,
    ) -> Self:
        """A new site; a folder that holds something is refused."""
        site = NewSite(name, url, listen, mailbox, proxy, tls_cert, tls_key)
        make_home(Path(path), site, now)
        return cls.open(path)

    @classmethod
    def open(cls, path: Path) -> Self:
        """The site in a folder, if its keys belong to its card and nobody else can read them."""
        path = Path(path).absolute()
        if not (path / SETTINGS).is_file():
            raise InputError(
                f"There is no site in {str(path)!r}: make one with dpdl peer init NAME, or name "
                "its folder with --home."
            )
        signing = SigningKey.read(path / ID_KEY)
        found = cls(path, signing, AgreementKey.read(path / AGREEMENT_KEY))
        found._check()
        return found

    # ------------------------------------------------------------------ who it is
    @property
    def settings(self) -> SiteSettings:
        """What the operator has set."""
        return read_settings(self.path / SETTINGS)

    @property
    def name(self) -> str:
        """The name of the site."""
        return self.settings.name

    @property
    def card(self) -> Card:
        """What the site says of itself at present."""
        return read_card(self.path / CARD)

    def identity(self) -> Identity:
        """How the site shows itself in the network, with the certificate that its card has."""
        card = self.card
        for file in self._certificates():
            if der_of(foreign.read_bytes(file)) == card.der:
                key = file.with_suffix(".key")
                return Identity(card.name, file, key, card.url, self._mailing(card))
        raise InputError(
            f"The certificate of card.toml is not in {str(self.path)!r}: restore it, or enter "
            "dpdl peer rotate."
        )

    def _mailing(self, card: Card) -> Mailing | None:
        if card.mailbox is None:
            return None
        return Mailing(card.mailbox, self.signing, self.agreement)

    def network_settings(self) -> NetworkSettings:
        """Where the site listens, and which proxy it uses."""
        settings = self.settings
        if settings.address is None:
            return NetworkSettings(proxy=settings.proxy)
        host, port = settings.address
        return NetworkSettings(host=host, port=port, proxy=settings.proxy)

    def renew_card(self, now: datetime | None = None, **changed: object) -> Card:
        """A card with the next serial number, which replaces the present one."""
        before = self.card
        fields = {**changed, "serial": before.serial + 1, "time": time_text(now)}
        draft = replace(before, signature=None, **fields)  # type: ignore[arg-type]
        write(self.path / CARD, draft.text(self.signing))
        return self.card

    def rotate(
        self,
        tls_cert: Path | None = None,
        tls_key: Path | None = None,
        now: datetime | None = None,
    ) -> Card:
        """Another certificate, new or given, and a card that names it; the old files stay."""
        pair = new_pair(NewSite(self.name, tls_cert=tls_cert, tls_key=tls_key), now)
        serial = self.card.serial + 1
        while (self.path / f"{TLS}-{serial}.key").exists():  # left by a crash
            serial += 1
        der = store_certificate(self.path, f"{TLS}-{serial}", *pair)
        return self.renew_card(now, certificate=encoded(der))

    # ------------------------------------------------------------------ its data
    def add_data(
        self,
        name: str,
        file: Path,
        *,
        budget: tuple[float, float],
        declare: int,
        like: str | None = None,
        shape: str | None = None,
        predict: str | None = None,
        scaling: str | None = None,
        ledger: Path | None = None,
    ) -> Offer:
        """Offer a data set on the card, and open its ledger with (epsilon, delta).

        What a record looks like is that of a named data set (`like`), or said by `shape`, `predict`
        and `scaling`. The same name and file again changes what is declared.
        """
        from dpdl.peer.offers import check_records, offer_like

        file = Path(
            file
        ).resolve()  # the ledger is beside the file, not beside a link to it
        self._check_place(name, file)
        if like is not None:
            offer = offer_like(name, declare, like)
        else:
            offer = Offer(name, declare, _said(shape), _said(predict), scaling)
        check_records(file, offer)
        place = DataPlace(str(file), None if ledger is None else str(ledger.absolute()))
        _open_ledger(_ledger(place), budget, name)
        if name not in self.settings.data:
            add_place(self.path / SETTINGS, name, place)
        others = tuple(one for one in self.card.data if one.name != name)
        self.renew_card(data=(*others, offer))
        return offer

    def data_file(self, name: str) -> Path:
        """The file of a data set."""
        return Path(self._place(name).file)

    def ledger_path(self, name: str) -> Path:
        """The folder of the ledger of a data set."""
        return _ledger(self._place(name))

    # ------------------------------------------------------------------ others
    @property
    def contacts(self) -> Contacts:
        """The sites that were admitted."""
        return Contacts(self.path / CONTACTS)

    def contact(self, name: str) -> Card:
        """The newest card of an admitted site."""
        return self.contacts.card(name)

    def knows(self, card: Card) -> bool:
        """Whether a site was admitted before, under the same key."""
        return self.contacts.knows(card)

    def admit(self, card: Card) -> None:
        """Keep the card of another site, which people have compared, or a newer one of its own."""
        own = self.card
        if card.name == own.name:
            raise InputError(
                f"{own.name} is this site's own name: no other can have it."
            )
        check_other(own, card)
        self.contacts.admit(card)

    # ------------------------------------------------------------------ runs
    def run_folder(self, run: str) -> Path:
        """The folder of a run, whether it is there or not."""
        return self._runs.place(run)

    def runs(self) -> list[Path]:
        """The folders of all runs, the one that was taken in last at the end."""
        return self._runs.all()

    def find_run(self, name: str) -> Path:
        """The folder of a run by its hash, the beginning of it, its folder or its manifest."""
        return self._runs.find(name)

    def last_manifest(self) -> Manifest | None:
        """The manifest that was taken in last, if there is one."""
        return self._runs.last_manifest()

    @property
    def _runs(self) -> Runs:
        return Runs(self.path / RUNS)

    # ------------------------------------------------------------------ what must fit together
    def _check(self) -> None:
        card, name = self.card, self.name
        own = (name, self.signing.public, self.agreement.public)
        if (card.name, card.key, card.agreement) != own:
            raise InputError(
                f"The card in {str(self.path)!r} is not that of {name} and its keys: restore "
                "peer.toml, card.toml, id.key and x25519.key together."
            )
        for file in self._certificates():
            read_secret(file.with_suffix(".key"))

    def _certificates(self) -> list[Path]:
        return sorted(self.path.glob(f"{TLS}*.crt"))

    def _check_place(self, name: str, file: Path) -> None:
        check_name(name, "The name of a data set")
        known = self.settings.data.get(name)
        if known is not None and known.file != str(file):
            raise InputError(
                f"{name} is {known.file!r} already; give the other file another name."
            )

    def _place(self, name: str) -> DataPlace:
        found = self.settings.data.get(name)
        if found is None:
            known = ", ".join(self.settings.data)[:100] or "none"
            raise InputError(
                f"This site has no data set {shown(name)} (it has {known}); enter dpdl peer data "
                "add."
            )
        return found


def _said(option: str | None) -> str:
    if option is None:
        raise InputError(
            "Say what a record looks like: give shape and predict, or like with the name of a data "
            "set."
        )
    return option


def _ledger(place: DataPlace) -> Path:
    return Path(place.ledger) if place.ledger else beside(Path(place.file))


def _open_ledger(path: Path, budget: tuple[float, float], about: str) -> None:
    """A new ledger, or the one that is there, if it has the same budget."""
    if not path.exists():
        DataLedger.create(path, *budget, about=about).close()
        return
    with DataLedger.open(path) as found:
        known = (found.terms.epsilon, found.terms.delta)
    if known != budget:
        raise InputError(
            f"The ledger of these data has the budget {known[0]:g}:{known[1]:g}, and a budget is "
            f"never changed; it was given as {budget[0]:g}:{budget[1]:g}."
        )
