"""TLS certificates, each of which is trusted by itself and not for who issued it.

A context accepts TLS 1.3 only, shows its own certificate, and demands one of the other side. Its
trust anchors are the certificates of the cards, so a certificate that no card has is refused by the
handshake. What passes was made by the holder of the private key of an anchor: the anchor itself, or
something that this key issued. A server tells sites apart by `sha256_of` of what was shown.

Names are not compared (`check_hostname` is off): with exactly one anchor there is nothing they
could add. Contexts are made by hand, since the strict flags of `create_default_context` refuse
simple self-signed certificates from Python 3.13 on. There are no session tickets: every connection
shows a certificate.
"""

from __future__ import annotations

import hashlib
import re
import ssl
import warnings
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from dpdl import foreign
from dpdl.errors import InputError, reason
from dpdl.text import sentence

LARGEST = 8192
"""Bytes of a certificate in DER."""
LARGEST_CHAIN = 1 << 18
"""Bytes of a PEM file with a certificate and those of its issuers."""
DAYS = 3650
"""Days for which a certificate of ours is valid."""
EARLY = timedelta(days=2)
"""So much before it is made a certificate begins: the clocks of sites may differ by a day."""
NOTICE = timedelta(days=30)
"""So long before it ends a certificate is mentioned."""
BOTH_ENDS = (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH)
REFUSED = (
    ValueError,
    TypeError,
    OverflowError,
    Warning,
    ssl.SSLError,
    UnsupportedAlgorithm,
    x509.DuplicateExtension,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)
"""What the libraries say of a certificate that is none."""
SERIAL = r"Parsed a serial number"
"""How the library begins a warning that we make a refusal of our own."""
# What else the libraries only warn of is refused, too. This says so for what is called here, and is
# set once: a filter for the length of a call would be that of all threads.
warnings.filterwarnings("error", module=rf"{re.escape(__name__)}$")
warnings.filterwarnings("ignore", SERIAL, module=rf"{re.escape(__name__)}$")
BLOCK = re.compile(
    rb"-----BEGIN CERTIFICATE-----.{1,100000}?-----END CERTIFICATE-----", re.DOTALL
)


# ------------------------------------------------------------------ making one
def make_certificate(
    name: str, days: int = DAYS, now: datetime | None = None
) -> tuple[bytes, bytes]:
    """A new P-256 key and its self-signed certificate, both in PEM: (key, certificate)."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    begin = now or datetime.now(UTC)
    builder = (
        x509.CertificateBuilder(subject_name=subject, issuer_name=subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin - EARLY)
        .not_valid_after(begin + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage(BOTH_ENDS), critical=False)
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False
        )
    )
    signed = builder.sign(key, hashes.SHA256())
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return private, signed.public_bytes(Encoding.PEM)


# ------------------------------------------------------------------ looking at one
def der_of(pem: bytes) -> bytes:
    """The first certificate in a PEM file, which is the site's own; issuers may follow."""
    found = BLOCK.search(pem)
    try:
        der = ssl.PEM_cert_to_DER_cert(found[0].decode("ascii")) if found else b""
    except ValueError:
        der = b""
    if not der:
        raise InputError("The file of a certificate must hold one in PEM.")
    check_der(der)
    return der


def check_der(der: bytes) -> None:
    """Refuse what is not exactly one X.509 certificate of at most `LARGEST` bytes."""
    _parsed(der)


def check_both_ends(der: bytes, what: str) -> None:
    """Refuse a certificate whose issuer allows it for servers, or for clients, only."""
    try:
        usage = _parsed(der).extensions.get_extension_for_class(x509.ExtendedKeyUsage)
    except x509.ExtensionNotFound:
        return
    except REFUSED as failure:
        raise InputError(f"{what} cannot be used: {_said(failure)}.") from failure
    if not set(BOTH_ENDS) <= set(usage.value):
        raise InputError(
            f"{what} must be allowed for both serverAuth and clientAuth: a site is server and "
            "client; without --tls-cert the site makes one of its own."
        )


