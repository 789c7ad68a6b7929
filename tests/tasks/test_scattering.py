from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from dpdl.errors import InputError
from dpdl.tasks.scattering import CHUNK, FLOOR, Scattering, normalised
from tests.reference import scattering as reference


def noise(*shape: int, seed: int = 0) -> Tensor:
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed))


def inside(height: int, width: int, border: int) -> Tensor:
    """A random image that is 0 near its edges, where reflection then changes nothing."""
    x = torch.zeros(1, 1, height, width)
    x[..., border : height - border, border : width - border] = noise(
        height - 2 * border, width - 2 * border
    )
    return x


def change(a: Tensor, b: Tensor) -> float:
    return float((a - b).norm() / a.norm())


# ---------------------------------------------------------------- the definition
@pytest.mark.parametrize(
    ("size", "J", "L"),
    [
        ((28, 28), 2, 8),
        ((13, 18), 2, 3),
        ((16, 19), 3, 4),
        ((17, 16), 3, 2),
        ((6, 5), 1, 16),
        ((8, 9), 2, 1),
    ],
)
def test_features_are_those_of_the_definition(
    size: tuple[int, int], J: int, L: int
) -> None:
    x = noise(2, 1, *size) - 0.3
    found = Scattering((1, *size), J, L)(x)[1].double().numpy()
    expected = reference.scattering(x[1, 0].numpy(), J, L)
    assert found.shape == expected.shape
    # Path by path: the last ones are a hundred times smaller than the first.
    off = np.abs(found - expected).max(axis=(1, 2)) / np.abs(expected).max(axis=(1, 2))
    assert off.max() < 1e-5


@pytest.mark.parametrize(
    ("shape", "J", "L", "out"),
    [
        ((1, 28, 28), 2, 8, (81, 7, 7)),
        ((3, 32, 32), 2, 8, (243, 8, 8)),
        ((2, 9, 30), 2, 4, (50, 3, 8)),
        ((1, 17, 16), 3, 2, (19, 3, 2)),
        ((1, 4, 4), 1, 8, (9, 2, 2)),
    ],
)
def test_out_is_the_shape_of_the_features(
    shape: tuple[int, ...], J: int, L: int, out: tuple[int, int, int]
) -> None:
    scattering = Scattering(shape, J, L)
    assert scattering.out == out
    for images in (0, 2):
        features = scattering(noise(images, *shape))
        assert features.shape == (images, *out)
        assert features.dtype == torch.float32


def test_by_default_there_are_two_scales_and_eight_angles() -> None:
    assert Scattering((1, 28, 28)) == Scattering((1, 28, 28), J=2, L=8)


@pytest.mark.parametrize("j", [0, 1])
@pytest.mark.parametrize("number", range(8))
def test_a_wave_is_loudest_in_the_channel_of_its_scale_and_angle(
    j: int, number: int
) -> None:
    xi, angle = 3 * math.pi / 4 / 2**j, math.pi * number / 8
    row, column = torch.arange(28.0)[:, None], torch.arange(28.0)
    wave = torch.cos(xi * (column * math.cos(angle) + row * math.sin(angle)))
    middle = Scattering((1, 28, 28))(wave.view(1, 1, 28, 28))[0, :, 3, 3]
    assert int(middle[1:17].argmax()) == 8 * j + number


def test_channels_of_an_image_do_not_mix() -> None:
    x = noise(3, 3, 16, 16)
    grey = Scattering((1, 16, 16))
    each = torch.cat([grey(x[:, [colour]]) for colour in range(3)], dim=1)
    torch.testing.assert_close(Scattering((3, 16, 16))(x), each)


# ---------------------------------------------------------------- what the features are good for
def test_a_constant_image_has_its_mean_and_nothing_else() -> None:
    features = Scattering((1, 20, 20), J=3, L=4)(torch.full((1, 1, 20, 20), 2.5))[0]
    torch.testing.assert_close(features[0], torch.full((3, 3), 2.5))
    assert float(features[1:].abs().max()) < 1e-5


