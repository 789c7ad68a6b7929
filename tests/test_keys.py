"""A random stream depends on its key, and on nothing else."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from dpdl.keys import cipher_key, digest, generator

KEY = (7, "noise", 1, 2, 3)
DIGEST = 17027615107855031018840599635353388612
CIPHER = "ba78296800d811c810532d928d20e398e9283a7c4ee48e578be46dd226791ff5"
NUMBERS = [0.4645015455412719, 0.4153069636986313, 0.22637124134443654]


def test_the_numbers_of_a_key_never_change() -> None:
    """Run folders of older versions are resumed with them."""
    assert digest(*KEY) == DIGEST
    assert cipher_key(*KEY).hex() == CIPHER
    assert generator(*KEY).random(3).tolist() == NUMBERS


@pytest.mark.parametrize(
    "other",
    [
        (8, "noise", 1, 2, 3),
        (7, "nois", 1, 2, 3),
        (7, "noise", 1, 3, 2),
        (7, "noise", 12, 3),
        (7, "noise", 1, 2),
        (7, "noise", 1, 2, 3, 0),
        (71, "noise", 2, 3),
    ],
)
def test_another_key_is_another_stream(other: tuple) -> None:
    assert digest(*other) != digest(*KEY)
    assert cipher_key(*other) != cipher_key(*KEY)
    assert generator(*other).random() != generator(*KEY).random()


def test_a_digest_has_128_bits_and_a_cipher_key_256() -> None:
    digests = [digest(0, "noise", k) for k in range(200)]
    assert max(digests).bit_length() == 128
    assert {len(cipher_key(0, "noise", k)) for k in range(50)} == {32}


def test_what_was_drawn_before_or_elsewhere_makes_no_difference() -> None:
    expected = generator(*KEY).random(100)
    found: dict[int, np.ndarray] = {}

    def draw(k: int) -> None:
        generator(k, "other").random(k)
        found[k] = generator(*KEY).random(100)

    threads = [threading.Thread(target=draw, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(np.array_equal(one, expected) for one in found.values())
    assert np.array_equal(
        np.concatenate([(g := generator(*KEY)).random(40), g.random(60)]), expected
    )
