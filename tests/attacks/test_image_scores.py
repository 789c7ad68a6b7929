"""Scores of reconstructions are what their names say, in the units of the paper's tables."""

from __future__ import annotations

import math
from itertools import permutations, product

import numpy as np
import pytest
import torch
from scipy.stats import rankdata, wilcoxon
from torch import Tensor

from dpdl.attacks.image_scores import (
    ImageScore,
    match,
    mse,
    mse_unit,
    paired_test,
    pixels_of,
    psnr,
    score,
    ssim,
    trivial,
)
from dpdl.attacks.pixels import Pixels
from dpdl.errors import InputError
from dpdl.tasks.data import Dataset, is_here, load

HALF = Pixels((0.5,), (0.5,))
COLOUR = Pixels((0.5, 0.25, 0.1), (0.25, 0.5, 1.0))


def images(*shape: int, seed: int = 0) -> Tensor:
    return torch.rand(
        shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )


def flat(value: float, channels: int = 1, size: int = 12) -> Tensor:
    return torch.full((1, channels, size, size), value, dtype=torch.float64)


# ---------------------------------------------------------------- pixels
def test_pixels_are_the_normalisation_of_the_data_set() -> None:
    x = torch.randint(0, 256, (6, 3, 4, 5), dtype=torch.uint8)
    data = Dataset(
        "own", x, torch.arange(6), x, torch.arange(6), 6, COLOUR.mean, COLOUR.std
    )
    pixels = pixels_of(data)
    assert pixels == COLOUR
    assert torch.allclose(
        pixels.from_unit(x / 255), data.inputs(x, torch.float32), atol=1e-6
    )
    assert torch.allclose(
        pixels.to_unit(data.inputs(x, torch.float32)), x / 255, atol=1e-6
    )


def test_the_valid_range_of_a_channel_is_that_of_its_pixels() -> None:
    assert COLOUR.low.flatten().tolist() == pytest.approx([-2, -0.5, -0.1])
    assert COLOUR.high.flatten().tolist() == pytest.approx([2, 1.5, 0.9])
    assert (COLOUR.low.shape, HALF.low.shape) == ((3, 1, 1), (1, 1, 1))
    far = COLOUR.clamp(torch.stack([flat(-9, 3)[0], flat(9, 3)[0]]))
    assert torch.equal(far[0], COLOUR.low.expand(3, 12, 12))
    assert torch.equal(far[1], COLOUR.high.expand(3, 12, 12))
    assert COLOUR.clamp(flat(0, 3).float()).dtype == torch.float32
    assert COLOUR.to_unit(far).unique().tolist() == [0, 1]
    assert COLOUR.to_unit(flat(99, 3)).unique().tolist() == [1]


def test_floating_records_are_black_at_their_least_and_white_at_their_largest_value() -> (
    None
):
    digits = load("digits")
    pixels = pixels_of(digits)
    assert pixels == HALF
    unit = pixels.to_unit(digits.x)
    assert torch.allclose(unit * 16, (unit * 16).round())
    assert (float(unit.min()), float(unit.max())) == (0, 1)
    same = Dataset(
        "same",
        torch.ones(2, 1, 3, 3),
        torch.arange(2),
        torch.ones(2, 1, 3, 3),
        torch.arange(2),
        2,
        (0,),
        (1,),
    )
    with pytest.raises(InputError, match="cannot be distinguished"):
        pixels_of(same)


@pytest.mark.parametrize(
    ("mean", "std"),
    [((0.5,), (0.0,)), ((math.nan,), (1.0,)), ((0, 0), (1, 1, 1)), ((0.0,), ())],
)
def test_a_normalisation_that_is_none_does_not_construct(mean, std) -> None:
    with pytest.raises(InputError, match="Pixels need"):
        Pixels(mean, std)


# ---------------------------------------------------------------- one image
def test_white_for_black_is_the_whole_range() -> None:
    black, white = HALF.from_unit(flat(0)), HALF.from_unit(flat(1))
    assert mse(white, black).tolist() == [4]
    assert mse_unit(white, black, HALF).tolist() == [1]
    assert psnr(white, black, HALF).tolist() == [0]


