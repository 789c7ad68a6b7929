"""Keys of links: the same at both ends, another one for every round, view and pair."""

from __future__ import annotations

import hashlib
import hmac
import itertools

import pytest

from dpdl.privacy.links import first_link, next_link, noise_key

SHARED, SALT = bytes(range(32)), bytes(32)


def hkdf(secret: bytes, salt: bytes, info: bytes) -> bytes:
    """RFC 5869 for one block of SHA-256."""
    drawn = hmac.digest(salt or bytes(32), secret, hashlib.sha256)
    return hmac.digest(drawn, info + b"\1", hashlib.sha256)


def test_they_are_hkdf_with_lengths_before_the_words() -> None:
    first = first_link(SHARED, SALT, ("olav", "mercy"))
    assert first == hkdf(SHARED, SALT, b"dpdl\4\0link\5\0mercy\4\0olav")
    assert next_link(first) == hkdf(first, b"", b"dpdl\4\0next")
    assert noise_key(first, 12) == hkdf(first, b"", b"dpdl\5\0noise\2\x0012")


def test_both_ends_have_the_same_key() -> None:
    ends = [first_link(SHARED, SALT, names) for names in (("a", "b"), ("b", "a"))]
    assert ends[0] == ends[1]


@pytest.mark.parametrize(
    ("shared", "salt", "names"),
    [
        (bytes(32), SALT, ("a", "b")),
        (SHARED, bytes(range(32)), ("a", "b")),
        (SHARED, SALT, ("a", "c")),
        (SHARED, SALT, ("ab", "")),
    ],
)
def test_another_secret_run_or_pair_has_another_key(
    shared: bytes, salt: bytes, names: tuple[str, str]
) -> None:
    assert first_link(shared, salt, names) != first_link(SHARED, SALT, ("a", "b"))


def test_no_round_and_no_view_shares_its_noise_with_another() -> None:
    key, chain = first_link(SHARED, SALT, ("a", "b")), []
    for _ in range(20):
        chain.append(key)
        key = next_link(key)
    noise = [noise_key(k, v) for k, v in itertools.product(chain, range(3))]
    found = {*chain, *noise}
    assert len(found) == len(chain) + len(noise)
    assert {len(key) for key in found} == {32}


def test_a_link_has_two_ends() -> None:
    with pytest.raises(ValueError, match="two ends, not 'a' twice"):
        first_link(SHARED, SALT, ("a", "a"))
