"""A new folder for a site: keys from the operating system, a certificate, and a first card."""

from __future__ import annotations

import shutil
import ssl
import tempfile
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import final

from dpdl import foreign
from dpdl.errors import InputError, reason
from dpdl.folder.files import write
from dpdl.peer import certificates
from dpdl.peer.card import Card, encoded
from dpdl.peer.keys import AgreementKey, SigningKey, write_secret
from dpdl.peer.site_settings import SiteSettings, write_settings
from dpdl.peer.spelling import check_name, check_url, time_text

SETTINGS, CARD, CONTACTS, RUNS = "peer.toml", "card.toml", "contacts", "runs"
ID_KEY, AGREEMENT_KEY, TLS = "id.key", "x25519.key", "tls"
PORT = 443
"""The port of an address that names none."""


@final
@dataclass(frozen=True)
class NewSite:
    """What `dpdl peer init` is told."""

    name: str
    url: str | None = None  # None: it accepts no connections
    listen: str | None = (
        None  # None: all addresses of the machine, and the port of the url
    )
    mailbox: str | None = None
    proxy: str | None = None
    tls_cert: Path | None = None  # None: a certificate is made
    tls_key: Path | None = None

    def settings(self) -> SiteSettings:
        """The settings of the site."""
        listen = self.listen
        if listen is None and self.url is not None:
            listen = f"0.0.0.0:{port_of(self.url)}"
        return SiteSettings(self.name, listen, self.proxy)

    def check(self) -> None:
        """Refuse what no card could say, before any key is made."""
        check_name(self.name, "The name of a site")
        for where, address in (("url", self.url), ("mailbox", self.mailbox)):
            if address is not None:
                check_url(address, where)
        if (self.tls_cert is None) != (self.tls_key is None):
            raise InputError("Give both --tls-cert and --tls-key, or neither.")
        self.settings()


def make_home(path: Path, site: NewSite, now: datetime | None = None) -> None:
    """Make the folder of a site, all of it or nothing; one that holds something is refused."""
    site.check()
    try:
        if path.exists() and any(path.iterdir()):
            raise InputError(
                f"Folder {str(path)!r} is not empty; keys are never written over."
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    except OSError as failure:
        raise InputError(
            f"Folder {str(path)!r} cannot be made: {reason(failure)}."
        ) from failure
    try:
        _fill(made, site, now)
        made.rename(path)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _fill(folder: Path, site: NewSite, now: datetime | None) -> None:
    signing, agreement = SigningKey.create(), AgreementKey.create()
    signing.write(folder / ID_KEY)
    agreement.write(folder / AGREEMENT_KEY)
    der = store_certificate(folder, TLS, *new_pair(site, now))
    for name in (CONTACTS, RUNS):
        (folder / name).mkdir(mode=0o700)
    write_settings(folder / SETTINGS, site.settings())
    card = Card(
        name=site.name,
        key=signing.public,
        agreement=agreement.public,
        certificate=encoded(der),
        serial=1,
        time=time_text(now),
        data=(),
        url=site.url,
        mailbox=site.mailbox,
    )
    write(folder / CARD, card.text(signing))


def new_pair(site: NewSite, now: datetime | None = None) -> tuple[bytes, bytes]:
    """The key and the certificate of a site, in PEM: given, or new."""
    site.check()
    if site.tls_cert is None or site.tls_key is None:
        return certificates.make_certificate(site.name, now=now)
    return given_pair(site.tls_cert, site.tls_key, now)


def given_pair(
    certificate: Path, key: Path, now: datetime | None = None
) -> tuple[bytes, bytes]:
    """A site's own key and certificate, in PEM, if they can serve both ends of a connection."""
    what = f"Certificate {str(certificate)!r}"
    try:
        pem = foreign.read_bytes(certificate, certificates.LARGEST_CHAIN)
        private = foreign.read_bytes(key, certificates.LARGEST_CHAIN)
    except (OSError, ValueError) as failure:
        raise InputError(
            f"{what} or its key cannot be read: {reason(failure)}."
        ) from failure
    der = certificates.der_of(pem)
    certificates.check_both_ends(der, what)
    certificates.client_context(certificate, key, der, now)  # refuses what is no pair
    return private, pem


def store_certificate(folder: Path, stem: str, key: bytes, certificate: bytes) -> bytes:
    """Keep a key, and its certificate without those of its issuers; returns it in DER.

    Others trust the certificate itself. Issuers that came along could only make them refuse it.
    """
    der = certificates.der_of(certificate)
    write_secret(folder / f"{stem}.key", key)
    pem = ssl.DER_cert_to_PEM_cert(der)
    write(folder / f"{stem}.crt", pem.encode("ascii"))
    return der


def port_of(url: str) -> int:
    """The port of an address."""
    last = url.removeprefix("https://").rstrip("/").rpartition(":")[2]
    return int(last) if last.isdigit() else PORT
