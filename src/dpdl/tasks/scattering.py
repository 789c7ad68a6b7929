"""Wavelet scattering: features of an image that were fixed before any data was seen.

So they cost no privacy. Bruna and Mallat, "Invariant scattering convolution networks" (2013), up to
order 2:

    S_0 x = x * phi
    S_1 x = |x * psi_{j,l}| * phi
    S_2 x = ||x * psi_{j,l}| * psi_{j',l'}| * phi   for j < j' < J

where psi_{j,l} is a Morlet wavelet of scale 2^j and angle pi l / L, and phi a Gaussian of scale
2^J. With g the Gaussian of mass 1 and deviation sigma = 0.8 2^j along the angle, sigma L / 4 across
it, and with xi = 3 pi / 4 / 2^j,

    psi(u) = g(u) (exp(i xi u_l) - beta),   beta such that psi sums to 0

and phi has deviation 0.8 2^(J-1) and sums to 1.

An image is extended by reflection by 2^J pixels on every side (and up to a multiple of 2^J), then
taken as periodic. x * psi_{j,l} is kept at every 2^j-th pixel and the results at every 2^J-th. On
the grid of step 2^k, psi_j is psi_{j-k} of the grid of step 1, so one formula gives all filters.
Tramer and Boneh, "Differentially private learning needs better features" (2021), trained small
models on these features, normalised by groups as in `normalised`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import final

import torch
from torch import Tensor
from torch.nn import functional

from dpdl.errors import InputError

Shape = tuple[int, ...]

CHUNK = 2**20
"""Pixels of |x * psi| * psi' at once, if all were kept; more would not fit into the cache."""
GROUPS = 27
"""Of channels, in which features are normalised."""
FLOOR = 1e-4
"""Of a modulus that has to have a gradient."""


