"""Keys: signatures, agreements, fingerprints and the files they are in."""

from __future__ import annotations

import os
import pickle
import resource
from pathlib import Path

import pytest

from dpdl.errors import InputError, RunFailed
from dpdl.peer import keys
from dpdl.peer.keys import AgreementKey, SigningKey, fingerprint, hkdf, verify

MESSAGE = b"what is signed"


# ------------------------------------------------------------------ signatures
def test_a_signature_is_that_of_its_key_and_message() -> None:
    key, other = SigningKey.create(), SigningKey.create()
    signature = key.sign(MESSAGE)
    assert len(signature) == 64
    assert verify(key.public, MESSAGE, signature)
    assert not verify(other.public, MESSAGE, signature)
    assert not verify(key.public, MESSAGE + b".", signature)


def test_every_flipped_bit_of_a_signature_is_noticed() -> None:
    key = SigningKey.create()
    signature = key.sign(MESSAGE)
    for bit in range(512):
        other = bytearray(signature)
        other[bit // 8] ^= 1 << bit % 8
        assert not verify(key.public, MESSAGE, bytes(other)), bit


@pytest.mark.parametrize("length", [0, 1, 63, 65])
def test_a_signature_has_64_bytes(length: int) -> None:
    key = SigningKey.create()
    signature = (key.sign(MESSAGE) + b"\0")[:length]
    assert not verify(key.public, MESSAGE, signature)


WRONG = ["", "00", "zz" * 32, "AB" * 32, "é" * 64, "0" * 63 + "\n", "1" * 65]


@pytest.mark.parametrize("public", WRONG)
def test_what_is_no_key_is_refused_in_words(public: str) -> None:
    assert not verify(public, MESSAGE, bytes(64))
    with pytest.raises(InputError, match="64 hexadecimal digits"):
        keys.check_signing(public)
    with pytest.raises(InputError, match="64 hexadecimal digits"):
        AgreementKey.create().shared(public)


def test_keys_of_small_order_are_refused_and_there_are_no_others() -> None:
    """Under the neutral point, the signature "neutral point, 0" fits whatever there is."""
    neutral = bytes([1]) + bytes(31)
    forged = neutral + bytes(32)
    assert not verify(neutral.hex(), MESSAGE, forged)
    for point in keys.SMALL_ORDER:
        for sign in (0, 0x80):
            public = (point[:-1] + bytes([point[-1] | sign])).hex()
            with pytest.raises(InputError, match="small order"):
                keys.check_signing(public)
    assert {y_of(point) for point in keys.SMALL_ORDER} == small_ordinates()


P = 2**255 - 19
D = -121665 * pow(121666, -1, P) % P


def y_of(point: bytes) -> int:
    """The ordinate that an encoding stands for."""
    return int.from_bytes(point, "little") % P


def small_ordinates() -> set[int]:
    """The ordinates of points of order 1, 2, 4 and 8 on -x^2 + y^2 = 1 + d x^2 y^2.

    Order 1 and 2: x = 0, y = ±1. Order 4: y = 0. Order 8: their double has y = 0, which is
    x^2 = -y^2, so that d y^4 + 2 y^2 - 1 = 0.
    """
    root = root_of((1 + D) % P)
    assert root is not None
    squares = [(-1 + sign * root) * pow(D, -1, P) % P for sign in (1, -1)]
    eighths = [y for square in squares if (y := root_of(square)) is not None]
    return {1, P - 1, 0, *eighths, *(P - y for y in eighths)}


def root_of(square: int) -> int | None:
    """A square root modulo P, if there is one."""
    found = pow(square, (P + 3) // 8, P)
    for one in (found, found * pow(2, (P - 1) // 4, P) % P):
        if one * one % P == square:
            return one
    return None


# ------------------------------------------------------------------ agreement
def test_two_sites_find_the_same_secret_and_a_third_does_not() -> None:
    a, b, c = (AgreementKey.create() for _ in range(3))
    assert a.shared(b.public) == b.shared(a.public)
    assert len(a.shared(b.public)) == 32
    assert c.shared(b.public) != a.shared(b.public)


@pytest.mark.parametrize("first", ["00", "01"])
def test_an_agreement_that_everybody_knows_is_refused(first: str) -> None:
    public = first + "00" * 31
    with pytest.raises(InputError, match="small order"):
        AgreementKey.create().shared(public)
    with pytest.raises(InputError, match="small order"):
        keys.check_agreement(public)


def test_hkdf_is_that_of_rfc_5869() -> None:
    """Test case 1 of its appendix."""
    found = hkdf(
        bytes([0x0B] * 22), bytes(range(13)), bytes(range(0xF0, 0xFA)), length=42
    )
    assert found.hex() == (
        "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf"
        "34007208d5b887185865"
    )
    assert len(hkdf(b"secret", b"", b"")) == 32


# ------------------------------------------------------------------ fingerprints
def test_a_fingerprint_is_read_out_in_groups_of_four() -> None:
    public = SigningKey.create().public
    groups = fingerprint(public).split(" ")
    assert [len(group) for group in groups] == [4] * 16
    assert keys.last_digits(public) == groups[-2] + groups[-1]
    assert fingerprint(SigningKey.create().public) != fingerprint(public)


def test_a_fingerprint_stays_what_it_was() -> None:
    """Of the key 00, 01, ..., 1f: two versions of the package must read out the same."""
    found = fingerprint(bytes(range(32)).hex())
    assert found.startswith("73e5 404e e931 d66c 8d0e d3f3 27d8 5d50")
    assert found.endswith("ce0d 59c3 4dd7 e82b dd48 1564 fb6e 6052")


# ------------------------------------------------------------------ files
@pytest.mark.parametrize("kind", [SigningKey, AgreementKey])
def test_a_key_is_read_as_it_was_written(
    kind: type[SigningKey] | type[AgreementKey], tmp_path: Path
) -> None:
    key = kind.create()
    key.write(tmp_path / "a.key")
    assert (tmp_path / "a.key").stat().st_mode & 0o777 == 0o600
    assert kind.read(tmp_path / "a.key").public == key.public


def test_a_key_is_never_written_over(tmp_path: Path) -> None:
    SigningKey.create().write(tmp_path / "a.key")
    before = (tmp_path / "a.key").read_bytes()
    with pytest.raises(InputError, match="never written over"):
        SigningKey.create().write(tmp_path / "a.key")
    assert (tmp_path / "a.key").read_bytes() == before


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o610, 0o755])
def test_a_key_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    SigningKey.create().write(tmp_path / "a.key")
    (tmp_path / "a.key").chmod(mode)
    with pytest.raises(InputError, match=f"by others .mode {mode:o}.*chmod 600"):
        SigningKey.read(tmp_path / "a.key")


def test_a_key_of_the_other_kind_is_refused(tmp_path: Path) -> None:
    SigningKey.create().write(tmp_path / "a.key")
    with pytest.raises(InputError, match="holds no X25519 key"):
        AgreementKey.read(tmp_path / "a.key")


@pytest.mark.parametrize("content", [b"", b"\xff\x00", b"-----BEGIN PRIVATE KEY-----"])
def test_a_file_without_a_key_is_refused(tmp_path: Path, content: bytes) -> None:
    keys.write_secret(tmp_path / "a.key", content)
    with pytest.raises(InputError, match="holds no private key"):
        SigningKey.read(tmp_path / "a.key")


def test_a_missing_key_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: No such file"):
        SigningKey.read(tmp_path / "a.key")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        SigningKey.read(tmp_path)
    with pytest.raises(InputError, match="cannot be written: No such file"):
        SigningKey.create().write(tmp_path / "nowhere" / "a.key")


def test_half_a_key_on_a_full_disk_is_not_in_the_way_of_the_next_one(
    tmp_path: Path,
) -> None:
    file, limits = tmp_path / "a.key", resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, limits[1]))
    try:
        with pytest.raises(RunFailed, match=r"cannot be written: File too large\."):
            SigningKey.create().write(file)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not file.exists()
    SigningKey.create().write(file)


def test_an_erased_key_is_zeros_under_every_name_it_had(tmp_path: Path) -> None:
    AgreementKey.create().write(tmp_path / "a.key")
    os.link(tmp_path / "a.key", tmp_path / "same")
    length = (tmp_path / "same").stat().st_size
    keys.erase_secret(tmp_path / "a.key")
    assert not (tmp_path / "a.key").exists()
    assert (tmp_path / "same").read_bytes() == bytes(length)
    keys.erase_secret(tmp_path / "a.key")  # nothing is left to do


@pytest.mark.parametrize("key", [SigningKey.create(), AgreementKey.create()])
def test_a_private_key_is_not_shown_and_not_pickled(
    key: SigningKey | AgreementKey,
) -> None:
    assert repr(key) == f"{type(key).__name__}({key.public[:8]}...)"
    assert "PRIVATE" not in str(key)
    with pytest.raises(TypeError):
        pickle.dumps(key)