def test_adding_a_constant_changes_the_mean_only_and_scaling_scales() -> None:
    scattering, x = Scattering((1, 20, 20)), noise(1, 1, 20, 20)
    features = scattering(x)
    brighter = scattering(x + 1)
    torch.testing.assert_close(brighter[:, :1], features[:, :1] + 1)
    torch.testing.assert_close(brighter[:, 1:], features[:, 1:], rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(scattering(-3 * x)[:, 1:], 3 * features[:, 1:])


@pytest.mark.parametrize(
    ("pixels", "first", "second"), [(1, 0.3, 0.4), (2, 0.42, 0.52)]
)
def test_a_small_shift_changes_features_much_less_than_pixels(
    pixels: int, first: float, second: float
) -> None:
    wide = noise(10, 1, 36, 36)
    x, shifted = wide[..., 4:32, 4:32], wide[..., 4:32, 4 - pixels : 32 - pixels]
    scattering = Scattering((1, 28, 28))
    before, after = scattering(x), scattering(shifted)
    # Measured, as shares of the change of the pixels: 0.19 and 0.31 for one pixel, 0.30 and 0.42
    # for two.
    assert change(before[:, 1:17], after[:, 1:17]) < first * change(x, shifted)
    assert change(before[:, 17:], after[:, 17:]) < second * change(x, shifted)


@pytest.mark.parametrize(
    ("J", "down", "right"), [(2, 1, 0), (2, 0, 1), (2, -1, 1), (1, 1, -1), (3, -1, 0)]
)
def test_a_shift_by_the_last_step_shifts_the_features(
    J: int, down: int, right: int
) -> None:
    size, step = 2**J * 8, 2**J
    x = inside(size, size, border=3 * step)
    scattering = Scattering((1, size, size), J, L=4)
    shifted = scattering(x.roll((down * step, right * step), dims=(2, 3)))
    # On the extended image this is exact, all around; what is rolled over its edge is left out.
    rolled = scattering(x).roll((down, right), dims=(2, 3))
    kept = [slice(max(0, by), 8 + min(0, by)) for by in (down, right)]
    torch.testing.assert_close(
        shifted[..., kept[0], kept[1]],
        rolled[..., kept[0], kept[1]],
        rtol=1e-4,
        atol=1e-6,
    )


def bound(size: int, J: int, L: int) -> float:
    """How much longer features can be than the extended image.

    A pixel of a grid of step 2^k counts 4^k times. A modulus keeps lengths, so this is the product
    of the norms of two linear maps: all filters on the image, then all filters on the grid of
    |x * psi_j|.
    """

    def squared_norm(k: int, scales: range) -> float:
        grid, step = (size // 2**k, size // 2**k), 2**k
        kept = [
            2 ** (J - k)
            * reference.convolution(reference.low_pass(J, grid, step), 2 ** (J - k))
        ]
        for j in scales:
            for number in range(L):
                psi = reference.morlet(j, np.pi * number / L, L, grid, step)
                kept.append(2 ** (j - k) * reference.convolution(psi, 2 ** (j - k)))
        gram = sum(m.conj().T @ m for m in kept).real  # as a form on real images
        return float(np.linalg.eigvalsh(gram)[-1])

    first, second = (
        squared_norm(0, range(J)),
        [squared_norm(k, range(k + 1, J)) for k in range(J)],
    )
    return math.sqrt(first * max(1, *second))


def test_features_are_not_longer_than_the_image_nor_differences_than_differences() -> (
    None
):
    J, L, size = 2, 4, 12
    limit = bound(size + 2 * 2**J, J, L)
    assert 1 <= limit < 1.1

    def ratio(x: Tensor) -> float:
        extended = np.stack([reference.padded(image.numpy(), J) for image in x[:, 0]])
        features = scattering(x)
        return float(2**J * (features[0] - features[1]).norm()) / float(
            np.linalg.norm(extended[0] - extended[1])
        )

    scattering = Scattering((1, size, size), J, L)
    black = torch.zeros(1, size, size)
    hill = torch.exp(-((torch.arange(12.0) - 5.5) ** 2) / 10)
    assert 0.55 < ratio(torch.stack([torch.outer(hill, hill)[None], black])) <= limit
    for seed in range(20):
        x = noise(2, 1, size, size, seed=seed)
        assert ratio(x) <= limit
        assert ratio(torch.stack([x[0], black])) <= limit


# ---------------------------------------------------------------- many images
def test_chunks_do_not_change_features() -> None:
    scattering, x = Scattering((2, 16, 16)), noise(23, 2, 16, 16)
    whole = scattering(x)
    torch.testing.assert_close(
        torch.cat([scattering(x[[i]]) for i in range(23)]), whole
    )
    for pixels in (1, 5 * 64 * 24 * 24, 2**40):
        other = Scattering((2, 16, 16), chunk=pixels)
        torch.testing.assert_close(other(x), whole)


def test_a_piece_of_work_does_not_grow_with_the_number_of_images(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A wavelet transform ends with an inverse Fourier transform of the numbers that it keeps."""
    pieces, inverse = [], torch.fft.ifft2

    def watched(spectrum: Tensor) -> Tensor:
        pieces.append(spectrum.numel())
        return inverse(spectrum)

    monkeypatch.setattr(torch.fft, "ifft2", watched)
    features = Scattering((1, 28, 28))(torch.zeros(150, 1, 28, 28))
    assert features.shape[0] == 150
    assert 4 * max(pieces) <= CHUNK  # order 2 keeps every fourth pixel


def test_other_numbers_become_float32_and_gradients_are_not_kept() -> None:
    scattering, x = Scattering((1, 8, 8)), (255 * noise(2, 1, 8, 8)).to(torch.uint8)
    torch.testing.assert_close(scattering(x), scattering(x.double()))
    assert not scattering(x.float().requires_grad_()).requires_grad


# ---------------------------------------------------------------- normalised
@pytest.mark.parametrize(("channels", "groups"), [(81, 27), (243, 27), (81, 1)])
def test_every_group_of_every_sample_has_mean_0_and_variance_1(
    channels: int, groups: int
) -> None:
    scale = torch.logspace(-2, 2, channels).view(-1, 1, 1)
    parts = normalised(scale * (noise(4, channels, 7, 7) + 3), groups).view(
        4, groups, -1
    )
    torch.testing.assert_close(
        parts.mean(dim=2), torch.zeros(4, groups), rtol=0, atol=1e-4
    )
    torch.testing.assert_close(
        parts.var(dim=2, correction=0), torch.ones(4, groups), rtol=0, atol=2e-3
    )


def test_the_groups_of_real_features_have_variance_1_too() -> None:
    features = Scattering((1, 28, 28))(inside(28, 28, border=4))
    parts = normalised(features, 27).view(27, -1)
    torch.testing.assert_close(
        parts.var(dim=1, correction=0), torch.ones(27), rtol=0, atol=0.01
    )


def test_a_sample_is_normalised_without_the_others() -> None:
    features = noise(5, 81, 7, 7)
    alone = normalised(features[2:3], 27)
    torch.testing.assert_close(normalised(features, 27)[2:3], alone)
    features[3:] = 1e6
    torch.testing.assert_close(normalised(features, 27)[2:3], alone)


def test_groups_are_neighbouring_channels() -> None:
    features = noise(1, 6, 2, 2)
    by_hand = features[0, 2:4].double().numpy()
    expected = (by_hand - by_hand.mean()) / by_hand.std()
    np.testing.assert_allclose(
        normalised(features, 3)[0, 2:4].numpy(), expected, rtol=1e-4, atol=1e-5
    )


def test_a_blank_image_stays_blank_whatever_its_last_digits() -> None:
    features = Scattering((1, 28, 28))(0.7 + 1e-6 * noise(1, 1, 28, 28))
    assert float(normalised(features, 27)[:, 3:].abs().max()) < 0.05


# ---------------------------------------------------------------- what is refused
@pytest.mark.parametrize(
    ("shape", "J"),
    [
        ((1, 7, 28), 2),
        ((1, 28, 7), 2),
        ((1, 15, 16), 3),
        ((784,), 2),
        ((28, 28), 2),
        ((0, 28, 28), 2),
    ],
)
def test_what_is_no_image_or_too_small_is_refused(
    shape: tuple[int, ...], J: int
) -> None:
    with pytest.raises(
        InputError,
        match=rf"at least {2 ** (J + 1)} x {2 ** (J + 1)} pixels.*has shape \(",
    ) as refusal:
        Scattering(shape, J)
    assert str(refusal.value).count(". ") == 0


@pytest.mark.parametrize(("J", "L"), [(0, 8), (2, 0), (-1, 8)])
def test_no_scales_or_no_angles_are_refused(J: int, L: int) -> None:
    with pytest.raises(InputError, match="at least one scale and one angle"):
        Scattering((1, 28, 28), J, L)


@pytest.mark.parametrize(
    "shape", [(2, 1, 28, 27), (2, 3, 28, 28), (1, 28, 28), (2, 784)]
)
def test_images_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match=r"images of shape \(1, 28, 28\), not"):
        Scattering((1, 28, 28))(torch.zeros(shape))


@pytest.mark.parametrize("groups", [0, 2, 82])
def test_groups_of_different_sizes_are_refused(groups: int) -> None:
    with pytest.raises(
        InputError, match=f"81 channels cannot be split into {groups} equal groups"
    ):
        normalised(torch.zeros(1, 81, 7, 7), groups)


def test_differentiable_features_are_the_same_and_have_a_finite_slope_everywhere():
    transform = Scattering((1, 16, 16))
    x = torch.rand(3, 1, 16, 16, generator=torch.Generator().manual_seed(0))
    x[0] = 0.0  # every modulus is 0 there
    x.requires_grad_()
    found = transform.differentiable(x)
    torch.testing.assert_close(found.detach(), transform(x), rtol=0, atol=2 * FLOOR)
    found.square().sum().backward()
    assert x.grad.isfinite().all()
    assert x.grad[1:].abs().sum() > 0
