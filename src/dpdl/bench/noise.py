"""Nanoseconds a number: noise of both kinds, beside a plain copy of the row. One row, one thread, as in a round."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from dpdl.bench.repeats import interleaved
from dpdl.native import library
from dpdl.privacy.noise import Randomness, Reproducible, Secure

STD = 0.25


Ways = dict[str, Callable[[], object]]


def measure(entries: int, repeats: int) -> dict[str, Any]:
    """Every way on a row of so many entries, ratios, and which kernels ran (2: AVX-512, 1: AVX2, 0: any other)."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # for the copy; noise has one thread anyway
    try:
        seconds = interleaved(ways(entries, Secure(), Reproducible(0)), repeats)
    finally:
        torch.set_num_threads(threads)
    found = library()
    return {
        **speeds(seconds, entries),
        "kernels": None if found is None else int(found.dpdl_machine()),
        "entries": entries,
        "repeats": repeats,
    }


def ways(entries: int, secure: Randomness, reproducible: Randomness) -> Ways:
    """What is timed, by name: both kinds of noise on rows of so many entries, and a copy."""
    single = torch.randn(entries, dtype=torch.float32)
    double = torch.randn(entries, dtype=torch.float64)
    return {
        "secure": _perturbing(secure, single),
        "secure_float64": _perturbing(secure, double),
        "reproducible": _perturbing(reproducible, single),
        "copy": _copying(single),
    }


def speeds(seconds: Mapping[str, float], entries: int) -> dict[str, Any]:
    """Nanoseconds a number, and ratios of them."""
    ns = {name: value / entries * 1e9 for name, value in seconds.items()}
    return {
        "ns_per_number": ns,
        "ratio_copy": {name: value / ns["copy"] for name, value in ns.items()},
        "ratio_reproducible": ns["secure"] / ns["reproducible"],
    }


def _perturbing(randomness: Randomness, row: torch.Tensor) -> Callable[[], object]:
    into = torch.empty_like(row)
    return lambda: randomness.perturb(row, STD, "noise", 1, 0, 1, into=into)


def _copying(row: torch.Tensor) -> Callable[[], object]:
    into = torch.empty_like(row)
    return lambda: into.copy_(row)