def test_errors_are_of_every_image_alone() -> None:
    truth = flat(0, 2).repeat(3, 1, 1, 1)
    x = truth.clone()
    x[1, 0] = 0.2
    x[2, :, :6] = 1
    assert mse(x, truth).tolist() == pytest.approx([0, 0.02, 0.5])


def test_each_channel_counts_in_its_own_range() -> None:
    truth = flat(0.5, 3)
    x = truth.clone()
    x[0, 0], x[0, 1], x[0, 2] = 0.6, 0.7, 0.2  # errors of 0.1, 0.2, 0.3 of the range
    a, b = COLOUR.from_unit(x), COLOUR.from_unit(truth)
    assert mse(a, b).tolist() == pytest.approx([(0.4**2 + 0.4**2 + 0.3**2) / 3])
    assert mse_unit(a, b, COLOUR).tolist() == pytest.approx([0.14 / 3])
    assert psnr(a, b, COLOUR).tolist() == pytest.approx([10 * math.log10(3 / 0.14)])


def test_psnr_of_the_paper_s_mnist_table_is_that_of_its_mse() -> None:
    # 10 log10(2^2 / 0.89) = 6.5 dB: the paper pairs an MSE of 0.89 with a PSNR of 6.57.
    truth = flat(0.0)
    assert float(psnr(truth + math.sqrt(0.89), truth, HALF)) == pytest.approx(
        6.57, abs=0.06
    )


def test_values_outside_the_valid_range_count_in_full_but_as_pixels_they_are_clamped() -> (
    None
):
    truth = HALF.from_unit(flat(1))
    x = truth + 2
    assert mse(x, truth).tolist() == [4]
    assert psnr(x, truth, HALF).tolist() == [0]
    assert mse_unit(x, truth, HALF).tolist() == [0]


def slow_ssim(x: np.ndarray, y: np.ndarray, size: int) -> float:
    """Every window of every channel, with the definitions of mean, variance and covariance."""
    offset = np.arange(size) - size // 2
    w = np.exp(-(offset[:, None] ** 2 + offset[None, :] ** 2) / (2 * 1.5**2))
    w /= w.sum()
    values = []
    for a, b in zip(x, y, strict=True):
        for i, j in product(range(a.shape[0] - size + 1), range(a.shape[1] - size + 1)):
            p, q = a[i : i + size, j : j + size], b[i : i + size, j : j + size]
            mp, mq = (w * p).sum(), (w * q).sum()
            vp, vq, cov = (
                (w * (p - mp) ** 2).sum(),
                (w * (q - mq) ** 2).sum(),
                (w * (p - mp) * (q - mq)).sum(),
            )
            c1, c2 = 0.01**2, 0.03**2
            values.append(
                (2 * mp * mq + c1)
                * (2 * cov + c2)
                / ((mp**2 + mq**2 + c1) * (vp + vq + c2))
            )
    return float(np.mean(values))


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        ((1, 28, 28), 11),
        ((3, 16, 14), 11),
        ((1, 8, 8), 7),
        ((2, 9, 20), 9),
        ((1, 11, 12), 11),
    ],
)
def test_ssim_is_the_mean_over_all_windows(shape, size) -> None:
    truth = images(4, *shape)
    mixed = torch.stack(
        [
            truth[0],
            0.7 * truth[1] + 0.3 * images(*shape, seed=1),
            1 - truth[2],
            images(*shape, seed=2),
        ]
    )
    slow = [
        slow_ssim(a.numpy(), b.numpy(), size) for a, b in zip(mixed, truth, strict=True)
    ]
    assert ssim(mixed, truth).tolist() == pytest.approx(slow, abs=1e-10)
    assert slow[0] == pytest.approx(1)
    assert slow[1] > 0.5 > slow[3] > slow[2]


def test_ssim_of_flat_images_is_that_of_their_brightness() -> None:
    assert ssim(flat(0), flat(1)).tolist() == pytest.approx([1e-4 / (1 + 1e-4)])
    assert ssim(flat(0.3), flat(0.3)).tolist() == pytest.approx([1])


def test_ssim_refuses_normalised_images() -> None:
    for x in (HALF.from_unit(images(1, 1, 12, 12)), images(1, 1, 12, 12) + 0.5):
        with pytest.raises(InputError, match="to_unit"):
            ssim(x, images(1, 1, 12, 12))


