"""How near a reconstruction is to the truth, and whether it beats a picture that needs no attack.

Images are `(images, C, H, W)`. *Normalised* values are what a model sees, `(v - mean) / std` of a
pixel v in [0, 1]; *unit* values are the pixels v themselves. MSE is in normalised units, as in the
paper's tables, and depends on the normalisation: with MNIST's 0.5/0.5 it is 4 times that of the
pixels. PSNR and SSIM do not depend on it.

SSIM: Wang, Bovik, Sheikh, Simoncelli, "Image quality assessment: from error visibility to
structural similarity" (2004), with the paper's window and constants, but without its down-sampling:
our images are small already.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from scipy.optimize import linear_sum_assignment
from scipy.stats import rankdata
from torch import Tensor
from torch.nn.functional import conv2d

from dpdl.attacks.pixels import Pixels, per_channel
from dpdl.errors import InputError
from dpdl.keys import generator
from dpdl.tasks.data import Dataset

WINDOW, SIGMA = 11, 1.5
K1, K2 = 0.01, 0.03
MOST_PSNR = 100.0
"""PSNR of equal images in files, since JSON has no infinity: that of an MSE of 1e-10 of pixels."""

Labels = tuple[Tensor, Tensor]


def pixels_of(data: Dataset) -> Pixels:
    """Those of a data set.

    Floating records came normalised: their least value is black, their largest white.
    """
    if data.x.dtype == torch.uint8:
        return Pixels(data.mean, data.std)
    low, high = float(data.x.min()), float(data.x.max())
    if low == high:
        raise InputError(
            f"All values of data set {data.name} are {low:g}: black and white cannot "
            "be distinguished."
        )
    return Pixels((-low / (high - low),), (1 / (high - low),))


def mse(x: Tensor, truth: Tensor) -> Tensor:
    """Mean squared error of every image, in the units given.

    Normalised images give the paper's unit.
    """
    x, truth = _pair(x, truth)
    return (x - truth).square().mean((1, 2, 3))


def mse_unit(x: Tensor, truth: Tensor, pixels: Pixels) -> Tensor:
    """Mean squared error of every normalised image, after both became pixels in [0, 1]."""
    return mse(pixels.to_unit(x), pixels.to_unit(truth))


def psnr(x: Tensor, truth: Tensor, pixels: Pixels) -> Tensor:
    """Peak signal-to-noise ratio of every normalised image, in decibels.

    `10 log10(range^2 / MSE)`, range = 1/std.

    Channels are combined before the logarithm, each in units of its own range: `-10 log10(mean_c
    MSE_c / range_c^2)`. So it is the PSNR of the pixels, whatever the normalisation, as long as x
    is in the valid range. (`mean_c range_c^2 / mean_c MSE_c` differs by 0.02 dB on CIFAR-10.) It is
    infinite for equal images; `ImageScore.finite` is not.
    """
    x, truth = _pair(x, truth)
    share = ((x - truth) * per_channel(pixels.std, x)).square().mean((1, 2, 3))
    return -10 * torch.log10(share)


def ssim(x: Tensor, truth: Tensor) -> Tensor:
    """Structural similarity of every image of pixels in [0, 1].

    1 for equal images, about 0 for unrelated ones.

    Single-scale, Gaussian window of 11 x 11 with sigma 1.5, K1 = 0.01, K2 = 0.03, data range 1.
    Only windows that lie inside the image count; the mean is over windows and channels. Images
    smaller than 11 pixels are seen through the largest odd window that fits, with the same sigma.
    """
    x, truth = _pair(x, truth)
    low, high = min(x.min(), truth.min()), max(x.max(), truth.max())
    if low < 0 or high > 1:
        raise InputError(
            "SSIM needs pixels in [0, 1]: use Pixels.to_unit on normalised images "
            "first."
        )
    size = min(WINDOW, *x.shape[2:])
    window = _gaussian(size - 1 + size % 2).to(x.device)
    mean_x, mean_y = _smooth(x, window), _smooth(truth, window)
    var_x = _smooth(x * x, window) - mean_x**2
    var_y = _smooth(truth * truth, window) - mean_y**2
    cov = _smooth(x * truth, window) - mean_x * mean_y
    c1, c2 = K1**2, K2**2
    means = (2 * mean_x * mean_y + c1) / (mean_x**2 + mean_y**2 + c1)
    return (means * (2 * cov + c2) / (var_x + var_y + c2)).mean((1, 2, 3))


def _gaussian(size: int) -> Tensor:
    offset = torch.arange(size, dtype=torch.float64) - (size - 1) / 2
    weight = torch.exp(-(offset**2) / (2 * SIGMA**2))
    return weight / weight.sum()


def _smooth(x: Tensor, window: Tensor) -> Tensor:
    # Two passes of a line instead of one of a square: a Gaussian is the product of its sides.
    planes = x.flatten(0, 1).unsqueeze(1)
    smooth = conv2d(
        conv2d(planes, window.reshape(1, 1, -1, 1)), window.reshape(1, 1, 1, -1)
    )
    return smooth.reshape(*x.shape[:2], *smooth.shape[2:])


def _pair(x: Tensor, truth: Tensor) -> tuple[Tensor, Tensor]:
    if x.shape != truth.shape or x.ndim != 4 or x.numel() == 0:
        raise InputError(
            f"Both must be (images, C, H, W), not {tuple(x.shape)} and "
            f"{tuple(truth.shape)}."
        )
    if not (bool(torch.isfinite(x).all()) and bool(torch.isfinite(truth).all())):
        raise InputError("Images with NaN or infinite values cannot be compared.")
    return x.detach().to(torch.float64), truth.detach().to(torch.float64)


def match(found: Tensor, truth: Tensor, labels: Labels | None = None) -> Tensor:
    """Which reconstruction belongs to which image.

    `found[match(found, truth)]` is in the order of `truth`.

    A gradient does not tell the order of its batch, so this is the assignment with the least total
    MSE. `labels`, those of `found` and those of `truth`, allow only pairs with equal labels; both
    must hold each label equally often.
    """
    found, truth = _pair(found, truth)
    # The fast formula cancels for images that are nearly equal.
    exact = "donot_use_mm_for_euclid_dist"
    distance = torch.cdist(truth.flatten(1), found.flatten(1), compute_mode=exact)
    cost = distance.square().cpu()
    if labels is not None:
        of_found, of_truth = (y.detach().cpu().to(torch.int64) for y in labels)
        if len(of_found) != len(found) or not torch.equal(
            of_found.sort().values, of_truth.sort().values
        ):
            raise InputError(
                f"The labels {of_found.tolist()} of the reconstructions are not a "
                f"permutation of the true {of_truth.tolist()}, one per image: match "
                "without labels."
            )
        cost[of_truth[:, None] != of_found[None, :]] = torch.inf
    return torch.from_numpy(linear_sum_assignment(cost.numpy())[1]).to(found.device)


class ImageScore(NamedTuple):
    """One reconstruction against its image.

    `mse` in normalised units, `psnr` in dB, `ssim`, `mse_unit` in pixels.
    """

    mse: float
    psnr: float
    ssim: float
    mse_unit: float

    def finite(self) -> ImageScore:
        """For files and means: a PSNR above `MOST_PSNR`, also an infinite one, is `MOST_PSNR`."""
        return self._replace(psnr=min(self.psnr, MOST_PSNR))


def score(
    found: Tensor, truth: Tensor, pixels: Pixels, labels: Labels | None = None
) -> list[ImageScore]:
    """The score of every image, in the order of `truth`, after `match`. Both are normalised.

    Score trivial reconstructions with this too: matching also flatters them.
    """
    found = found[match(found, truth, labels)]
    unit = pixels.to_unit(found), pixels.to_unit(truth)
    each = mse(found, truth), psnr(found, truth, pixels), ssim(*unit), mse(*unit)
    return [ImageScore(*row) for row in torch.stack(each, dim=1).tolist()]


def trivial(
    truth_shape: Sequence[int], pixels: Pixels, mean_image: Tensor, seed: int
) -> dict[str, Tensor]:
    """Normalised images that need no attack: what an attack must beat to have learnt anything.

    "black" and "grey" are pixels 0 and 0.5; "mean" is the given normalised `(C, H, W)` image, the
    mean of public records like the private ones; "random" is a standard normal in normalised space,
    clamped to valid pixels: what an attack starts from.
    """
    shape = torch.Size(truth_shape)
    if len(shape) != 4 or mean_image.shape != shape[1:]:
        raise InputError(
            f"A mean image of {tuple(mean_image.shape)} does not fit images of "
            f"{tuple(shape)}."
        )
    blank = torch.zeros(shape, dtype=mean_image.dtype, device=mean_image.device)
    noise = torch.from_numpy(
        generator(seed, "trivial-image").standard_normal(tuple(shape))
    )
    return {
        "black": pixels.from_unit(blank),
        "grey": pixels.from_unit(blank + 0.5),
        "mean": blank + mean_image,
        "random": pixels.clamp(noise.to(blank)),
    }


def paired_test(ours: npt.ArrayLike, best_trivial: npt.ArrayLike) -> float:
    """p-value that the attack's MSE is not lower than the trivial one's, image by image.

    One-sided Wilcoxon.

    The signed-rank test, exact at every size and with ties: given the sizes of the differences, all
    signs are equally likely under the null. Differences of 0 speak for neither side and are left
    out. With n others, p is at least `2^-n`: fewer than 5 images cannot reach 0.05, and without any
    p is 1. Images must be independent.
    """
    a = np.asarray(ours, dtype=np.float64)
    b = np.asarray(best_trivial, dtype=np.float64)
    finite = np.isfinite(a).all() and np.isfinite(b).all()
    if a.ndim != 1 or a.shape != b.shape or not finite:
        raise InputError(
            "A paired test needs two lists of finite numbers, one per image: "
            f"{a.shape} and {b.shape}."
        )
    difference = (a - b)[a != b]
    # Equal sizes share their mean rank, which may be a half; twice the rank is whole, so sums are
    # exact.
    ranks = np.rint(2 * rankdata(np.abs(difference))).astype(np.int64)
    against = int(ranks[difference > 0].sum())
    # share[s]: the probability that the ranks with random signs + add up to s.
    share = np.zeros(against + 1)
    share[0] = 1.0
    for rank in ranks:
        share *= 0.5
        share[rank:] += share[: max(0, against + 1 - rank)].copy()
    return min(1.0, float(share.sum()))