def sha256_of(der: bytes) -> str:
    """SHA-256 of a certificate, 64 hexadecimal digits: the name by which it is known."""
    return hashlib.sha256(der).hexdigest()


def expires(der: bytes) -> datetime:
    """When a certificate ends, in UTC."""
    return _parsed(der).not_valid_after_utc


def validity(der: bytes, what: str, now: datetime | None = None) -> str | None:
    """A sentence if a certificate ends within 30 days; refused if it has ended or not begun.

    `what` begins the sentence, for instance "The certificate of mercy".
    """
    found, at = _parsed(der), now or datetime.now(UTC)
    begin, end = found.not_valid_before_utc, found.not_valid_after_utc
    if at > end:
        raise InputError(f"{what} expired on {end:%Y-%m-%d}; {REMEDY}.")
    if at < begin:
        raise InputError(
            f"{what} is valid from {begin:%Y-%m-%d %H:%M} on, and it is {at:%Y-%m-%d %H:%M} "
            "(UTC) here: set the clock."
        )
    if at > end - NOTICE:
        return f"{what} expires on {end:%Y-%m-%d}; {REMEDY}."
    return None


REMEDY = "its site makes a new one with `dpdl peer rotate`"


def _parsed(der: bytes) -> x509.Certificate:
    try:
        if len(der) > LARGEST:
            raise ValueError(f"it has more than {LARGEST:,} bytes")
        found = x509.load_der_x509_certificate(der)
        if found.serial_number < 1:
            raise ValueError("its serial number is not above 0")
        # Asked here, so that nobody later meets a date that is none, or what OpenSSL refuses.
        found.not_valid_before_utc, found.not_valid_after_utc  # noqa: B018
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=der)
    except REFUSED as failure:
        raise InputError(
            f"A certificate must be one of X.509 in DER: {_said(failure)}."
        ) from failure
    return found


def _said(failure: Exception) -> str:
    return sentence(reason(failure), 100)


# ------------------------------------------------------------------ contexts
def server_context(
    certificate: Path, key: Path, trusted: Iterable[bytes], now: datetime | None = None
) -> ssl.SSLContext:
    """For a site's own server: shows its certificate, takes clients that show a trusted one."""
    context = _context(ssl.PROTOCOL_TLS_SERVER, certificate, key, now)
    context.num_tickets = 0
    for der in trusted:
        trust(context, der)
    return context


def client_context(
    certificate: Path, key: Path, trusted: bytes, now: datetime | None = None
) -> ssl.SSLContext:
    """For calls to one other site: only the server that shows this certificate is talked to."""
    context = _context(ssl.PROTOCOL_TLS_CLIENT, certificate, key, now)
    trust(context, trusted)
    return context


def trust(context: ssl.SSLContext, der: bytes) -> None:
    """One more anchor, from the next handshake on: a site shows a new certificate."""
    check_der(der)
    context.load_verify_locations(cadata=der)


def _context(
    side: int, certificate: Path, key: Path, now: datetime | None
) -> ssl.SSLContext:
    """TLS 1.3 with an own certificate, which must be valid now, and no anchor yet."""
    validity(_read(certificate), f"The own certificate {str(certificate)!r}", now)
    context = ssl.SSLContext(side)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    # A certificate that somebody issued may be an anchor, too.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        # Without a word for an encrypted key, OpenSSL would ask at the terminal and wait.
        context.load_cert_chain(certificate, key, password=lambda: b"")
    except (OSError, ValueError) as failure:
        raise InputError(
            f"Certificate {str(certificate)!r} and key {str(key)!r} cannot be used: "
            f"{_why(failure)}."
        ) from failure
    return context


def _read(certificate: Path) -> bytes:
    try:
        return der_of(foreign.read_bytes(certificate, LARGEST_CHAIN))
    except (OSError, ValueError) as failure:
        raise InputError(
            f"Certificate {str(certificate)!r} cannot be read: {reason(failure)}."
        ) from failure


def _why(failure: Exception) -> str:
    if isinstance(failure, ssl.SSLError):
        word = str(failure.reason or "the key is encrypted, or no key")
        return "they are no pair" if "MISMATCH" in word else word.lower()
    return reason(failure)
