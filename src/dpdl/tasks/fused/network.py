"""Which networks the kernels can do: convolutions with ReLU and 2 x 2 max-pool, then linear layers with ReLU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from torch import nn

from dpdl.native import MOST_VECTORS, Conv
from dpdl.tasks.dropout import KeyedDropout


@dataclass(frozen=True)
class ConvStage:
    """A convolution, then perhaps ReLU, then perhaps max-pool; sizes are those of one sample."""

    channels: int
    height: int
    width: int  # of the image before padding
    padding: tuple[int, int]
    conv: Conv

    @property
    def run(self) -> int:
        """Numbers that one row of a filter meets."""
        return int(self.conv.kernel_columns * self.conv.channels)

    @property
    def span(self) -> int:
        """The same in whole vectors."""
        return -(-self.run // 16) * 16

    @property
    def out(self) -> tuple[int, int, int]:
        """Filters, rows and columns of the result."""
        return self.conv.filters, self.conv.rows // self.conv.pool, self.conv.columns // self.conv.pool


@dataclass(frozen=True)
class LinearStage:
    """A linear layer, then perhaps ReLU, then perhaps dropout."""

    inputs: int
    outputs: int
    bias: bool
    relu: bool
    dropout: KeyedDropout | None


@dataclass(frozen=True)
class Network:
    """Stages in the order of the parameters in a row."""

    convs: tuple[ConvStage, ...]
    linears: tuple[LinearStage, ...]


def understand(module: nn.Module, shape: tuple[int, ...]) -> Network | None:
    """The network of a module for inputs of a shape; None when it has a part that the kernels do not know."""
    parts = list(_flat(module))
    trainable = all(p.requires_grad for p in module.parameters())
    if not trainable or len({id(part) for part in parts}) < len(parts):
        return None
    convs, parts, shape = _convolutions(parts, shape)
    if parts and isinstance(parts[0], nn.Flatten) and (parts[0].start_dim, parts[0].end_dim) == (1, -1):
        parts = parts[1:]
    elif len(shape) != 1:
        return None
    linears, rest = _linears(parts)
    if rest or not linears or linears[-1].relu or linears[-1].dropout:
        return None
    return Network(_joined(convs), linears)


def _flat(module: nn.Module) -> Iterator[nn.Module]:
    if type(module) is nn.Sequential:
        for child in module:
            yield from _flat(child)
    elif type(module) is not nn.Identity:
        yield module


def _convolutions(
    parts: list[nn.Module], shape: tuple[int, ...]
) -> tuple[list[ConvStage], list[nn.Module], tuple[int, ...]]:
    """The convolutions that a network begins with, what comes after, and the shape there."""
    found: list[ConvStage] = []
    while parts and type(parts[0]) is nn.Conv2d and len(shape) == 3:
        count, relu, pool = 1, False, 1
        while count < len(parts):
            if type(parts[count]) is nn.ReLU and not relu:
                relu = True
            elif _halves(parts[count]) and pool == 1:
                pool = 2
            else:
                break
            count += 1
        stage = _convolution(parts[0], shape, relu, pool)
        if stage is None:
            break
        found.append(stage)
        parts, shape = parts[count:], stage.out
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


def _convolution(part: nn.Conv2d, shape: tuple[int, ...], relu: bool, pool: int) -> ConvStage | None:
    channels, height, width = shape
    usual = part.groups == 1 and part.dilation == (1, 1) and part.padding_mode == "zeros"
    if not usual or isinstance(part.padding, str) or part.in_channels != channels:
        return None
    (down, across), (rows, columns), (step_down, step_across) = part.padding, part.kernel_size, part.stride
    padded = height + 2 * down, width + 2 * across
    out_rows, out_columns = (padded[0] - rows) // step_down + 1, (padded[1] - columns) // step_across + 1
    filters = part.out_channels
    vectors = rows * -(-columns * channels // 16)
    if out_rows < pool or out_columns < pool or vectors > MOST_VECTORS:
        return None
    cells = (out_rows // pool) * (out_columns // pool)
    conv = Conv(
        *(padded[1], channels, rows, columns, step_down, step_across),
        *(filters, 8 if filters <= 8 else -(-filters // 16) * 16, part.bias is not None),
        *(relu, pool, out_rows, out_columns),
        *(padded[0] * padded[1] * channels, cells * filters, out_columns // pool, 1, cells),  # as Flatten wants it
    )
    return ConvStage(channels, height, width, (down, across), conv)


def _joined(convs: list[ConvStage]) -> tuple[ConvStage, ...]:
    """Each convolution writes into the padded, channels-last image of the next."""
    for stage, after in pairwise(convs):
        c = stage.conv
        c.out_sample, c.out_row = after.conv.in_sample, after.conv.width * c.filters
        c.out_cell, c.out_filter = c.filters, 1
    return tuple(convs)


def _linears(parts: list[nn.Module]) -> tuple[tuple[LinearStage, ...], list[nn.Module]]:
    found: list[LinearStage] = []
    while parts and type(parts[0]) is nn.Linear:
        first, parts = parts[0], parts[1:]
        relu, dropout = False, None
        if parts and type(parts[0]) is nn.ReLU:
            relu, parts = True, parts[1:]
        if parts and type(parts[0]) is KeyedDropout:
            dropout, parts = parts[0], parts[1:]
        found.append(LinearStage(first.in_features, first.out_features, first.bias is not None, relu, dropout))
    return tuple(found), parts
