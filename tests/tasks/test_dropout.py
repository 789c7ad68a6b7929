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
