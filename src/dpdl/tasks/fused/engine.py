"""Sums of clipped per-sample gradients without the per-sample gradients of linear layers.

A linear layer's gradient of one sample is g a', whose squared length is ||g||^2 (||a||^2 + 1) with the bias. So lengths
need no gradients, and the sum of the clipped ones is a single product of matrices. Convolutions have few weights: their
gradients are computed sample by sample in `network.c` and then summed with the same factors.

All buffers are made once per thread. One call is one thread, and adds in one order: its bits do not depend on how many
threads there are.
"""

from __future__ import annotations

import ctypes
import math
import threading
from typing import NamedTuple, final

import torch
from torch import Tensor, nn

from dpdl.native import SLACK, Conv, library
from dpdl.tasks.dropout import KeyedDropout
from dpdl.tasks.fused.network import ConvStage, LinearStage, Network, understand
from dpdl.types import Batch, ClippedSum

# Floats of one thread's buffers, and samples at once. Measured with LeNet on two cores: see docs/performance.md.
FLOATS = 1_000_000
MOST_SAMPLES = 108


def engine_for(module: nn.Module, shape: tuple[int, ...]) -> Engine | None:
    """The engine of a module whose dropout is keyed, for inputs of a shape; None when the kernels cannot do it."""
    network = understand(module, shape)
    if network is None or (network.convs and library() is None):
        return None
    return Engine(network)


class _Buffers(NamedTuple):
    """One thread's memory for `samples` samples."""

    samples: int
    images: list[Tensor]  # input of every convolution, padded, channels last
    image_gradients: list[Tensor]
    winners: list[Tensor]  # which pixel of a window was the largest; -1: ReLU is zero
    packed: list[Tensor]  # weights as forward wants them: (kernel rows, run, lanes)
    biases: list[Tensor]
    filters: list[Tensor]  # weights as backward wants them: (filters, kernel rows, span)
    gradients: list[Tensor]  # per sample: (samples, filters (kernel rows span + 1))
    sums: list[Tensor]
    offsets: Tensor  # room for the kernels
    values: Tensor
    activations: list[Tensor]  # input of every linear layer, and the outputs
    deltas: list[Tensor]  # gradients of the same
    lengths: Tensor