@pytest.mark.parametrize(
    "x",
    [torch.zeros(2, 1, 3, 3), torch.zeros(1, 3, 3), torch.full((1, 1, 3, 3), math.nan)],
)
def test_what_cannot_be_compared_is_refused(x) -> None:
    with pytest.raises(InputError):
        mse(x, torch.zeros(1, 1, 3, 3))


# ---------------------------------------------------------------- a batch
def test_matching_is_the_best_of_all_permutations() -> None:
    for seed in range(20):
        truth, found = (
            images(5, 1, 2, 2, seed=seed),
            images(5, 1, 2, 2, seed=seed + 100),
        )
        costs = {
            p: float(mse(found[list(p)], truth).sum()) for p in permutations(range(5))
        }
        assert tuple(match(found, truth).tolist()) == min(costs, key=costs.__getitem__)


def test_known_labels_allow_only_pairs_of_a_class() -> None:
    differs = 0
    for seed in range(20):
        truth, found = (
            images(5, 1, 2, 2, seed=seed),
            images(5, 1, 2, 2, seed=seed + 100),
        )
        of_truth, of_found = (
            torch.tensor([3, 1, 1, 3, 3]),
            torch.tensor([1, 3, 3, 3, 1], dtype=torch.int32),
        )
        allowed = [
            p
            for p in permutations(range(5))
            if torch.equal(of_found[list(p)].long(), of_truth)
        ]
        best = min(allowed, key=lambda p: float(mse(found[list(p)], truth).sum()))
        assert tuple(match(found, truth, (of_found, of_truth)).tolist()) == best
        differs += tuple(match(found, truth).tolist()) != best
    assert differs


@pytest.mark.parametrize("labels", [[0, 0, 1], [0, 1], [0, 1, 2, 2]])
def test_labels_that_cannot_be_matched_are_refused(labels) -> None:
    x = images(3, 1, 2, 2)
    with pytest.raises(InputError, match="match without labels"):
        match(x, x, (torch.tensor(labels), torch.tensor([0, 1, 2])))


def test_scores_do_not_depend_on_the_order_of_reconstructions_and_follow_the_truth() -> (
    None
):
    truth = COLOUR.from_unit(images(4, 3, 12, 12))
    step = torch.tensor([0.0, 0.01, 0.02, 0.03], dtype=torch.float64).reshape(
        4, 1, 1, 1
    )
    found = truth + step
    scores = score(found[[2, 0, 3, 1]], truth, COLOUR)
    assert scores == score(found, truth, COLOUR)
    assert [s.mse for s in scores] == pytest.approx([0, 1e-4, 4e-4, 9e-4])
    unit = COLOUR.to_unit(found), COLOUR.to_unit(truth)
    columns = (
        mse(found, truth),
        psnr(found, truth, COLOUR),
        ssim(*unit),
        mse_unit(found, truth, COLOUR),
    )
    assert np.allclose(np.array(scores[1:]), torch.stack(columns, 1)[1:])


def test_labels_reach_the_matching_of_scores() -> None:
    truth = torch.cat([HALF.low.expand(1, 1, 2, 2), HALF.high.expand(1, 1, 2, 2)])
    assert [s.mse for s in score(truth.flip(0), truth, HALF)] == [0, 0]
    fixed = (torch.tensor([0, 1]), torch.tensor([0, 1]))
    assert [s.mse for s in score(truth.flip(0), truth, HALF, fixed)] == [4, 4]


def test_a_perfect_reconstruction_can_be_written_as_json() -> None:
    truth = HALF.from_unit(images(1, 1, 12, 12))
    (perfect,) = score(truth, truth, HALF)
    assert perfect == pytest.approx(
        ImageScore(mse=0, psnr=math.inf, ssim=1, mse_unit=0)
    )
    assert perfect.finite() == perfect._replace(psnr=100.0)
    ordinary = ImageScore(0.5, 9.0, 0.1, 0.2)
    assert ordinary.finite() == ordinary


