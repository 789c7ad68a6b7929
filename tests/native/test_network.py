"""The memory of one thread on a linear network; `tests/tasks/test_fused_engine.py` has more."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch
from torch import Tensor

from dpdl.native import library
from dpdl.native.network import ConvLayer, LinearLayer, Memory

pytestmark = pytest.mark.skipif(library() is None, reason="kernels were not compiled")
INPUTS, CLASSES = 6, 3
SIZE = INPUTS * CLASSES + CLASSES


def memory() -> Memory:
    return Memory([], [LinearLayer(INPUTS, CLASSES, True, False)], 1_000_000, 16)


def small(samples: int = 5) -> tuple[Tensor, Tensor, Tensor]:
    draw = torch.Generator().manual_seed(0)
    row = torch.randn(SIZE, generator=draw)
    x = torch.randn(samples, INPUTS, generator=draw)
    return row, x, torch.arange(samples) % CLASSES


def summed(row: Tensor, x: Tensor, y: Tensor, clip: float | None) -> tuple:
    out = torch.full_like(row, torch.nan)
    facts = memory().sum(
        *(row.data_ptr(), x.data_ptr(), y.data_ptr(), [None], len(y)),
        *(clip, out.data_ptr()),
    )
    return out, *facts


def gradients(row: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """One row for every sample, and the losses."""

    def loss(row: Tensor, x: Tensor, y: Tensor) -> Tensor:
        weight, bias = row[:-CLASSES].view(CLASSES, INPUTS), row[-CLASSES:]
        return torch.nn.functional.cross_entropy(weight @ x + bias, y)

    both = torch.func.grad_and_value(loss)
    return torch.func.vmap(both, in_dims=(None, 0, 0))(row, x, y)


def test_gradients_of_all_samples_are_added_up() -> None:
    row, x, y = small()
    wanted, losses = gradients(row, x, y)
    found, loss, clipped, broken = summed(row, x, y, None)
    torch.testing.assert_close(found, wanted.sum(0))
    assert loss == pytest.approx(float(losses.sum()), rel=1e-5)
    assert (clipped, broken) == (0, 0)


def test_every_sample_is_shortened_to_the_norm() -> None:
    row, x, y = small()
    wanted, _ = gradients(row, x, y)
    norms = wanted.norm(dim=1)
    clip = float(norms.sort().values[2]) * 1.001
    found, _, clipped, _ = summed(row, x, y, clip)
    torch.testing.assert_close(
        found, (wanted * (clip / norms).clamp(max=1)[:, None]).sum(0)
    )
    assert clipped == int((norms > clip).sum()) == 2


def test_a_sample_that_is_not_finite_counts_as_zero_and_is_counted() -> None:
    row, x, y = small()
    x[1, 0] = torch.nan
    others = [0, 2, 3, 4]
    found, _, _, broken = summed(row, x, y, 1e9)
    wanted, _ = gradients(row, x[others], y[others])
    torch.testing.assert_close(found, wanted.sum(0))
    assert broken == 1


@pytest.mark.parametrize("label", [-1, CLASSES])
def test_a_label_that_is_no_class_is_an_error(label: int) -> None:
    row, x, y = small()
    y[2] = label
    with pytest.raises(ValueError, match="they are 0 to 2"):
        summed(row, x, y, 1.0)


def test_outputs_are_those_of_the_layer() -> None:
    row, x, _ = small(20)
    out = torch.empty(20, CLASSES)
    memory().outputs(row.data_ptr(), x.data_ptr(), 20, out.data_ptr())
    weight, bias = row[:-CLASSES].view(CLASSES, INPUTS), row[-CLASSES:]
    torch.testing.assert_close(out, x @ weight.T + bias)


def test_the_structures_are_as_wide_as_those_in_c() -> None:
    assert ConvLayer.eps.offset == 15 * 4
    assert LinearLayer.relu.offset == 3 * 4
    layer = ConvLayer(channels=2, filters=7, eps=0.5)
    assert (layer.channels, layer.filters, layer.eps, layer.pool) == (2, 7, 0.5, 0)


def test_memory_goes_with_its_last_user() -> None:
    kept = memory()
    gone = weakref.ref(kept)
    del kept
    gc.collect()
    assert gone() is None
