"""Which networks the kernels know, and how they describe them."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from dpdl.tasks.dropout import KeyedDropout, key_dropout
from dpdl.tasks.fused.network import understand
from dpdl.tasks.models import cnn, lenet, mlp, scatter_cnn
from dpdl.tasks.task import Task


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.linear(x)


def frozen() -> nn.Module:
    module = nn.Sequential(nn.Flatten(), nn.Linear(4, 4), nn.Linear(4, 3))
    module[1].weight.requires_grad_(False)
    return module


def twice() -> nn.Module:
    shared = nn.Linear(4, 4)
    return nn.Sequential(nn.Flatten(), shared, nn.ReLU(), shared, nn.Linear(4, 3))


UNKNOWN = {
    "own module": lambda: nn.Sequential(nn.Flatten(), Residual(), nn.Linear(4, 3)),
    "another activation": lambda: nn.Sequential(
        nn.Flatten(), nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 3)
    ),
    "norm after ReLU": lambda: nn.Sequential(
        nn.Conv2d(1, 4, 1),
        nn.ReLU(),
        nn.GroupNorm(2, 4),
        nn.Flatten(),
        nn.Linear(16, 3),
    ),
    "norm of one value": lambda: nn.Sequential(
        nn.Conv2d(1, 4, 2), nn.GroupNorm(4, 4), nn.Flatten(), nn.Linear(4, 3)
    ),
    "dilation": lambda: nn.Sequential(
        nn.Conv2d(1, 2, 1, dilation=2), nn.Flatten(), nn.Linear(8, 3)
    ),
    "padding by name": lambda: nn.Sequential(
        nn.Conv2d(1, 2, 1, padding="same"), nn.Flatten(), nn.Linear(8, 3)
    ),
    "overlapping pool": lambda: nn.Sequential(
        nn.Conv2d(1, 2, 1), nn.MaxPool2d(2, stride=1), nn.Flatten(), nn.Linear(2, 3)
    ),
    "average pool": lambda: nn.Sequential(
        nn.Conv2d(1, 2, 1), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(2, 3)
    ),
    "ReLU at the end": lambda: nn.Sequential(nn.Flatten(), nn.Linear(4, 3), nn.ReLU()),
    "no flatten": lambda: nn.Sequential(nn.Linear(2, 3)),
    "frozen weights": frozen,
    "shared weights": twice,
}


@pytest.mark.parametrize("make", UNKNOWN.values(), ids=UNKNOWN.keys())
def test_what_the_kernels_do_not_know_takes_the_plain_path(make) -> None:
    task = Task(make())
    task.hasten((1, 2, 2))
    assert task.fused is None


def test_lenet_is_two_convolutions_and_three_linear_layers() -> None:
    network = understand(lenet((1, 28, 28), 10), (1, 28, 28))
    assert network is not None
    first, second = network.convs
    assert (first.channels, first.height, first.width) == (1, 28, 28)
    assert (first.filters, first.relu, first.pool, first.groups) == (6, 1, 2, 0)
    assert (second.channels, second.height, second.width) == (6, 12, 12)
    sizes = [(layer.inputs, layer.outputs, layer.relu) for layer in network.linears]
    assert sizes == [(256, 120, 1), (120, 84, 1), (84, 10, 0)]
    assert network.dropouts == (None, None, None)


def test_norm_stride_and_padding_are_described() -> None:
    module = nn.Sequential(
        nn.Conv2d(2, 6, (3, 2), stride=(2, 1), padding=(1, 0), bias=False),
        nn.GroupNorm(3, 6, eps=0.5),
        nn.Flatten(),
        nn.Linear(6 * 4 * 7, 3),
    )
    network = understand(module, (2, 8, 8))
    assert network is not None
    [conv] = network.convs
    assert (conv.kernel_rows, conv.kernel_columns) == (3, 2)
    assert (conv.stride_rows, conv.stride_columns) == (2, 1)
    assert (conv.padding_rows, conv.padding_columns) == (1, 0)
    assert (conv.bias, conv.relu, conv.pool) == (0, 0, 1)
    assert (conv.groups, conv.affine, conv.eps) == (3, 1, 0.5)


def test_nested_parts_and_identities_make_no_difference() -> None:
    layers = [nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3)]
    nested = nn.Sequential(
        nn.Flatten(), nn.Sequential(*layers[:2], nn.Identity()), layers[2]
    )
    network = understand(nested, (1, 2, 2))
    assert network is not None
    assert [layer.outputs for layer in network.linears] == [5, 3]


def test_flat_inputs_need_no_flatten() -> None:
    assert understand(nn.Sequential(nn.Linear(4, 3)), (4,)) is not None


def test_masks_scale_the_units_that_are_kept() -> None:
    module = nn.Sequential(
        nn.Linear(4, 50), nn.ReLU(), nn.Dropout(0.6), nn.Linear(50, 3)
    )
    network = understand(key_dropout(module), (4,))
    assert network is not None
    keys = torch.tensor([3, 8])
    mask, last = network.masks(keys)
    assert last is None
    assert mask is not None
    assert mask.dtype == torch.float32
    kept = KeyedDropout(0.6, 1).keeps(keys, 50)
    torch.testing.assert_close(mask, kept.float() / 0.4)


def test_dropout_of_nothing_needs_no_mask() -> None:
    module = nn.Sequential(nn.Linear(4, 5), nn.Dropout(0.0), nn.Linear(5, 3))
    network = understand(key_dropout(module), (4,))
    assert network is not None
    assert network.masks(torch.tensor([1])) == [None, None]


@pytest.mark.parametrize(
    ("make", "shape", "known"),
    [
        (cnn, (3, 8, 8), True),
        (mlp, (5,), True),
        (scatter_cnn, (4, 4, 4), False),  # tanh and average-pool
    ],
)
def test_which_named_models_the_kernels_know(
    make, shape: tuple[int, ...], known: bool
) -> None:
    assert (understand(key_dropout(make(shape, 3)), shape) is not None) == known


@pytest.mark.parametrize(
    "conv",
    [
        nn.Conv2d(3, 2, 1),  # of another number of channels
        nn.Conv2d(1, 2, 1, padding_mode="reflect"),
        nn.Conv2d(1, 2, 3),  # larger than the image
    ],
)
def test_a_convolution_that_does_not_fit_is_left_to_torch(conv: nn.Conv2d) -> None:
    module = nn.Sequential(conv, nn.Flatten(), nn.Linear(8, 3))
    assert understand(module, (1, 2, 2)) is None


def test_a_filter_that_is_too_large_is_left_to_torch() -> None:
    shape = (200, 40, 40)
    module = nn.Sequential(nn.Conv2d(200, 1, 40), nn.Flatten(), nn.Linear(1, 3))
    assert understand(module, shape) is None