# ---------------------------------------------------------------- against what needs no attack
def test_trivial_images_are_what_they_are_called() -> None:
    mean = COLOUR.from_unit(images(3, 4, 5)).float()
    made = trivial((2, 3, 4, 5), COLOUR, mean, seed=1)
    assert list(made) == ["black", "grey", "mean", "random"]
    assert all(
        x.shape == (2, 3, 4, 5) and x.dtype == torch.float32 for x in made.values()
    )
    assert torch.allclose(COLOUR.to_unit(made["black"]), torch.tensor(0.0), atol=1e-6)
    assert torch.allclose(COLOUR.to_unit(made["grey"]), torch.tensor(0.5), atol=1e-6)
    assert torch.equal(made["mean"], torch.stack([mean, mean]))
    noise = made["random"]
    assert torch.equal(noise, COLOUR.clamp(noise))
    assert torch.equal(noise, trivial((2, 3, 4, 5), COLOUR, mean, seed=1)["random"])
    assert not torch.equal(noise, trivial((2, 3, 4, 5), COLOUR, mean, seed=2)["random"])
    assert not torch.equal(noise[0], noise[1])
    with pytest.raises(InputError, match="does not fit"):
        trivial((2, 1, 4, 5), COLOUR, mean, seed=1)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mnist", {"black": 0.45, "grey": 0.93, "mean": 0.27, "random": 1.44}),
        ("cifar10", {"black": 4.64, "grey": 1.03, "mean": 1.0, "random": 1.93}),
    ],
)
def test_trivial_images_have_the_errors_that_attacks_are_compared_with(
    name, expected
) -> None:
    if not is_here(name):
        pytest.skip(f"{name} is not in the cache")
    data = load(name)
    truth = data.inputs(data.x[:4000], torch.float32)
    public = data.inputs(data.x_test, torch.float32).mean(0)
    made = trivial(truth.shape, pixels_of(data), public, seed=0)
    errors = {kind: float(mse(x, truth).mean()) for kind, x in made.items()}
    assert errors == pytest.approx(expected, rel=0.02)


def slow_p(ours: np.ndarray, other: np.ndarray) -> float:
    """The share of all signs of the differences that speak at least as much for us."""
    d = (ours - other)[ours != other]
    ranks = rankdata(np.abs(d))
    against = ranks[d > 0].sum()
    sums = [
        ranks[np.array(signs, dtype=bool)].sum()
        for signs in product((0, 1), repeat=len(d))
    ]
    return float(np.mean([s <= against + 1e-9 for s in sums]))


def test_the_paired_test_is_exact() -> None:
    draw = np.random.default_rng(0)
    for n in (1, 3, 8, 30):
        a, b = draw.normal(size=n), draw.normal(0.3, size=n)
        assert paired_test(a, b) == pytest.approx(
            wilcoxon(a, b, alternative="less", method="exact").pvalue
        )
    for _ in range(20):  # whole numbers: many ties, many zeros
        a, b = (
            draw.integers(0, 4, 10).astype(float),
            draw.integers(0, 4, 10).astype(float),
        )
        assert paired_test(a, b) == pytest.approx(slow_p(a, b))


def test_the_paired_test_does_not_claim_more_than_few_images_can_show() -> None:
    lower, higher = np.arange(4.0), np.arange(4.0) + np.array([1, 2, 3, 4])
    assert paired_test(lower, higher) == 2**-4
    assert paired_test(higher, lower) == 1
    assert paired_test(lower, lower) == paired_test([], []) == 1
    assert (
        paired_test([*lower, 7, 8], [*higher, 7, 8]) == 2**-4
    )  # equal pairs add nothing


def test_the_paired_test_holds_its_level() -> None:
    draw = np.random.default_rng(1)
    p = np.array(
        [paired_test(draw.normal(size=12), draw.normal(size=12)) for _ in range(2000)]
    )
    assert np.mean(p <= 0.05) == pytest.approx(0.05, abs=0.015)
    assert paired_test(draw.normal(size=216), draw.normal(1, size=216)) < 1e-6


def test_pairs_that_are_none_are_refused() -> None:
    for pair in (([1.0], [1.0, 2.0]), ([math.nan], [1.0]), (1.0, 2.0)):
        with pytest.raises(InputError, match="one per image"):
            paired_test(*pair)
