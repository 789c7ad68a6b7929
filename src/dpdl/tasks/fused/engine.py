"""Sums of clipped per-sample gradients by compiled kernels; `dpdl/native/learn.h` says how.

All buffers are made once per thread. A call runs in one thread and adds in one order, so its bits
do not depend on the number of threads. They are not those of the plain path: an entry of the mean
gradient differs by less than 3e-5 of the largest entry and 1e-6, a ten-thousandth of a clip norm of
0.01. Where a ReLU's input is zero up to rounding they may take its other side, and differ by more.
"""

from __future__ import annotations

import threading
from typing import final

import torch
from torch import Tensor, nn

from dpdl.native import library
from dpdl.native.network import Memory
from dpdl.tasks.fused.network import Network, understand
from dpdl.types import Batch, ClippedSum

# Chosen by timing LeNet, CNN and linear layers. All weights are read once for as many samples as
# the buffers have room for, so many weights need large buffers.
FLOATS = 1_000_000  # of one thread's buffers, at least
FLOATS_PER_WEIGHT = 3
MOST_SAMPLES = 108  # at once


def engine_for(module: nn.Module, shape: tuple[int, ...]) -> Engine | None:
    """The engine of a module with keyed dropout, for inputs of this shape.

    None if the kernels do not know a layer of it, or are not there.
    """
    network = understand(module, shape) if library() else None
    return Engine(network) if network else None


@final
class Engine:
    """One network on flat rows."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._local = threading.local()

    def clipped(self, row: Tensor, batch: Batch, clip_norm: float) -> ClippedSum:
        """The sum of the samples' gradients, each shortened to `clip_norm`.

        A gradient that is not finite counts as zero.
        """
        return self._sum(row, batch, clip_norm)

    def total(self, row: Tensor, batch: Batch) -> ClippedSum:
        """The sum of the samples' gradients."""
        return self._sum(row, batch, None)

    def outputs(self, row: Tensor, x: Tensor) -> Tensor:
        """Outputs for many inputs, without dropout."""
        row, x = row.contiguous(), x.contiguous()
        out = row.new_empty(len(x), self._network.linears[-1].outputs)
        self._memory(len(row)).outputs(
            row.data_ptr(), x.data_ptr(), len(x), out.data_ptr()
        )
        return out

    def _sum(self, row: Tensor, batch: Batch, clip_norm: float | None) -> ClippedSum:
        row, x, y = row.contiguous(), batch.x.contiguous(), batch.y.contiguous()
        masks = self._network.masks(batch.key)
        at = [None if mask is None else mask.data_ptr() for mask in masks]
        out = torch.empty_like(row)
        memory = self._memory(len(row))
        facts = memory.sum(
            row.data_ptr(),
            x.data_ptr(),
            y.data_ptr(),
            at,
            len(y),
            clip_norm,
            out.data_ptr(),
        )
        return ClippedSum(out, *facts)

    def _memory(self, weights: int) -> Memory:
        """The buffers of this thread."""
        if not hasattr(self._local, "memory"):
            floats = max(FLOATS, FLOATS_PER_WEIGHT * weights)
            self._local.memory = Memory(
                self._network.convs, self._network.linears, floats, MOST_SAMPLES
            )
        memory: Memory = self._local.memory
        return memory
