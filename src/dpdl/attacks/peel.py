"""One image, read off layer by layer, of networks of convolutions and linear layers.

The first linear layer gives its input away exactly: its gradient is g a' and its bias' is g, so
that a is the gradient' g / ||g||^2, whatever the scale. The slope at a follows from the weights.
Then, from the last convolution to the first, an input h is sought for which the convolution gives a
and its weights' gradient is the one that was seen. Both are linear in h once it is known which
pixel of every pooling window is the largest: the search is about that. One layer at a time gets
there where matching the whole gradient at once gets stuck. At the end all is matched together.
Dropout among the linear layers does not matter until then: nobody needs to know which units it
kept. A network of linear layers alone has nothing to search for: what the first one received is the
image.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import final

import torch
from torch import Tensor
from torch.nn import functional

from dpdl.attacks.inverting import (
    Found,
    Problem,
    Settings,
    angle,
    best,
    falling,
    one_hot,
    prior,
    relative,
    start,
)
from dpdl.attacks.pixels import Pixels
from dpdl.attacks.workers import ShareWatch
from dpdl.tasks.fused.network import Network

OUTPUT = 0.1
"""Weight of the error of a layer's output beside that of its gradient, which is harder to match."""
STEP = {"layer": 0.2, "image": 0.05, "all": 0.02}