@final
class Engine:
    """One network on flat rows."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._convs, self._linears = network.convs, network.linears
        self._local = threading.local()

    # ------------------------------------------------------------------ what is offered
    def clipped(self, row: Tensor, batch: Batch, clip_norm: float) -> ClippedSum:
        """The sum of the samples' gradients, each shortened to `clip_norm`; one that is not finite counts as zero."""
        return self._sum(row, batch, clip_norm)

    def total(self, row: Tensor, batch: Batch) -> ClippedSum:
        """The sum of the samples' gradients."""
        return self._sum(row, batch, None)

    def outputs(self, row: Tensor, x: Tensor) -> Tensor:
        """Outputs for many inputs, without dropout."""
        b = self._buffers()
        weights = self._load(row, b)
        out = row.new_empty(len(x), self._linears[-1].outputs)
        for start in range(0, len(x), b.samples):
            part = x[start : start + b.samples]
            activations, _ = self._forward(part, None, weights, b)
            out[start : start + len(part)] = activations[-1]
        return out

    # ------------------------------------------------------------------ one batch
    def _sum(self, row: Tensor, batch: Batch, clip_norm: float | None) -> ClippedSum:
        b = self._buffers()
        weights = self._load(row, b)
        out = torch.zeros_like(row)
        into = self._views(out)
        for total in b.sums:
            total.zero_()
        loss, clipped, broken = 0.0, 0, 0
        for start in range(0, len(batch.y), b.samples):
            x, y, key = (part[start : start + b.samples] for part in batch)
            activations, masks = self._forward(x, key, weights, b)
            chances = torch.log_softmax(activations[-1], 1)
            loss -= float(chances.gather(1, y[:, None]).nansum())
            deltas = self._backward(chances, y, activations, masks, weights, b)
            n = len(y)
            scale = row.new_ones(n)
            if clip_norm is not None:
                lengths = b.lengths[:n].sqrt()
                finite = lengths.isfinite()
                scale = torch.where(finite, (clip_norm / lengths).clamp(max=1), 0.0)
                clipped += int((scale < 1).sum() - (~finite).sum())
                if not finite.all():
                    broken += int((~finite).sum())
                    _forget(~finite, [*activations[:-1], *deltas, *(g[:n] for g in b.gradients)])
            for (weight, bias), a, delta in zip(into, activations, deltas, strict=False):
                delta.mul_(scale[:, None])
                weight.addmm_(delta.t(), a)
                if bias is not None:
                    bias.add_(delta.sum(0))
            for total, g in zip(b.sums, b.gradients, strict=True):
                total.addmv_(g[:n].t(), scale)
        self._unpack(out, b)
        return ClippedSum(out, loss, clipped, broken)

    def _forward(
        self, x: Tensor, key: Tensor | None, weights: list[tuple[Tensor, Tensor | None]], b: _Buffers
    ) -> tuple[list[Tensor], list[Tensor | None]]:
        """Inputs of all linear layers and the outputs; and what dropout multiplied with (only with keys)."""
        n = len(x)
        if self._convs:
            _image(b.images[0], self._convs[0], n).copy_(x.permute(0, 2, 3, 1))
            for k, convolution in enumerate(self._convs):
                kernels().conv_forward(
                    *(ctypes.byref(convolution.conv), n, b.images[k].data_ptr(), b.packed[k].data_ptr()),
                    *(b.biases[k].data_ptr(), self._after(k, b.images, b.activations[0]), b.winners[k].data_ptr()),
                )
            a = b.activations[0][:n]
        else:
            a = x.reshape(n, -1)
        activations, masks = [a], list[Tensor | None]()
        for stage, (weight, bias), room in zip(self._linears, weights, b.activations[1:], strict=True):
            h = room[:n]
            if bias is None:
                torch.mm(a, weight.t(), out=h)
            else:
                torch.addmm(bias, a, weight.t(), out=h)
            if stage.relu:
                h.clamp_(min=0)
            mask = None if key is None or stage.dropout is None else _kept(stage.dropout, key, stage.outputs, h)
            if mask is not None:
                h.mul_(mask)
            masks.append(mask)
            activations.append(h)
            a = h
        return activations, masks

    def _backward(
        self,
        chances: Tensor,
        y: Tensor,
        activations: list[Tensor],
        masks: list[Tensor | None],
        weights: list[tuple[Tensor, Tensor | None]],
        b: _Buffers,
    ) -> list[Tensor]:
        """The gradients of all linear layers' outputs; squared lengths of the samples' gradients in `b.lengths`."""
        n = len(y)
        delta = torch.exp(chances, out=b.deltas[-1][:n])
        delta.scatter_add_(1, y[:, None], delta.new_full((n, 1), -1.0))
        lengths = b.lengths[:n].zero_()
        deltas = [delta]
        for k in reversed(range(len(self._linears))):
            a, stage = activations[k], self._linears[k]
            lengths.addcmul_(torch.linalg.vecdot(delta, delta), torch.linalg.vecdot(a, a).add_(float(stage.bias)))
            if k or self._convs:
                delta = torch.mm(delta, weights[k][0], out=b.deltas[k][:n])
            if k:
                before = self._linears[k - 1]
                if before.relu:
                    delta.mul_(a > 0)
                mask = masks[k - 1]
                if mask is not None:
                    delta.mul_(mask)
                deltas.insert(0, delta)
        for k in reversed(range(len(self._convs))):
            kernels().conv_backward(
                *(ctypes.byref(self._convs[k].conv), n, b.images[k].data_ptr()),
                *(self._after(k, b.image_gradients, b.deltas[0]), b.winners[k].data_ptr(), b.filters[k].data_ptr()),
                *(b.gradients[k].data_ptr(), lengths.data_ptr(), b.image_gradients[k].data_ptr() if k else None),
                *(b.offsets.data_ptr(), b.values.data_ptr()),
            )
        return deltas

    def _after(self, k: int, images: list[Tensor], flat: Tensor) -> int:
        """Where convolution k writes: inside the padding of the next image, or where the linear layers read."""
        if k + 1 == len(self._convs):
            return int(flat.data_ptr())
        after = self._convs[k + 1]
        down, across = after.padding
        return int(images[k + 1].data_ptr() + 4 * (down * after.conv.width + across) * after.channels)

    # ------------------------------------------------------------------ rows and buffers
    def _load(self, row: Tensor, b: _Buffers) -> list[tuple[Tensor, Tensor | None]]:
        """Put the convolutions' weights into the kernels' order; views of the linear layers' weights and biases."""
        at = 0
        for k, stage in enumerate(self._convs):
            c = stage.conv
            shape = (c.filters, stage.channels, c.kernel_rows, c.kernel_columns)
            weight = row[at : at + math.prod(shape)].view(shape)
            at += weight.numel()
            b.packed[k][:, :, : c.filters] = weight.permute(2, 3, 1, 0).reshape(c.kernel_rows, stage.run, c.filters)
            b.filters[k][:, :, : stage.run] = weight.permute(0, 2, 3, 1).reshape(c.filters, c.kernel_rows, stage.run)
            if c.bias:
                b.biases[k][: c.filters] = row[at : at + c.filters]
                at += c.filters
        return self._views(row)

    def _views(self, row: Tensor) -> list[tuple[Tensor, Tensor | None]]:
        """Weight and bias of every linear layer in a row."""
        at = len(row) - sum(stage.outputs * (stage.inputs + stage.bias) for stage in self._linears)
        found: list[tuple[Tensor, Tensor | None]] = []
        for stage in self._linears:
            size = stage.outputs * stage.inputs
            weight = row[at : at + size].view(stage.outputs, stage.inputs)
            bias = row[at + size : at + size + stage.outputs] if stage.bias else None
            found.append((weight, bias))
            at += size + stage.outputs * stage.bias
        return found

    def _unpack(self, out: Tensor, b: _Buffers) -> None:
        """Write the sums of the convolutions' gradients into a row."""
        at = 0
        for stage, total in zip(self._convs, b.sums, strict=True):
            c = stage.conv
            padded = total[: -c.filters].view(c.filters, c.kernel_rows, stage.span)[:, :, : stage.run]
            weight = padded.reshape(c.filters, c.kernel_rows, c.kernel_columns, stage.channels).permute(0, 3, 1, 2)
            out[at : at + weight.numel()] = weight.flatten()
            at += weight.numel()
            if c.bias:
                out[at : at + c.filters] = total[-c.filters :]
                at += c.filters

    def _buffers(self) -> _Buffers:
        """This thread's own."""
        if not hasattr(self._local, "buffers"):
            self._local.buffers = _buffers(self._convs, self._linears)
        buffers: _Buffers = self._local.buffers
        return buffers


