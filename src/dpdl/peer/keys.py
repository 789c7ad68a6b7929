"""The keys of a site: Ed25519 signs, X25519 agrees on a secret with another site.

A public key is 64 hexadecimal digits. A private key is a PEM file (PKCS 8) that only its owner can
read; no `repr` shows it. Points of small order are refused as public keys: under such a key a
signature fits any message, and such an agreement is known to everybody.
"""

from __future__ import annotations

import hashlib
import os
import stat
from functools import lru_cache
from pathlib import Path
from typing import Self, final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.asymmetric.x25519 import (
    X25519PrivateKey,
    X25519PublicKey,
)
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from dpdl import foreign
from dpdl.errors import InputError, RunFailed, reason
from dpdl.text import shown

LARGEST_KEY = 1 << 14
"""Bytes of a file with a private key."""
DIGITS = 64
"""Hexadecimal digits of a public key."""
SMALL_ORDER = frozenset(
    bytes.fromhex(point)
    for point in (
        "00" * 32,
        "01" + "00" * 31,
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "ec" + "ff" * 30 + "7f",
        "ed" + "ff" * 30 + "7f",
        "ee" + "ff" * 30 + "7f",
    )
)
"""The points of Ed25519 whose order divides 8, in all encodings, without the bit of the sign."""


class _Key:
    """A private key with its public part; `repr` shows the beginning of the public part."""

    __slots__ = ("_private", "public")

    def __init__(self, private: Ed25519PrivateKey | X25519PrivateKey) -> None:
        self._private = private
        self.public: str = private.public_key().public_bytes_raw().hex()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.public[:8]}...)"

    def write(self, path: Path) -> None:
        """Store the private key, 0600 and durable; a file that is there is refused."""
        write_secret(path, self.pem())

    def pem(self) -> bytes:
        """The private key as PKCS 8 in PEM."""
        return self._private.private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
        )


@final
class SigningKey(_Key):
    """The Ed25519 key of a site, which signs its card, its approvals and its frames."""

    __slots__ = ()
    _private: Ed25519PrivateKey

    @classmethod
    def create(cls) -> Self:
        """A new key from the operating system's randomness."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def read(cls, path: Path) -> Self:
        """The key that `write` stored; one that others can read is refused."""
        found = _parsed(path)
        if not isinstance(found, Ed25519PrivateKey):
            raise InputError(f"Key file {str(path)!r} holds no Ed25519 key.")
        return cls(found)

    def sign(self, message: bytes) -> bytes:
        """The signature of a message, 64 bytes."""
        return self._private.sign(message)


@final
class AgreementKey(_Key):
    """An X25519 key: two sites find a common secret from one's private and the other's public."""

    __slots__ = ()
    _private: X25519PrivateKey

    @classmethod
    def create(cls) -> Self:
        """A new key from the operating system's randomness."""
        return cls(X25519PrivateKey.generate())

    @classmethod
    def read(cls, path: Path) -> Self:
        """The key that `write` stored; one that others can read is refused."""
        found = _parsed(path)
        if not isinstance(found, X25519PrivateKey):
            raise InputError(f"Key file {str(path)!r} holds no X25519 key.")
        return cls(found)

    def shared(self, public: str) -> bytes:
        """The secret that only the two have, 32 bytes; a point of small order is refused."""
        other = X25519PublicKey.from_public_bytes(_raw(public))
        try:
            return self._private.exchange(other)
        except ValueError:  # all bytes are zero
            raise InputError(
                f"{public[:8]}... is a point of small order, not an X25519 key."
            ) from None


# ------------------------------------------------------------------ public keys
def verify(public: str, message: bytes, signature: bytes) -> bool:
    """Whether the owner of an Ed25519 key signed this message; False for what is no key."""
    try:
        _verifying(public).verify(signature, message)
    except (InvalidSignature, InputError):
        return False
    return True


@lru_cache(maxsize=256)
def _verifying(public: str) -> Ed25519PublicKey:
    return Ed25519PublicKey.from_public_bytes(_signing_raw(public))


def check_signing(public: str) -> None:
    """Refuse what cannot be somebody's Ed25519 key."""
    _signing_raw(public)


