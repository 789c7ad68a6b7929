"""A certificate that may issue others, as a hospital's own authority has, and one that it issued."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

DAY = timedelta(days=1)


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _made(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    signing: ec.EllipticCurvePrivateKey,
    issues: bool,
) -> x509.Certificate:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder(_named("authority"), _named(name))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - DAY)
        .not_valid_after(now + DAY)
        .add_extension(x509.BasicConstraints(ca=issues, path_length=None), critical=True)
        .sign(signing, hashes.SHA256())
    )  # fmt: skip


@cache
def issued() -> tuple[bytes, Path]:
    """The authority's certificate in DER, and a file with an issued one, its key, and its issuer."""
    signing = ec.generate_private_key(ec.SECP256R1())
    authority = _made("authority", signing, signing, issues=True)
    key = ec.generate_private_key(ec.SECP256R1())
    leaf = _made("leaf", key, signing, issues=False)
    path = Path(mkdtemp(prefix="dpdl-peer-")) / "leaf.pem"
    path.write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        + leaf.public_bytes(Encoding.PEM)
        + authority.public_bytes(Encoding.PEM)
    )
    return authority.public_bytes(Encoding.DER), path
