"""Dropout by key: its masks are addressed, and its share is the declared one."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.func import vmap

from dpdl.tasks.dropout import KeyedDropout, key_dropout
from dpdl.tasks.task import Task
from tests.conftest import small_batch


def test_dropout_depends_on_the_key_alone_and_keeps_the_declared_share() -> None:
    task = Task(
        nn.Sequential(nn.Flatten(), nn.Linear(25, 3), nn.Dropout(0.4)),
        dtype=torch.float64,
    )
    batch = small_batch(4, 0)
    loss = vmap(task.loss, (None, 0, 0, 0))
    parameters = task.parameters(task.initial)
    first, again = loss(parameters, *batch), loss(parameters, *batch)
    other = loss(parameters, batch.x, batch.y, batch.key + 100)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    layer = KeyedDropout(0.4, 1).train()
    kept = layer(torch.ones(200_000))
    assert float((kept > 0).float().mean()) == pytest.approx(0.6, abs=0.01)
    assert float(kept.mean()) == pytest.approx(1.0, abs=0.02)
    assert torch.equal(layer.eval()(torch.ones(5)), torch.ones(5))


def test_masks_of_different_samples_and_layers_are_different() -> None:
    first, second = KeyedDropout(0.5, 1).train(), KeyedDropout(0.5, 2).train()
    ones = torch.ones(64)
    masks = []
    for layer in (first, second):
        for key in range(20):
            layer.key = torch.tensor(key)
            masks.append(tuple((layer(ones) > 0).tolist()))
    assert len(set(masks)) == 40


def test_masks_of_many_keys_are_those_of_each_key() -> None:
    layer = KeyedDropout(0.3, 1)
    keys = torch.tensor([5, 0, -7, 2**62])
    together = layer.keeps(keys, 40)
    assert together.shape == (4, 40)
    for key, mask in zip(keys, together, strict=True):
        assert torch.equal(layer.keeps(key, 40), mask)


def test_a_longer_layer_has_the_mask_of_a_shorter_one_first() -> None:
    layer, key = KeyedDropout(0.3, 1), torch.tensor(9)
    assert torch.equal(layer.keeps(key, 100)[:40], layer.keeps(key, 40))


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_units_and_keys_are_dropped_independently(p: float) -> None:
    kept = KeyedDropout(p, 3).keeps(torch.arange(400), 400).double()
    share = 1 - p
    deviation = (share * p / 400) ** 0.5
    for means in (kept.mean(0), kept.mean(1)):
        assert float((means - share).abs().max()) < 5 * deviation
        assert float(means.std()) == pytest.approx(deviation, rel=0.2)


def test_without_a_share_to_drop_nothing_changes() -> None:
    x = torch.randn(5)
    assert KeyedDropout(0.0, 1).train()(x) is x


def test_kept_units_are_scaled_so_that_the_mean_stays() -> None:
    layer = KeyedDropout(0.75, 1).train()
    assert set(layer(torch.ones(200)).tolist()) == {0.0, 4.0}


def test_every_dropout_is_replaced_and_numbered_and_nothing_else_is() -> None:
    inner = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.2))
    module = key_dropout(nn.Sequential(nn.Dropout(0.1), inner, nn.ReLU()))
    found = [part for part in module.modules() if isinstance(part, KeyedDropout)]
    assert [part.p for part in found] == [0.1, 0.2]
    masks = [part.keeps(torch.tensor(1), 64) for part in found]
    assert not torch.equal(masks[0] | masks[1], masks[0])
    assert not any(type(part) is nn.Dropout for part in module.modules())
    assert module[1] is inner
    assert isinstance(module[2], nn.ReLU)


def test_dropout_itself_may_be_the_whole_module() -> None:
    assert isinstance(key_dropout(nn.Dropout(0.5)), KeyedDropout)
