"""The sum of features of length 1 does not depend on how it is cut."""

from __future__ import annotations

import pytest
import torch

from dpdl.tasks.centre import PIECE, UnitSum
from dpdl.types import Batch


def test_the_sum_is_that_of_all_records_of_an_agent() -> None:
    draw = torch.Generator().manual_seed(0)
    table = torch.randn(PIECE + 7, 4, generator=draw).half()
    model = UnitSum(4, lambda agent, numbers: table[numbers] * (agent + 1))
    numbers = torch.arange(len(table))
    batch = Batch(numbers, torch.full_like(numbers, 1), numbers)
    found = model.fused.clipped(torch.zeros(4), batch, 1.0)
    long = table.double()
    wanted = (long / long.norm(dim=1, keepdim=True)).sum(dim=0)
    torch.testing.assert_close(found.gradient.double(), wanted, rtol=1e-5, atol=1e-4)
    assert found.broken == 0
    half = model.clipped(torch.zeros(4), batch, 0.5).gradient
    torch.testing.assert_close(half, found.gradient / 2)
    assert torch.equal(model.total(torch.zeros(4), batch).gradient, found.gradient)


def test_an_agent_without_records_has_no_sum() -> None:
    model = UnitSum(3, lambda agent, numbers: torch.zeros(len(numbers), 3))
    none = torch.zeros(0, dtype=torch.int64)
    found = model.clipped(torch.zeros(3), Batch(none, none, none), 1.0)
    assert not found.gradient.any()


def test_there_is_no_loss_to_differentiate() -> None:
    model = UnitSum(3, lambda agent, numbers: torch.zeros(len(numbers), 3))
    row = torch.zeros(3)
    assert model.parameters(row)["centre"] is row
    with pytest.raises(NotImplementedError):
        model.loss({}, row, row, row)
