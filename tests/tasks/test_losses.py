"""Losses by name: means over a batch, written out in plain arithmetic."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from dpdl.errors import InputError
from dpdl.tasks.losses import LOSSES, cross_entropy, loss_of
from dpdl.tasks.targets import Classes, Labels, Numbers

OUTPUTS = torch.tensor([[0.3, -1.2, 2.0], [0.0, 0.5, -0.5]], dtype=torch.float64)


def test_cross_entropy_is_the_mean_of_minus_log_probability() -> None:
    expected = 0.0
    for row, label in zip(OUTPUTS.tolist(), [2, 0], strict=True):
        expected -= row[label] - math.log(sum(math.exp(value) for value in row))
    found = loss_of("cross-entropy")(OUTPUTS, torch.tensor([2, 0]))
    assert float(found) == pytest.approx(expected / 2, rel=1e-12)


def test_binary_cross_entropy_is_a_mean_over_labels_and_records() -> None:
    targets = [[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
    expected = 0.0
    for row, wanted in zip(OUTPUTS.tolist(), targets, strict=True):
        for value, target in zip(row, wanted, strict=True):
            p = 1 / (1 + math.exp(-value))
            expected -= math.log(p) if target else math.log(1 - p)
    loss = loss_of("binary-cross-entropy")
    found = loss(OUTPUTS, torch.tensor(targets, dtype=torch.float64))
    assert float(found) == pytest.approx(expected / 6, rel=1e-12)


def test_squared_error_is_a_mean_over_numbers_and_records() -> None:
    targets = torch.zeros_like(OUTPUTS)
    expected = sum(value**2 for row in OUTPUTS.tolist() for value in row) / 6
    found = loss_of("squared-error")(OUTPUTS, targets)
    assert float(found) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", LOSSES)
def test_the_loss_of_a_batch_is_the_mean_over_its_records(name: str) -> None:
    loss = loss_of(name)
    targets = torch.tensor([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]], dtype=torch.float64)
    if name == "cross-entropy":
        targets = torch.tensor([2, 0])
    single = [loss(OUTPUTS[k : k + 1], targets[k : k + 1]) for k in range(2)]
    torch.testing.assert_close(loss(OUTPUTS, targets), torch.stack(single).mean())


@pytest.mark.parametrize("kind", [Classes, Labels, Numbers])
def test_the_default_loss_of_every_kind_of_target_exists(kind: type) -> None:
    assert kind.loss in LOSSES  # type: ignore[attr-defined]


def test_the_default_loss_is_the_one_that_kernels_know() -> None:
    assert loss_of("cross-entropy") is cross_entropy


def test_a_loss_of_the_users_own_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_losses.py").write_text("def mine(o, t):\n    return o.sum()\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert float(loss_of("own_losses:mine")(OUTPUTS, OUTPUTS)) == pytest.approx(1.1)
    with pytest.raises(InputError, match="The loss 'own_losses:other' does not exist"):
        loss_of("own_losses:other")


def test_an_unknown_loss_names_the_nearest() -> None:
    with pytest.raises(InputError, match="Did you mean 'squared-error'"):
        loss_of("squared-erorr")
    with pytest.raises(InputError, match="or your own module:function"):
        loss_of("hinge")