def check_agreement(public: str) -> None:
    """Refuse what cannot be somebody's X25519 key."""
    AgreementKey.create().shared(public)


def _signing_raw(public: str) -> bytes:
    raw = _raw(public)
    if raw[:-1] + bytes([raw[-1] & 0x7F]) in SMALL_ORDER:
        raise InputError(
            f"{public[:8]}... is a point of small order, not an Ed25519 key."
        )
    return raw


def _raw(public: str) -> bytes:
    if len(public) != DIGITS or not set(public) <= set("0123456789abcdef"):
        raise InputError(
            f"A public key must be {DIGITS} hexadecimal digits in small letters, not "
            f"{shown(public)}."
        )
    return bytes.fromhex(public)


@lru_cache(maxsize=256)
def fingerprint(public: str) -> str:
    """scrypt(key; N = 2^15, r = 8, p = 1), 256 bits as 16 groups of four digits.

    People compare it by telephone, and type its last 8 digits. With a fast hash, a key with the
    same 32 bits would be found in a day on one machine; a trial of this one takes 32 MB and a tenth
    of a second, and 2^32 of them more than ten years of a core.
    """
    found = hashlib.scrypt(
        _raw(public), salt=b"dpdl-fingerprint-1", n=1 << 15, r=8, p=1,
        maxmem=1 << 26, dklen=32,
    ).hex()  # fmt: skip
    return " ".join(found[k : k + 4] for k in range(0, len(found), 4))


def last_digits(public: str) -> str:
    """The last 8 digits of the fingerprint, without a space: what `admit` asks for."""
    return fingerprint(public).replace(" ", "")[-8:]


def hkdf(secret: bytes, salt: bytes, info: bytes, length: int = 32) -> bytes:
    """HKDF-SHA256(secret; salt, info): a key for one purpose, which `info` names."""
    return HKDF(hashes.SHA256(), length, salt, info).derive(secret)


# ------------------------------------------------------------------ files that nobody else reads
def write_secret(path: Path, content: bytes) -> None:
    """A new file of mode 0600, durable when this returns; a file that is there is refused."""
    try:
        place = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise InputError(
            f"Key file {str(path)!r} exists, and a key is never written over."
        ) from None
    except OSError as failure:
        raise InputError(
            f"Key file {str(path)!r} cannot be written: {reason(failure)}."
        ) from failure
    try:
        with os.fdopen(place, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as failure:
        path.unlink()  # half a key would be in the way of the next attempt
        raise RunFailed(
            f"Key file {str(path)!r} cannot be written: {reason(failure)}. Make room and enter the "
            "same command again."
        ) from failure
    sync_folder(path.parent)


def read_secret(path: Path) -> bytes:
    """The content of a file that only its owner can read; one that others can read is refused."""
    try:
        mode = path.stat().st_mode
        content = foreign.read_bytes(path, LARGEST_KEY)
    except (OSError, ValueError) as failure:
        raise InputError(
            f"Key file {str(path)!r} cannot be read: {reason(failure)}."
        ) from failure
    if stat.S_IMODE(mode) & 0o077:
        raise InputError(
            f"Key file {str(path)!r} can be read by others (mode {stat.S_IMODE(mode):o}); "
            f"enter chmod 600, and make new keys if somebody may have read it."
        )
    return content


def erase_secret(path: Path) -> None:
    """Write zeros over a file in its place, durably, and remove it; no file is fine as well.

    Copy-on-write file systems and solid-state disks can keep what was there.
    """
    try:
        place = os.open(path, os.O_WRONLY)
    except FileNotFoundError:
        return
    with os.fdopen(place, "r+b", buffering=0, closefd=True) as file:
        file.write(bytes(os.fstat(file.fileno()).st_size))
        os.fsync(file.fileno())
    path.unlink()
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make names in a folder durable: those of new files, and that others are gone."""
    place = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(place)
    finally:
        os.close(place)


def _parsed(path: Path) -> PrivateKeyTypes:
    try:
        return load_pem_private_key(read_secret(path), None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise InputError(f"Key file {str(path)!r} holds no private key.") from None
