"""What gloo announces before it sends, and where it can be used. The contract has the rest."""

from __future__ import annotations

import pytest
import torch

from dpdl.errors import InputError
from dpdl.transport import Address, Gloo
from dpdl.transport.gloo import TYPES, WORDS, gloo, header

HERE = Address(3, "model", 1)


def test_a_header_has_one_size_whatever_it_announces() -> None:
    shapes = [(0,), (5,), (2, 3), (1, 2, 3, 4, 5, 6)]
    for shape in shapes:
        found = header(HERE, torch.zeros(shape))
        assert (len(found), found.dtype) == (WORDS, torch.int64)
        assert found[4 : 4 + len(shape)].tolist() == list(shape)


@pytest.mark.parametrize(
    "other",
    [
        header(HERE._replace(round=4), torch.zeros(2, 3)),
        header(HERE._replace(channel="step"), torch.zeros(2, 3)),
        header(HERE._replace(number=0), torch.zeros(2, 3)),
        header(HERE, torch.zeros(3, 2)),
        header(HERE, torch.zeros(6)),
        header(HERE, torch.zeros(2, 3, 1)),
        header(HERE, torch.zeros(2, 3, dtype=torch.float64)),
    ],
)
def test_a_header_differs_with_address_shape_and_type(other: torch.Tensor) -> None:
    assert not other.equal(header(HERE, torch.zeros(2, 3)))


def test_a_header_says_nothing_about_the_content_of_rows() -> None:
    assert header(HERE, torch.zeros(2, 3)).equal(header(HERE, torch.ones(2, 3)))


def test_the_types_that_may_travel_have_numbers_of_their_own() -> None:
    numbers = [int(header(HERE, torch.zeros(1, dtype=one))[2]) for one in TYPES]
    assert numbers == list(range(len(TYPES)))


def test_an_exchange_of_nothing_needs_no_group() -> None:
    alone = Gloo(0, 1)
    assert alone.swap(HERE, {}, {}, torch.zeros(1)) == {}
    assert (alone.apart, Gloo(1, 2).apart) == (False, True)


@pytest.mark.parametrize(
    "missing", ["RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"]
)
def test_outside_of_torchrun_it_says_how_to_start_it(missing, monkeypatch) -> None:
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.setenv(name, "0")
    monkeypatch.delenv(missing)
    with pytest.raises(InputError, match="torchrun --nproc-per-node 2"), gloo():
        pass
