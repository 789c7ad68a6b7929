"""One image of a linear model on scattering features: read the features off, then seek the image.

The gradient of the linear layer is g f' and that of its bias g, so the features f of a single
record are the gradient' g / ||g||^2, exactly and whatever the scale (`read_first_linear`).
Scattering is public, and on small pictures nearly one to one: the image is the one whose features
are nearest to f, found by L-BFGS from its own blurred copy, S_0, which is among the features. So
features hide nothing; what hides a record is noise on g f'.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

from dpdl.attacks.inverting import (
    Found,
    Problem,
    Settings,
    best,
    relative,
    variation,
)
from dpdl.attacks.peel import read_first_linear
from dpdl.attacks.pixels import Pixels
from dpdl.attacks.workers import ShareWatch
from dpdl.tasks.fused.network import Network
from dpdl.tasks.scattering import GROUPS, Scattering, normalised

EDGE = 0.02
"""How near to black and white a search begins: at either end it would not move."""


def unscatter(
    problem: Problem,
    network: Network,
    shape: tuple[int, ...],
    pixels: Pixels,
    settings: Settings,
    watch: ShareWatch,
) -> Found:
    """One image of that shape for every target."""
    _, features, _ = read_first_linear(problem, network)
    transform = Scattering(shape)
    wanted = features.view(-1, *transform.out)
    tries = len(wanted) * settings.restarts
    images, objective = [], []
    for k in range(tries):
        one = wanted[k // settings.restarts, None]
        begin = _blurred(one, transform, settings.seed, k % settings.restarts)

        def heard(share: float, done: int = k) -> None:
            watch((done + share) / tries)

        x, fit = _seek(one, begin, transform, pixels, settings, heard)
        images.append(x)
        objective.append(fit)
    found = Found(torch.stack(images), torch.tensor(objective))
    return best(found, settings.restarts)


def _blurred(wanted: Tensor, transform: Scattering, seed: int, number: int) -> Tensor:
    """S_0 of one image, as large as the image, in [0, 1]; other starts are perturbed."""
    channels = transform.shape[0]
    paths = transform.out[0] // channels
    coarse = wanted[:, ::paths]
    size = list(transform.shape[1:])
    fine = functional.interpolate(
        coarse, size=size, mode="bicubic", align_corners=False
    )
    low, high = fine.amin(), fine.amax()
    begin: Tensor = (fine - low) / (high - low).clamp(min=1e-12)
    if number:
        draw = torch.Generator().manual_seed(seed + number)
        begin = begin + 0.2 * torch.randn(begin.shape, generator=draw)
    return begin


def _seek(
    wanted: Tensor,
    begin: Tensor,
    transform: Scattering,
    pixels: Pixels,
    settings: Settings,
    watch: ShareWatch,
) -> tuple[Tensor, float]:
    """The image (1, C, H, W) whose features fit, from a start in [0, 1], and how well they do."""
    free = begin.clamp(EDGE, 1 - EDGE).logit().requires_grad_()
    optimizer = torch.optim.LBFGS(
        [free],
        max_iter=settings.iterations,
        line_search_fn="strong_wolfe",
        history_size=20,
    )
    fit, calls = math.inf, 0

    def distance() -> Tensor:
        nonlocal fit, calls
        optimizer.zero_grad()
        x = pixels.from_unit(free.sigmoid())
        found = normalised(transform.differentiable(x), GROUPS)
        away = relative(found, wanted)[0]
        fit = float(away.detach())
        objective = away + settings.smooth * variation(x)[0]
        objective.backward()
        calls += 1
        watch(min(1.0, calls / settings.iterations))
        return objective

    optimizer.step(distance)
    found = pixels.from_unit(free.detach().sigmoid())
    return found, fit if math.isfinite(fit) else math.inf
