"""Features of one length, around a centre or not."""

from __future__ import annotations

import torch

from dpdl.tasks.directions import (
    LENGTH,
    TOGETHER,
    Centred,
    beside,
    centred,
    gathered,
    of_length,
)


def test_all_have_one_length_and_nothing_stays_nothing() -> None:
    x = torch.randn(5, 2, 3, generator=torch.Generator().manual_seed(0))
    x[4] = 0
    norms = of_length(x).flatten(1).norm(dim=1)
    torch.testing.assert_close(norms, torch.tensor([LENGTH] * 4 + [0.0]))
    torch.testing.assert_close(of_length(x, 1.0) * LENGTH, of_length(x))


def test_what_stands_beside_is_half_as_long() -> None:
    draw = torch.Generator().manual_seed(0)
    x, y = torch.randn(4, 5, 2, 2, generator=draw), torch.randn(4, 7, generator=draw)
    first, second = beside(x, y).split([20, 7], dim=1)
    torch.testing.assert_close(first.norm(dim=1), 2 * second.norm(dim=1))
    torch.testing.assert_close(of_length(first), of_length(x).flatten(1))
    torch.testing.assert_close(of_length(second), of_length(y))
    norms = beside(x, y).norm(dim=1)
    torch.testing.assert_close(norms, torch.full((4,), LENGTH))


def test_directions_are_taken_from_the_centre() -> None:
    x = torch.tensor([[3.0, 4.0], [0.0, 2.0]])
    centre = torch.tensor([0.0, 0.5])
    found = centred(x, centre)
    torch.testing.assert_close(found[1], torch.tensor([0.0, LENGTH]))
    away = torch.tensor([0.6, 0.3])
    torch.testing.assert_close(found[0], away / away.norm() * LENGTH)


def test_rows_of_a_table_are_the_same_to_the_last_bit() -> None:
    draw = torch.Generator().manual_seed(0)
    table = torch.randn(90, 3, 4, 2, generator=draw).half()
    table[7] = 0
    numbers = torch.randperm(90, generator=draw)[: 2 * TOGETHER + 3]
    centre = torch.randn(24, generator=draw) / 10
    wanted = centred(table[numbers].float(), centre)
    assert torch.equal(gathered(table, numbers, centre), wanted)
    assert gathered(table, numbers[:0], centre).shape == (0, 3, 4, 2)
    long = gathered(table, numbers, centre.double())
    torch.testing.assert_close(long.float(), wanted)


def test_the_layer_does_the_same_and_says_how_it_is_made() -> None:
    centre = torch.tensor([0.1, 0.2, 0.3, 0.4])
    layer = Centred.around(centre)
    x = torch.randn(3, 1, 2, 2, generator=torch.Generator().manual_seed(0))
    assert torch.equal(layer(x), centred(x, centre))
    assert repr(layer) == "Centred(4)" and set(layer.state_dict()) == {"centre"}
