"""Gradients are compared way by way, the better variant of each."""

from __future__ import annotations

import pytest

from dpdl.bench.gradients import MATMUL, gradient_speeds, multiply_adds

SECONDS = {
    "fused by pairs": 1e-3,
    "plain by pairs": 5e-3,
    "torch_func by pairs": 6e-3,
    "torch_func by torch": 4e-3,
    "plain_backward by pairs": 2e-3,
    "plain_backward by torch": 3e-3,
    "matmul": 2e-2,
}


def test_operations_are_counted_as_the_layers_have_them() -> None:
    """0.76 million for LeNet, by counting the products of every layer."""
    total = 0
    for first, outputs, inputs in (
        (True, 24 * 24 * 6, 25),
        (False, 8 * 8 * 16, 6 * 25),
    ):
        total += outputs * inputs * (2 if first else 3)
    for inputs, outputs in ((256, 120), (120, 84), (84, 10)):
        total += 3 * inputs * outputs
    assert multiply_adds() == total


def test_the_better_variant_of_a_way_is_reported() -> None:
    found = gradient_speeds(SECONDS, batch_size=100, pairs=10, repeats=3)
    assert found.us_per_sample == pytest.approx(
        {"fused": 1, "plain": 5, "torch_func": 4, "opacus": None, "plain_backward": 2}
    )
    assert found.by_way["torch_func by pairs"] == pytest.approx(6)
    assert "matmul" not in found.by_way
    assert (found.batch, found.pairs, found.repeats) == (100, 10, 3)


def test_ratios_are_over_our_fused_path() -> None:
    found = gradient_speeds(SECONDS, 100, 10, 3)
    assert found.ratio_torch_func == pytest.approx(4)
    assert found.ratio_plain_backward == pytest.approx(2)
    assert found.ratio_opacus is None, "it is not installed"
    peak = 2 * MATMUL**3 / 2e-2
    assert found.peak_gflops == pytest.approx(peak / 1e9)
    assert found.peak_share == pytest.approx(2 * multiply_adds() / 1e-6 / peak)


def test_without_kernels_there_is_nothing_to_compare_with() -> None:
    plain = {name: s for name, s in SECONDS.items() if name != "fused by pairs"}
    found = gradient_speeds(plain, 100, 10, 3)
    assert found.us_per_sample["fused"] is None
    assert found.peak_share is found.ratio_plain_backward is None
