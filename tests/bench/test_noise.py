"""Noise is timed on the rows that it names, per number."""

from __future__ import annotations

import pytest
import torch

from dpdl.bench.noise import measure_noise, noise_speeds, ways


class Watched:
    """Noise that writes down which rows it was asked to perturb."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, torch.dtype]] = []

    def perturb(self, row, std, *where, into) -> None:
        assert into.shape == row.shape and into.dtype == row.dtype
        self.rows.append((row.numel(), row.dtype))


def test_noise_is_timed_on_the_rows_it_names() -> None:
    secure, reproducible = Watched(), Watched()
    found = ways(1000, secure, reproducible)
    for way in found.values():
        way()
    assert list(found) == ["secure", "secure_float64", "reproducible", "copy"]
    assert secure.rows == [(1000, torch.float32), (1000, torch.float64)]
    assert reproducible.rows == [(1000, torch.float32)]


def test_noise_is_measured_per_number() -> None:
    seconds = {"secure": 8e-6, "reproducible": 4e-6, "copy": 1e-6}
    found = noise_speeds(seconds, 1000, repeats=3, kernels=2)
    assert found.ns_per_number == pytest.approx(
        {"secure": 8, "reproducible": 4, "copy": 1}
    )
    assert found.ratio_copy["secure"] == pytest.approx(8)
    assert found.ratio_reproducible == pytest.approx(2)
    assert (found.kernels, found.entries, found.repeats) == (2, 1000, 3)


def test_the_number_of_threads_is_restored() -> None:
    torch.set_num_threads(2)
    assert measure_noise(100, 1).entries == 100 and torch.get_num_threads() == 2
    torch.set_num_threads(1)
