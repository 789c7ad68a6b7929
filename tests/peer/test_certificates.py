"""Certificates: only those that are named by cards get through a handshake, by TLS 1.3 only."""

from __future__ import annotations

import base64
import contextlib
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from dpdl.errors import InputError
from dpdl.peer import certificates
from dpdl.peer.certificates import (
    client_context,
    der_of,
    make_certificate,
    server_context,
    sha256_of,
    validity,
)
from tests.peer import damaged

NOW = datetime(2030, 6, 1, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Site:
    """The two files of a site."""

    certificate: Path
    key: Path

    @property
    def der(self) -> bytes:
        return der_of(self.certificate.read_bytes())


def stored(folder: Path, name: str, pair: tuple[bytes, bytes]) -> Site:
    site = Site(folder / f"{name}.crt", folder / f"{name}.key")
    site.key.write_bytes(pair[0])
    site.certificate.write_bytes(pair[1])
    return site


@pytest.fixture
def site(tmp_path: Path) -> Callable[..., Site]:
    def make(name: str, **options: object) -> Site:
        return stored(tmp_path, name, make_certificate(name, **options))

    return make


def handshake(server: ssl.SSLContext, client: ssl.SSLContext) -> tuple[bytes, bytes]:
    """What each side has seen of the other: (of the server, of the client)."""
    a, b = socket.socketpair()
    seen: list[bytes] = []
    failures: list[Exception] = []

    def serve() -> None:
        try:
            with server.wrap_socket(a, server_side=True) as end:
                seen.append(end.getpeercert(binary_form=True) or b"")
                end.sendall(b"!")
        except (ssl.SSLError, OSError) as failure:
            failures.append(failure)
        finally:
            a.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with client.wrap_socket(b, server_hostname="unused") as end:
            if not end.recv(1):  # TLS 1.3 tells of a refusal only now
                raise ConnectionError("closed")
            shown = end.getpeercert(binary_form=True) or b""
    finally:
        b.close()
        thread.join(10)
    if failures:
        raise failures[0]
    return shown, seen[0]


# ------------------------------------------------------------------ handshakes
def test_two_sites_that_know_each_other_talk(site: Callable[..., Site]) -> None:
    mercy, olav = site("mercy"), site("st-olav")
    server = server_context(mercy.certificate, mercy.key, [olav.der])
    client = client_context(olav.certificate, olav.key, mercy.der)
    assert handshake(server, client) == (mercy.der, olav.der)
    assert client.verify_mode is server.verify_mode is ssl.CERT_REQUIRED
    assert server.minimum_version is client.minimum_version is ssl.TLSVersion.TLSv1_3


def test_a_stranger_with_a_known_name_gets_nowhere(site: Callable[..., Site]) -> None:
    mercy, olav, thief = site("mercy"), site("st-olav"), site("thief")
    server = server_context(mercy.certificate, mercy.key, [olav.der])
    forged = site("st-olav")  # another key, the same name, and the same files
    for other in (thief, forged):
        client = client_context(other.certificate, other.key, mercy.der)
        with pytest.raises((ssl.SSLError, OSError)):
            handshake(server, client)


def test_who_shows_no_certificate_is_refused(site: Callable[..., Site]) -> None:
    mercy, olav = site("mercy"), site("st-olav")
    server = server_context(mercy.certificate, mercy.key, [olav.der])
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.load_verify_locations(cadata=mercy.der)
    with pytest.raises((ssl.SSLError, OSError)):
        handshake(server, client)


def test_another_server_is_refused_before_anything_is_said(
    site: Callable[..., Site],
) -> None:
    mercy, olav, thief = site("mercy"), site("st-olav"), site("mercy2")
    server = server_context(thief.certificate, thief.key, [olav.der])
    client = client_context(olav.certificate, olav.key, mercy.der)
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(server, client)


def test_tls_1_2_is_refused(site: Callable[..., Site]) -> None:
    mercy, olav = site("mercy"), site("st-olav")
    server = server_context(mercy.certificate, mercy.key, [olav.der])
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    client.load_cert_chain(olav.certificate, olav.key)
    client.load_verify_locations(cadata=mercy.der)
    with pytest.raises((ssl.SSLError, OSError)):
        handshake(server, client)


def test_a_new_certificate_is_trusted_at_run_time_beside_the_old_one(
    site: Callable[..., Site], tmp_path: Path
) -> None:
    mercy, old = site("mercy"), site("st-olav")
    (tmp_path / "later").mkdir()
    new = stored(tmp_path / "later", "st-olav", make_certificate("st-olav"))
    server = server_context(mercy.certificate, mercy.key, [old.der])
    with_old = client_context(old.certificate, old.key, mercy.der)
    with_new = client_context(new.certificate, new.key, mercy.der)
    with pytest.raises((ssl.SSLError, OSError)):
        handshake(server, with_new)
    certificates.trust(server, new.der)
    certificates.trust(server, new.der)  # once more does nothing
    assert handshake(server, with_new) == (mercy.der, new.der)
    assert handshake(server, with_old) == (mercy.der, old.der)


def test_an_expired_peer_is_refused_by_both_sides(site: Callable[..., Site]) -> None:
    long_ago = datetime.now(UTC) - timedelta(days=30)
    mercy, old = site("mercy"), site("st-olav", days=10, now=long_ago)
    then = long_ago + timedelta(days=1)
    server = server_context(mercy.certificate, mercy.key, [old.der])
    client = client_context(old.certificate, old.key, mercy.der, now=then)
    with pytest.raises((ssl.SSLError, OSError)):
        handshake(server, client)
    server = server_context(old.certificate, old.key, [mercy.der], now=then)
    client = client_context(mercy.certificate, mercy.key, old.der)
    with pytest.raises(ssl.SSLCertVerificationError, match="expired"):
        handshake(server, client)


# ------------------------------------------------------------------ issued by somebody else
def issued(
    name: str, issuer: str = "hospital", usage: tuple[x509.ObjectIdentifier, ...] = ()
) -> tuple[bytes, bytes]:
    """An RSA key and a certificate that an authority issued; the authority's follows it."""
    authority = ec.generate_private_key(ec.SECP256R1())
    key = rsa.generate_private_key(65537, 2048)
    at = datetime.now(UTC)

    def named(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    def begun(subject: str, public: object) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder(named(issuer), named(subject), public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(at - timedelta(days=1))
            .not_valid_after(at + timedelta(days=90))
        )

    leaf = begun(name, key.public_key())
    if usage:
        leaf = leaf.add_extension(x509.ExtendedKeyUsage(usage), critical=False)
    own = leaf.sign(authority, hashes.SHA256()).public_bytes(Encoding.PEM)
    above = begun(issuer, authority.public_key())
    above = above.add_extension(x509.BasicConstraints(True, None), critical=True)
    above = above.sign(authority, hashes.SHA256())
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return private, own + above.public_bytes(Encoding.PEM)


def test_a_certificate_of_the_hospital_is_pinned_without_its_issuer(
    site: Callable[..., Site], tmp_path: Path
) -> None:
    mercy, olav = site("mercy"), stored(tmp_path, "st-olav", issued("st-olav"))
    server = server_context(olav.certificate, olav.key, [mercy.der])
    client = client_context(mercy.certificate, mercy.key, olav.der)
    assert handshake(server, client) == (olav.der, mercy.der)
    server = server_context(mercy.certificate, mercy.key, [olav.der])
    client = client_context(olav.certificate, olav.key, mercy.der)
    assert handshake(server, client) == (mercy.der, olav.der)


def test_what_the_same_authority_issued_to_others_is_refused(
    site: Callable[..., Site], tmp_path: Path
) -> None:
    mercy = site("mercy")
    ours = stored(tmp_path, "a", issued("st-olav"))
    other = stored(tmp_path, "b", issued("st-olav"))
    server = server_context(other.certificate, other.key, [mercy.der])
    client = client_context(mercy.certificate, mercy.key, ours.der)
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(server, client)


@pytest.mark.parametrize(
    ("usage", "fine"),
    [
        ((), True),
        (certificates.BOTH_ENDS, True),
        ((ExtendedKeyUsageOID.SERVER_AUTH,), False),
        ((ExtendedKeyUsageOID.CLIENT_AUTH,), False),
    ],
)
def test_a_certificate_must_serve_both_ends(
    usage: tuple[x509.ObjectIdentifier, ...], fine: bool
) -> None:
    der = der_of(issued("st-olav", usage=usage)[1])
    expected = (
        contextlib.nullcontext()
        if fine
        else pytest.raises(InputError, match=r"^It must be allowed for both serverAuth")
    )
    with expected:
        certificates.check_both_ends(der, "It")


# ------------------------------------------------------------------ dates
def test_the_end_is_named_30_days_before() -> None:
    der = der_of(make_certificate("mercy", days=100, now=NOW)[1])
    end = NOW + timedelta(days=100)
    assert certificates.expires(der) == end
    assert validity(der, "It", NOW) is None
    assert validity(der, "It", end - timedelta(days=31)) is None
    for days in (29, 1, 0):
        said = validity(der, "It", end - timedelta(days=days))
        assert said is not None
        assert said.startswith("It expires on 2030-09-09; ") and "rotate" in said
    with pytest.raises(InputError, match=r"It expired on 2030-09-09; .*rotate"):
        validity(der, "It", end + timedelta(seconds=1))


def test_a_clock_that_is_wrong_by_a_day_does_no_harm_and_by_a_month_is_named() -> None:
    der = der_of(make_certificate("mercy", now=NOW)[1])
    assert validity(der, "It", NOW - timedelta(days=1)) is None
    with pytest.raises(InputError, match=r"it is 2030-05-02 12:00 .UTC. here: set the"):
        validity(der, "It", NOW - timedelta(days=30))


def test_an_own_certificate_that_has_ended_is_named(site: Callable[..., Site]) -> None:
    mercy, olav = site("mercy"), site("st-olav", days=1, now=NOW)
    late = NOW + timedelta(days=2)
    with pytest.raises(InputError, match=r"own certificate .*st-olav\.crt' expired on"):
        server_context(olav.certificate, olav.key, [mercy.der], now=late)
    with pytest.raises(InputError, match=r"own certificate .*st-olav\.crt' expired on"):
        client_context(olav.certificate, olav.key, mercy.der, now=late)


# ------------------------------------------------------------------ files that are none
def test_a_certificate_in_pem_is_the_one_in_der() -> None:
    _, pem = make_certificate("mercy")
    found = x509.load_pem_x509_certificate(pem)
    assert der_of(pem) == found.public_bytes(Encoding.DER)
    assert sha256_of(der_of(pem)) == found.fingerprint(hashes.SHA256()).hex()


BEGIN, END = b"-----BEGIN CERTIFICATE-----\n", b"\n-----END CERTIFICATE-----"


@pytest.mark.parametrize(
    "pem",
    [
        b"",
        b"\xff\xfe",
        BEGIN,
        BEGIN + b"!" + END,
        BEGIN + b"\xff\xff" + END,
        BEGIN + base64.b64encode(b"no certificate") + END,
        BEGIN + base64.b64encode(bytes(9000)) + END,
    ],
)
def test_what_is_no_certificate_is_refused(pem: bytes) -> None:
    with pytest.raises(InputError, match="certificate must"):
        der_of(pem)


READ = """
import sys
from dpdl.errors import InputError
from dpdl.peer.certificates import check_der
try:
    check_der(bytes.fromhex(sys.argv[1]))
except InputError as failure:
    print(failure)
"""


@pytest.mark.parametrize("serial", [b"\x00", b"\xfb"])
def test_a_serial_number_that_is_not_positive_is_refused_in_one_sentence(
    serial: bytes,
) -> None:
    """In a process of its own: here, the warning of the library would be an error anyway."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "mercy")])
    good = (
        x509.CertificateBuilder(name, name, key.public_key(), serial_number=0x11)
        .not_valid_before(NOW)
        .not_valid_after(NOW + timedelta(days=1))
        .sign(key, hashes.SHA256())
        .public_bytes(Encoding.DER)
    )
    certificates.check_der(good)
    bad = good.replace(b"\x02\x01\x11", b"\x02\x01" + serial, 1)
    assert bad != good
    words = [sys.executable, "-c", READ, bad.hex()]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout == (
        "A certificate must be one of X.509 in DER: its serial number is not above 0.\n"
    )


def test_two_certificates_are_not_one(site: Callable[..., Site]) -> None:
    der = site("mercy").der
    with pytest.raises(InputError, match=r"must be one of X\.509"):
        certificates.check_der(der + der)
    with pytest.raises(InputError, match=r"must be one of X\.509"):
        certificates.check_der(der[:-1])


def test_no_damage_to_a_certificate_breaks_its_reader() -> None:
    der = der_of(issued("mercy", usage=certificates.BOTH_ENDS)[1])

    def look(content: bytes) -> None:
        certificates.check_both_ends(content, "It")
        validity(content, "It", NOW)

    for place in range(len(der)):
        for changed in (der[place] ^ 1, der[place] ^ 0x80, 0, 0xFF):
            damaged.read(look, der[:place] + bytes([changed]) + der[place + 1 :])
        damaged.read(look, der[:place])


def test_files_that_do_not_fit_are_named(
    site: Callable[..., Site], tmp_path: Path
) -> None:
    mercy, olav = site("mercy"), site("st-olav")
    with pytest.raises(InputError, match="they are no pair"):
        client_context(mercy.certificate, olav.key, olav.der)
    with pytest.raises(InputError, match="cannot be read: No such file"):
        client_context(tmp_path / "none.crt", olav.key, olav.der)
    with pytest.raises(InputError, match="cannot be used: No such file"):
        client_context(mercy.certificate, tmp_path / "none.key", olav.der)


def test_an_encrypted_key_is_refused_and_nobody_is_asked(
    site: Callable[..., Site],
) -> None:
    mercy = site("mercy")
    key = ec.generate_private_key(ec.SECP256R1())
    locked = BestAvailableEncryption(b"word")
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, locked)
    mercy.key.write_bytes(pem)
    with pytest.raises(InputError, match="cannot be used: "):
        client_context(mercy.certificate, mercy.key, mercy.der)
