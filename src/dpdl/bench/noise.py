"""Nanoseconds a number: noise of both kinds, beside a plain copy of the row. One row, one thread, as in a round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from dpdl.bench.clock import interleaved
from dpdl.native import library
from dpdl.privacy.noise import Randomness, Reproducible, Secure

STD = 0.25


def measure(entries: int, repeats: int) -> dict[str, Any]:
    """Every way on a row of so many entries, ratios, and which kernels ran (2: AVX-512, 1: AVX2, 0: any other)."""
    rows = {dtype: torch.randn(entries, dtype=dtype) for dtype in (torch.float32, torch.float64)}
    ways: dict[str, Callable[[], object]] = {
        "secure": _perturbing(Secure(), rows[torch.float32]),
        "secure_float64": _perturbing(Secure(), rows[torch.float64]),
        "reproducible": _perturbing(Reproducible(0), rows[torch.float32]),
        "copy": _copying(rows[torch.float32]),
    }
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # for the copy; noise has one thread anyway
    try:
        seconds = interleaved(ways, repeats)
    finally:
        torch.set_num_threads(threads)
    ns = {name: value / entries * 1e9 for name, value in seconds.items()}
    found = library()
    return {
        "ns_per_number": ns,
        "ratio_copy": {name: value / ns["copy"] for name, value in ns.items()},
        "ratio_reproducible": ns["secure"] / ns["reproducible"],
        "kernels": None if found is None else int(found.dpdl_machine()),
        "entries": entries,
        "repeats": repeats,
    }


def _perturbing(randomness: Randomness, row: torch.Tensor) -> Callable[[], object]:
    into = torch.empty_like(row)
    return lambda: randomness.perturb(row, STD, "noise", 1, 0, 1, into=into)


def _copying(row: torch.Tensor) -> Callable[[], object]:
    into = torch.empty_like(row)
    return lambda: into.copy_(row)