@final
@dataclass(frozen=True)
class Scattering:
    """The transform of images of one shape (channels, height, width), with J scales and L angles.

    Every channel gives 1 + J L + L^2 J (J - 1) / 2 channels: S_0, S_1 by (j, l), S_2 by
    (j, l, j', l').
    """

    shape: Shape
    J: int = 2
    L: int = 8
    chunk: int = field(default=CHUNK, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.J < 1 or self.L < 1:
            raise InputError(
                "Scattering needs at least one scale and one angle, not "
                f"J = {self.J} and L = {self.L}."
            )
        least = 2 ** (self.J + 1)
        if len(self.shape) != 3 or self.shape[0] < 1 or min(self.shape[1:]) < least:
            raise InputError(
                f"Scattering with J = {self.J} needs images (channels, height, width) of at least "
                f"{least} x {least} pixels, but the data has shape {self.shape}."
            )

    @property
    def out(self) -> tuple[int, int, int]:
        """The shape of the features of one image."""
        channels, height, width = self.shape
        paths = 1 + self.J * self.L + self.L**2 * self.J * (self.J - 1) // 2
        return channels * paths, -(-height // 2**self.J), -(-width // 2**self.J)

    @torch.no_grad()
    def __call__(self, x: Tensor) -> Tensor:
        """The features `(n, *out)` of the images `(n, *shape)`, in float32.

        Images are independent of each other. Besides the result, memory is needed for a few
        images only.
        """
        if x.shape[1:] != self.shape:
            raise InputError(
                f"This scattering takes images of shape {self.shape}, not {tuple(x.shape[1:])}."
            )
        planes = x.reshape(-1, *self.shape[1:])
        out = torch.empty(len(planes), self.out[0] // self.shape[0], *self.out[1:])
        at_once = max(1, self.chunk // (self.L**2 * math.prod(self._grid)))
        for start in range(0, len(planes), at_once):
            some = slice(start, start + at_once)
            padded = self._padded(planes[some].float())
            torch.cat(list(self._orders(padded)), dim=1, out=out[some])
        return out.view(-1, *self.out)

    def differentiable(self, x: Tensor) -> Tensor:
        """The same features of a few images, with a gradient everywhere.

        A modulus is sqrt(|z|^2 + `FLOOR`^2): it has a slope where z is 0, and differs by at most
        `FLOOR`.
        """
        planes = self._padded(x.reshape(-1, *self.shape[1:]).float())
        orders = list(self._orders(planes, FLOOR))
        return torch.cat(orders, dim=1).view(-1, *self.out)

    def _orders(self, x: Tensor, floor: float = 0.0) -> Iterator[Tensor]:
        """S_0, S_1 and S_2 of padded planes (m, h, w), each (m, paths, *out[1:])."""
        yield self._average(x, 0).unsqueeze(1)
        spectrum = torch.fft.fft2(x)
        first = [_moduli(spectrum, self._wavelets[0, j], floor) for j in range(self.J)]
        yield from (self._average(u, j) for j, u in enumerate(first))
        for j, u in enumerate(first[:-1]):
            spectrum = torch.fft.fft2(u)
            coarser = range(j + 1, self.J)
            second = [
                self._average(_moduli(spectrum, self._wavelets[j, i], floor), i)
                for i in coarser
            ]
            yield torch.stack(second, dim=2).flatten(1, 3)

    def _average(self, u: Tensor, k: int) -> Tensor:
        """The convolution u * phi at the pixels that are kept, for u on the grid of step 2^k.

        phi is a product of two Gaussians, one for rows and one for columns.
        """
        rows, columns = self._averages[k]
        return rows @ u @ columns.T

    def _padded(self, x: Tensor) -> Tensor:
        border = 2**self.J
        (height, width), (h, w) = self.shape[1:], self._grid
        right, below = w - width - border, h - height - border
        return functional.pad(x, (border, right, border, below), mode="reflect")

    @property
    def _grid(self) -> tuple[int, int]:
        """The size of a padded image, a multiple of 2^J."""
        _, height, width = self.out
        return (height + 2) * 2**self.J, (width + 2) * 2**self.J

    @cached_property
    def _wavelets(self) -> dict[tuple[int, int], Tensor]:
        """For k, j: psi_j on the grid of step 2^k, as `_moduli` takes it."""
        h, w = self._grid
        return {
            (k, j): _folded(_morlet_bank(j - k, self.L, (h >> k, w >> k)), 2 ** (j - k))
            for k in range(self.J)
            for j in range(k, self.J)
            if k == 0 or j > k
        }

    @cached_property
    def _averages(self) -> list[tuple[Tensor, Tensor]]:
        _, height, width = self.out
        return [
            (_gaussian_rows(height, self.J, k), _gaussian_rows(width, self.J, k))
            for k in range(self.J)
        ]


def normalised(features: Tensor, groups: int) -> Tensor:
    """(f - mean) / sqrt(var + 1e-8) over groups of neighbouring channels of a sample.

    Every sample is normalised by itself and nothing is learned, so this costs no privacy either.
    The variance of a group of order 2 can be 1e-5, far above the 1e-8 that is added; rounding
    errors, 1e-14 and less, are not enlarged.
    """
    channels = features.shape[1]
    if groups < 1 or channels % groups:
        raise InputError(
            f"{channels} channels cannot be split into {groups} equal groups."
        )
    return functional.group_norm(features, groups, eps=1e-8)


def _moduli(spectrum: Tensor, bank: Tensor, floor: float) -> Tensor:
    """|u * psi_l| at every s-th pixel, (..., L, h / s, w / s); see `FLOOR`.

    `spectrum` is the Fourier transform (..., h, w) of u. The transform of every s-th pixel is the
    mean of the s^2 blocks of the whole transform. Blocks are added up first, so the inverse
    transform is s^2 times smaller.
    """
    s, (h, w) = math.isqrt(len(bank)), bank.shape[2:4]
    blocks = (
        spectrum.reshape(-1, s, h, s, w)
        .permute(1, 3, 0, 2, 4)
        .reshape(s * s, *spectrum.shape[:-2], 1, h, w)
    )
    blocks = torch.view_as_real(blocks)
    mean = blocks[0] * bank[0]
    for block, psi in zip(blocks[1:], bank[1:], strict=True):
        mean.addcmul_(block, psi)
    y = torch.fft.ifft2(torch.view_as_complex(mean))
    # Twice as fast as y.abs().
    square = y.real.square().addcmul_(y.imag, y.imag)
    if floor:
        square = square + floor**2
    modulus: Tensor = square.sqrt_()
    return modulus


def _folded(bank: Tensor, s: int) -> Tensor:
    """The s^2 blocks of transforms (L, h, w), over s^2.

    Each number is there twice, for a real and an imaginary part.
    """
    L, h, w = bank.shape
    blocks = (
        bank.view(L, s, h // s, s, w // s)
        .permute(1, 3, 0, 2, 4)
        .reshape(s * s, L, h // s, w // s)
        / s**2
    )
    return blocks.float().unsqueeze(-1).repeat(1, 1, 1, 1, 2)


def _morlet_bank(j: int, L: int, grid: tuple[int, int]) -> Tensor:
    """The Fourier transforms of psi_{j,l} for all l, (L, h, w) in float64.

    They are real, since psi(-u) = conj(psi(u)).
    """
    waves = [_morlet(j, math.pi * i / L, 4 / L, grid) for i in range(L)]
    return torch.stack([torch.fft.fft2(wave).real for wave in waves])


def _morlet(j: int, angle: float, slant: float, grid: tuple[int, int]) -> Tensor:
    """psi_{j,l} at the pixels of a periodic grid.

    The angle is from the axis of the columns to that of the rows.
    """
    sigma, xi = 0.8 * 2**j, 3 * math.pi / 4 / 2**j
    # Beyond 8 deviations the wavelet is 0.
    turns = 1 + int(8 * sigma * max(1, 1 / slant) / min(grid))
    rows, columns = (
        torch.arange(-turns * size, (turns + 1) * size, dtype=torch.float64)
        for size in grid
    )
    along = math.cos(angle) * columns + math.sin(angle) * rows[:, None]
    across = math.cos(angle) * rows[:, None] - math.sin(angle) * columns
    squares = along**2 + (slant * across) ** 2
    envelope = torch.exp(-squares / (2 * sigma**2)) * slant / (2 * math.pi * sigma**2)
    wave = envelope * torch.exp(1j * xi * along)
    beta = wave.sum() / envelope.sum()
    psi: Tensor = wave - beta * envelope
    return psi.view(2 * turns + 1, grid[0], 2 * turns + 1, grid[1]).sum(dim=(0, 2))


def _gaussian_rows(kept: int, J: int, k: int) -> Tensor:
    """One factor of phi on the grid of step 2^k, one row for each pixel that is kept.

    Pixels of the border are not kept.
    """
    step = 2 ** (J - k)
    size, sigma = (kept + 2) * step, 0.4 * step
    centres = step * torch.arange(1, kept + 1, dtype=torch.float64)
    distances = torch.arange(-size, 2 * size, dtype=torch.float64) - centres[:, None]
    rows = torch.exp(-((distances / sigma) ** 2) / 2).view(kept, 3, size).sum(dim=1)
    return (rows / rows.sum(dim=1, keepdim=True)).float()
