"""The networks that the kernels know.

Convolutions, each perhaps with group norm, ReLU and 2 x 2 max-pool, then linear layers with ReLU
and dropout.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torch import Tensor, float32, nn

from dpdl.native.network import MOST_VECTORS, ConvLayer, LinearLayer
from dpdl.tasks.dropout import KeyedDropout


@dataclass(frozen=True)
class Network:
    """Layers in the order of the parameters in a row."""

    convs: tuple[ConvLayer, ...]
    linears: tuple[LinearLayer, ...]
    dropouts: tuple[KeyedDropout | None, ...]  # after every linear layer

    def masks(self, key: Tensor) -> list[Tensor | None]:
        """The factors of dropout after every linear layer, for the samples of these keys."""
        return [
            None
            if dropout is None
            else dropout.keeps(key, linear.outputs).to(float32).div_(1 - dropout.p)
            for linear, dropout in zip(self.linears, self.dropouts, strict=True)
        ]


def understand(module: nn.Module, shape: tuple[int, ...]) -> Network | None:
    """A module as a network for inputs of this shape; None if the kernels do not know a part."""
    parts = list(_flat(module))
    trainable = all(p.requires_grad for p in module.parameters())
    if not trainable or len({id(part) for part in parts}) < len(parts):
        return None
    convs, parts, shape = _convolutions(parts, shape)
    if (
        parts
        and isinstance(parts[0], nn.Flatten)
        and (parts[0].start_dim, parts[0].end_dim) == (1, -1)
    ):
        parts = parts[1:]
    elif len(shape) != 1:
        return None
    linears, dropouts, rest = _linears(parts)
    if rest or not linears or linears[-1].relu or dropouts[-1]:
        return None
    return Network(tuple(convs), tuple(linears), tuple(dropouts))


def _flat(module: nn.Module) -> Iterator[nn.Module]:
    if type(module) is nn.Sequential:
        for child in module:
            yield from _flat(child)
    elif type(module) is not nn.Identity:
        yield module


def _convolutions(
    parts: list[nn.Module], shape: tuple[int, ...]
) -> tuple[list[ConvLayer], list[nn.Module], tuple[int, ...]]:
    """The convolutions that a network begins with, what comes after, and the shape there."""
    found: list[ConvLayer] = []
    while parts and type(parts[0]) is nn.Conv2d and len(shape) == 3:
        count, norm, relu, pool = 1, None, False, 1
        while count < len(parts):
            part = parts[count]
            if type(part) is nn.GroupNorm and norm is None and not relu and pool == 1:
                norm = part
            elif type(part) is nn.ReLU and not relu:
                relu = True
            elif _halves(part) and pool == 1:
                pool = 2
            else:
                break
            count += 1
        conv = _convolution(parts[0], shape, norm, relu, pool)
        if conv is None:
            break
        found.append(conv)
        parts, shape = (
            parts[count:],
            (conv.filters, *(size // pool for size in _size(conv))),
        )
    return found, parts, shape


def _halves(part: nn.Module) -> bool:
    """Whether it is 2 x 2 max-pool as the kernels do it."""
    return (
        type(part) is nn.MaxPool2d
        and part.kernel_size in (2, (2, 2))
        and part.stride in (2, (2, 2))
        and part.padding in (0, (0, 0))
        and part.dilation in (1, (1, 1))
        and not part.ceil_mode
        and not part.return_indices
    )


def _convolution(
    part: nn.Conv2d,
    shape: tuple[int, ...],
    norm: nn.GroupNorm | None,
    relu: bool,
    pool: int,
) -> ConvLayer | None:
    channels, height, width = shape
    plain = (
        part.groups == 1 and part.dilation == (1, 1) and part.padding_mode == "zeros"
    )
    if not plain or isinstance(part.padding, str) or part.in_channels != channels:
        return None
    groups, affine, eps = (
        (norm.num_groups, norm.affine, norm.eps) if norm else (0, False, 0.0)
    )
    sizes = (channels, height, width, *part.padding, *part.kernel_size, *part.stride)
    conv = ConvLayer(
        *sizes,
        part.out_channels,
        part.bias is not None,
        relu,
        pool,
        groups,
        affine,
        eps,
    )
    vectors = conv.kernel_rows * -(-conv.kernel_columns * channels // 8)
    fits = min(_size(conv)) >= pool and vectors + conv.kernel_rows <= MOST_VECTORS
    return conv if fits and not _norms_one_value(conv) else None


def _norms_one_value(conv: ConvLayer) -> bool:
    """Whether a group of the norm has one value. It becomes zero, and torch refuses it."""
    rows, columns = _size(conv)
    return bool(conv.groups) and conv.filters // conv.groups * rows * columns == 1


def _size(conv: ConvLayer) -> tuple[int, int]:
    """Rows and columns of the result, before max-pool."""
    rows = (
        conv.height + 2 * conv.padding_rows - conv.kernel_rows
    ) // conv.stride_rows + 1
    columns = (
        conv.width + 2 * conv.padding_columns - conv.kernel_columns
    ) // conv.stride_columns + 1
    return rows, columns


def _linears(
    parts: list[nn.Module],
) -> tuple[list[LinearLayer], list[KeyedDropout | None], list[nn.Module]]:
    """Linear layers, what drops units after each, and what comes after all."""
    found: list[LinearLayer] = []
    dropouts: list[KeyedDropout | None] = []
    while parts and type(parts[0]) is nn.Linear:
        first, parts = parts[0], parts[1:]
        relu, dropout = False, None
        if parts and type(parts[0]) is nn.ReLU:
            relu, parts = True, parts[1:]
        if parts and type(parts[0]) is KeyedDropout:
            dropout, parts = parts[0] if parts[0].p else None, parts[1:]
        found.append(
            LinearLayer(
                first.in_features, first.out_features, first.bias is not None, relu
            )
        )
        dropouts.append(dropout)
    return found, dropouts, parts