def kernels() -> ctypes.CDLL:
    """The library, which an engine with convolutions has."""
    found = library()
    assert found
    return found


def _image(image: Tensor, stage: ConvStage, n: int) -> Tensor:
    """The part of n padded images that holds pixels: (n, height, width, channels)."""
    (down, across), c = stage.padding, stage.conv
    whole = image[: n * c.in_sample].view(n, -1, c.width, c.channels)
    return whole[:, down : down + stage.height, across : across + stage.width]


def _kept(dropout: KeyedDropout, key: Tensor, units: int, like: Tensor) -> Tensor | None:
    """What dropout multiplies every unit of every sample with."""
    return None if dropout.p == 0 else dropout.keeps(key, units).to(like.dtype).div_(1 - dropout.p)


def _forget(broken: Tensor, parts: list[Tensor]) -> None:
    """Zero the rows of samples whose gradient is not finite: a factor of zero would leave NaN."""
    for part in parts:
        part[broken] = 0


def _buffers(convs: tuple[ConvStage, ...], linears: tuple[LinearStage, ...]) -> _Buffers:
    zeros = torch.zeros
    widths = [linears[0].inputs, *(stage.outputs for stage in linears)]
    entries = [stage.conv.filters * (stage.conv.kernel_rows * stage.span + 1) for stage in convs]
    floats = 2 * sum(widths) + sum(entries) + sum(2 * stage.conv.in_sample for stage in convs)
    n = max(1, min(MOST_SAMPLES, FLOATS // floats))
    cells = max((stage.conv.rows * stage.conv.columns for stage in convs), default=0)

    def shape(c: Conv) -> int:
        return int(c.filters * (c.rows // c.pool) * (c.columns // c.pool))

    return _Buffers(
        samples=n,
        images=[zeros(n * s.conv.in_sample + SLACK) for s in convs],
        image_gradients=[zeros(n * s.conv.in_sample + SLACK) for s in convs],
        winners=[zeros(n * shape(s.conv), dtype=torch.int8) for s in convs],
        packed=[zeros(s.conv.kernel_rows, s.run, s.conv.lanes) for s in convs],
        biases=[zeros(s.conv.lanes) for s in convs],
        filters=[zeros(s.conv.filters, s.conv.kernel_rows, s.span) for s in convs],
        gradients=[zeros(n, e) for e in entries],
        sums=[zeros(e) for e in entries],
        offsets=zeros(cells, dtype=torch.int32),
        values=zeros(cells),
        activations=[zeros(n, width) for width in widths],
        deltas=[zeros(n, width) for width in widths],
        lengths=zeros(n),
    )