@final
@dataclass(frozen=True)
class Layer:
    """A convolution, ReLU and perhaps max-pool, at the models of all targets; and what was seen."""

    weight: Tensor  # (targets, filters, channels, kernel rows, kernel columns)
    bias: Tensor  # (targets, filters)
    seen: Tensor  # the gradient of weight
    stride: tuple[int, int]
    padding: tuple[int, int]
    pool: int
    shape: tuple[int, int, int]  # of its input

    def patches(self, h: Tensor) -> Tensor:
        """(targets, channels x kernel, pixels)."""
        size = (int(self.weight.shape[3]), int(self.weight.shape[4]))
        return functional.unfold(h, size, padding=self.padding, stride=self.stride)

    def forward(self, h: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The output (targets, filters, cells), the pixel each cell comes from, and the patches."""
        patches = self.patches(h)
        before = self.weight.flatten(2) @ patches + self.bias[:, :, None]
        if self.pool == 1:
            itself = torch.arange(before.shape[2]).expand_as(before)
            return before.relu(), itself, patches
        room = self.shape[1] + 2 * self.padding[0] - self.weight.shape[3]
        rows = room // self.stride[0] + 1
        columns = before.shape[2] // rows
        square = before.view(len(h), -1, rows, columns)
        out, which = functional.max_pool2d(square, 2, return_indices=True)
        return out.relu().flatten(2), which.flatten(2), patches

    def gradient(
        self, slope: Tensor, which: Tensor, patches: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The weights' gradient and the slope before the activation, by that of the output."""
        flat = slope.new_zeros(*slope.shape[:2], patches.shape[2])
        before = flat.scatter(2, which, slope)
        gradient = torch.einsum("nfp,nkp->nfk", before, patches)
        return gradient.view_as(self.seen), before

    def repeated(self, times: int) -> Layer:
        """Every target several times in a row."""
        again = {
            name: getattr(self, name).repeat_interleave(times, 0)
            for name in ("weight", "bias", "seen")
        }
        return replace(self, **again)


def peel(
    problem: Problem,
    network: Network,
    labels: Tensor,
    pixels: Pixels,
    settings: Settings,
    watch: ShareWatch,
) -> Found:
    """One image of every target; see `able` for what the network must be."""
    layers, read_off, slope = read_first_linear(problem, network)
    if not layers:
        x = pixels.clamp(read_off.view(-1, 1, *problem.shape))
        watch(1.0)
        g = problem.gradient(x, one_hot(labels, problem.classes))
        return Found(x, angle(g, problem.directions))
    a = read_off.clamp_(min=0)  # it was a ReLU's output
    total = settings.iterations * (len(layers) + 1)
    done = 0

    def step() -> None:
        nonlocal done
        done += 1
        watch(done / total)

    for number, layer in reversed(list(enumerate(layers))):
        image = None if number else pixels
        a, slope = _input_of(layer, a, slope, image, settings, step)
    x = a.view(len(a), 1, *problem.shape)
    return _together(problem, layers, read_off, x, labels, pixels, settings, step)


def read_first_linear(
    problem: Problem, network: Network
) -> tuple[list[Layer], Tensor, Tensor]:
    """The convolutions, the exact input of the first linear layer, and the slope there."""
    names = list(problem.parameters)
    sizes = [problem.parameters[name][0].numel() for name in names]
    seen = {
        name: part.view_as(problem.parameters[name])
        for name, part in zip(names, problem.directions.split(sizes, 1), strict=True)
    }
    layers, at = [], 0
    for conv in network.convs:
        weight, bias = names[at], names[at + 1] if conv.bias else None
        at += 1 + conv.bias
        w = problem.parameters[weight]
        zero = w.new_zeros(w.shape[:2])
        layers.append(
            Layer(
                w,
                problem.parameters[bias] if bias else zero,
                seen[weight],
                (conv.stride_rows, conv.stride_columns),
                (conv.padding_rows, conv.padding_columns),
                conv.pool,
                (conv.channels, conv.height, conv.width),
            )
        )
    g = seen[names[at + 1]]
    length = g.square().sum(1, keepdim=True).clamp(min=1e-30)
    a = (g[:, None] @ seen[names[at]])[:, 0] / length
    slope = (g[:, None] @ problem.parameters[names[at]])[:, 0]
    return layers, a, slope


def able(network: Network | None) -> bool:
    """Whether a network can be peeled.

    It needs convolutions with ReLU, without norm, and a bias in the first linear layer.
    """
    if network is None:
        return False
    plain = all(conv.relu and not conv.groups for conv in network.convs)
    return plain and bool(network.linears[0].bias)


def _input_of(
    layer: Layer,
    a: Tensor,
    slope: Tensor,
    pixels: Pixels | None,
    settings: Settings,
    step: Callable[[], None],
) -> tuple[Tensor, Tensor]:
    """The layer's input and the slope there, from its output a and the slope of that.

    `pixels` are given for the first layer, whose input is an image.
    """
    many, times = layer.repeated(settings.restarts), settings.restarts
    filters = layer.weight.shape[1]
    a = a.view(len(a), filters, -1).repeat_interleave(times, 0)
    slope = slope.view(len(slope), filters, -1).repeat_interleave(times, 0)
    slope = slope * (a > 0)  # a dead unit passes nothing on
    noise = start(layer.shape, len(layer.weight), settings)
    begin = 0.3 * noise if pixels is None else pixels.low.to(noise) + 0.1 * noise
    h = begin.requires_grad_()
    lr = STEP["layer" if pixels is None else "image"]
    optimizer = torch.optim.Adam([h], lr)
    for k in range(settings.iterations):
        optimizer.param_groups[0]["lr"] = lr * falling(k, settings)
        optimizer.zero_grad()
        out, which, patches = many.forward(h)
        objective = relative(out, a)
        if pixels is None:
            g = many.gradient(slope, which, patches)[0]
            objective = OUTPUT * objective + relative(g, many.seen)
        else:
            objective = objective + prior(h[:, None], pixels, settings)
        objective.sum().backward()
        optimizer.step()
        with torch.no_grad():
            h.copy_(h.clamp(min=0) if pixels is None else pixels.clamp(h))
        step()
    found = best(Found(h.detach(), objective.detach()), times).images
    _, which, patches = layer.forward(found)
    before = layer.gradient(slope[::times], which, patches)[1]
    below = layer.weight.flatten(2).transpose(1, 2) @ before
    size = (int(layer.weight.shape[3]), int(layer.weight.shape[4]))
    return found, functional.fold(
        below, layer.shape[1:], size, padding=layer.padding, stride=layer.stride
    )


def _together(
    problem: Problem,
    layers: Sequence[Layer],
    a: Tensor,
    x: Tensor,
    labels: Tensor,
    pixels: Pixels,
    settings: Settings,
    step: Callable[[], None],
) -> Found:
    """From a good start, match the whole gradient's angle, and what the first linear layer got."""
    y = one_hot(labels, problem.classes)
    x = x.clone().requires_grad_()
    optimizer = torch.optim.Adam([x], STEP["all"])
    for k in range(settings.iterations):
        optimizer.param_groups[0]["lr"] = STEP["all"] * falling(k, settings)
        optimizer.zero_grad()
        h = x[:, 0]
        for layer in layers:
            h = layer.forward(h.view(len(h), *layer.shape))[0]
        aside = angle(problem.gradient(x, y), problem.directions)
        fit = aside + relative(h.flatten(1), a)
        objective = fit + prior(x, pixels, settings)
        objective.sum().backward()
        optimizer.step()
        with torch.no_grad():
            x.copy_(pixels.clamp(x))
        step()
    return Found(x.detach(), objective.detach())
