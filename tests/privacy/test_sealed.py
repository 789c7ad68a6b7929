"""A round's secret gives its batches and noise again, and other noise to another row."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor

from dpdl.errors import RunFailed
from dpdl.privacy.grid import grid, perturb_on_grid
from dpdl.privacy.noise import uniform_by_key
from dpdl.privacy.sealed import Sealed

SECRET, OTHER = bytes(range(32)), bytes(range(1, 33))
STD, SIZE = 0.25, 20_000
BOTH_TYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])


def begun(secret: bytes = SECRET) -> Sealed:
    randomness = Sealed()
    randomness.begin(secret)
    return randomness


def perturbed(
    randomness: Sealed,
    row: Tensor,
    *where: int,
    std: float = STD,
    purpose: str = "noise",
) -> Tensor:
    into = torch.empty_like(row)
    randomness.perturb(row, std, purpose, *(where or (1, 0, 1)), into=into)
    return into


def rows(dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    """A gradient, and the one at the model of a neighbour that changed its mind."""
    made = torch.Generator().manual_seed(3)
    first = torch.randn(SIZE, generator=made, dtype=dtype) / 50
    return first, first + torch.randn(SIZE, generator=made, dtype=dtype) / 500


def cosine(a: Tensor, b: Tensor) -> float:
    return float(torch.cosine_similarity(a.double(), b.double(), dim=0))


@BOTH_TYPES
def test_a_repeated_round_sends_the_same_bits(dtype) -> None:
    row, _ = rows(dtype)
    randomness = begun()
    before = perturbed(randomness, row), randomness.uniform(9, "batch", 1, 0)
    randomness.begin(SECRET)
    again = perturbed(randomness, row), randomness.uniform(9, "batch", 1, 0)
    assert torch.equal(before[0], again[0]) and np.array_equal(before[1], again[1])


def stated_key(secret: bytes, kind: bytes, name: bytes) -> bytes:
    return hashlib.blake2b(name, key=secret, digest_size=32, person=kind).digest()


def test_keys_are_the_stated_ones() -> None:
    """A peer that is upgraded between two rounds goes on; so they may not change unnoticed."""
    row, zeros = rows()[0], torch.zeros(SIZE)
    about = np.float64(STD).tobytes() + hashlib.sha256(row.numpy().tobytes()).digest()
    noise, link, into = np.empty_like(row), np.empty_like(row), torch.empty(SIZE)
    key = stated_key(SECRET, b"noise", b"noise\x1f1\x1f0\x1f1\x1f" + about)
    perturb_on_grid(key, row.numpy(), STD, noise)
    assert np.array_equal(perturbed(begun(), row).numpy(), noise)
    key = stated_key(OTHER, b"link", b"link\x1f1\x1f0\x1f3\x1f")
    perturb_on_grid(key, zeros.numpy(), STD, link)
    randomness = Sealed()
    randomness.begin(SECRET, {(0, 3): OTHER})
    randomness.pair(zeros, STD, STD, "link", 1, 0, 3, into=into)
    assert np.array_equal(into.numpy(), link)
    key = stated_key(SECRET, b"batch", b"batch\x1f1\x1f0\x1f")
    coins = begun().uniform(9, "batch", 1, 0)
    assert coins.tolist() == uniform_by_key(key, 9).tolist()


# ------------------------------------------------------------------ the row is in the key
def difference_shown(first_message: Tensor, second_message: Tensor) -> float:
    """How well the difference of two messages shows that of the gradients underneath."""
    first, second = rows()
    return abs(cosine(first_message - second_message, first - second))


def without_row(row: Tensor) -> Tensor:
    """The mutant: a key that does not depend on the row."""
    key = hashlib.blake2b(b"noise", key=SECRET, digest_size=32).digest()
    into = torch.empty_like(row)
    perturb_on_grid(key, row.numpy(), STD, into.numpy())
    return into


def messages(send: Callable[[Tensor], Tensor]) -> tuple[Tensor, Tensor]:
    first, second = rows()
    return send(first), send(second)


def test_another_row_in_a_repeated_round_gets_unrelated_noise() -> None:
    sent = messages(lambda row: perturbed(begun(), row))
    assert difference_shown(*sent) < 0.04
    noise = [message - row for message, row in zip(sent, rows(), strict=True)]
    assert abs(cosine(*noise)) < 0.04


def test_without_the_row_in_the_key_the_difference_is_bare() -> None:
    assert difference_shown(*messages(without_row)) > 0.99


def test_a_single_bit_of_the_row_changes_all_of_the_noise() -> None:
    row = rows()[0]
    other = row.clone()
    other[-1:] = torch.nextafter(row[-1:], torch.ones(1))
    noise = [perturbed(begun(), each) - each for each in (row, other)]
    assert abs(cosine(*noise)) < 0.04


def test_another_deviation_is_another_noise_not_the_same_one_stretched() -> None:
    row = rows()[0]
    noise = [perturbed(begun(), row, std=std) - row for std in (STD, 2 * STD)]
    assert abs(cosine(*noise)) < 0.04


# ------------------------------------------------------------------ addresses
@pytest.mark.parametrize(
    ("secret", "purpose", "where"),
    [
        (OTHER, "noise", (1, 0, 1)),
        (SECRET, "momentum", (1, 0, 1)),
        (SECRET, "noise", (2, 0, 1)),
        (SECRET, "noise", (1, 1, 0)),
        (SECRET, "noise", (1, 0, 1, 1)),
        (SECRET, "noise", (10, 1)),
    ],
)
def test_another_secret_purpose_or_place_is_another_stream(
    secret: bytes, purpose: str, where: tuple[int, ...]
) -> None:
    zeros = torch.zeros(SIZE)
    one = perturbed(begun(), zeros)
    other = perturbed(begun(secret), zeros, *where, purpose=purpose)
    assert abs(cosine(one, other)) < 0.04
    coins = begun().uniform(SIZE, "noise", 1, 0, 1)
    others = begun(secret).uniform(SIZE, purpose, *where)
    assert abs(np.corrcoef(coins, others)[0, 1]) < 0.04


def test_every_address_is_drawn_once_in_a_round() -> None:
    randomness, row = begun(), rows()[0]
    for where in ((1, 0, 1), (1, 1, 1)):
        perturbed(randomness, row, *where)
        with pytest.raises(RunFailed, match=f"{where[1]}, 1 was drawn twice"):
            perturbed(randomness, row, *where)
    perturbed(randomness, row, 1, 0, 1, purpose="momentum")
    randomness.uniform(5, "batch", 1, 0)
    with pytest.raises(RunFailed, match="batch' at 1, 0 was drawn twice"):
        randomness.uniform(5, "batch", 1, 0)
    randomness.begin(OTHER)
    perturbed(randomness, row)


def test_of_many_threads_at_one_address_one_is_served() -> None:
    randomness, row = begun(), torch.zeros(3)

    def served(_: int) -> bool:
        try:
            perturbed(randomness, row)
        except RunFailed:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(served, range(200))) == 1


def test_nothing_is_drawn_before_a_round_was_begun() -> None:
    with pytest.raises(RunFailed, match="before any round was begun"):
        Sealed().uniform(3, "batch", 1, 0)
    with pytest.raises(RunFailed, match="before any round was begun"):
        perturbed(Sealed(), torch.zeros(3))


@pytest.mark.parametrize("secret", [b"", bytes(31), bytes(64)])
def test_a_secret_has_32_bytes(secret: bytes) -> None:
    with pytest.raises(AssertionError, match="32 bytes"):
        Sealed().begin(secret)


# ------------------------------------------------------------------ the law of the numbers
@BOTH_TYPES
def test_the_noise_is_gaussian_and_lies_on_the_public_grid(dtype) -> None:
    row, _ = rows(dtype)
    sent = perturbed(begun(), row)
    steps = sent.double() / grid(STD)
    assert torch.equal(steps, steps.round())
    noise = (sent.double() - row.double()).numpy() / STD
    assert stats.kstest(noise, "norm").pvalue > 1e-4


def test_coins_are_uniform() -> None:
    coins = begun().uniform(SIZE, "batch", 1, 0)
    assert stats.kstest(coins, "uniform").pvalue > 1e-4
    assert ((coins * 2.0**53) % 1 == 0).all()


def test_a_row_may_be_perturbed_in_place() -> None:
    row = rows()[0]
    apart = perturbed(begun(), row)
    begun().perturb(row, STD, "noise", 1, 0, 1, into=row)
    assert torch.equal(row, apart)


def test_it_is_not_repeatable_by_others_and_shows_no_secret() -> None:
    randomness = begun()
    assert not randomness.repeatable
    assert repr(randomness) == "Sealed()"


# ------------------------------------------------------------------ noise of links
LINK = bytes(range(7, 39))


def at_end(links: dict[tuple[int, int], bytes], secret: bytes = SECRET) -> Sealed:
    """The randomness of one end."""
    randomness = Sealed()
    randomness.begin(secret, links)
    return randomness


def shared(randomness: Sealed, std: float, t: int = 1, ends=(0, 3)) -> Tensor:
    row = torch.zeros(SIZE)
    randomness.pair(row, std, STD, "link", t, *ends, into=row)
    return row


def test_both_ends_draw_the_same_noise_from_secrets_of_their_own() -> None:
    lower = at_end({(0, 3): LINK, (0, 1): OTHER})
    higher = at_end({(0, 3): LINK}, secret=OTHER)
    assert torch.equal(shared(lower, 2 * STD), -shared(higher, -2 * STD))


@pytest.mark.parametrize(
    ("key", "t", "ends"),
    [(OTHER, 1, (0, 3)), (LINK, 2, (0, 3)), (LINK, 1, (0, 4))],
    ids=["key", "round", "link"],
)
def test_another_key_round_or_link_is_another_noise(key: bytes, t: int, ends) -> None:
    one = shared(at_end({(0, 3): LINK}), STD)
    other = shared(at_end({ends: key}), STD, t, ends)
    assert abs(cosine(one, other)) < 0.04


def test_the_noise_of_a_link_does_not_depend_on_the_row() -> None:
    row = perturbed(begun(), rows()[0])
    end = at_end({(0, 3): LINK})
    sent = torch.empty_like(row)
    end.pair(row, STD, STD, "link", 1, 0, 3, into=sent)
    assert torch.equal(sent - row, shared(at_end({(0, 3): LINK}), STD))


def test_an_end_draws_the_noise_of_a_link_once_in_a_round() -> None:
    end = at_end({(0, 3): LINK})
    shared(end, STD)
    with pytest.raises(RunFailed, match="link of 'link' at 1, 0, 3 was drawn twice"):
        shared(end, STD)
    end.begin(SECRET, {(0, 3): LINK})
    shared(end, STD)


def test_a_link_without_a_key_is_named() -> None:
    with pytest.raises(RunFailed, match="Link 0-3 has no key"):
        shared(at_end({(0, 1): LINK}), STD)
    with pytest.raises(RunFailed, match="before any round was begun"):
        shared(Sealed(), STD)
    with pytest.raises(AssertionError, match="32 bytes"):
        Sealed().begin(SECRET, {(0, 3): b"short"})
