"""Nanoseconds per number: noise of both kinds, beside a plain copy of the row.

One row, one thread, as in a round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch

from dpdl.bench.repeats import interleaved
from dpdl.folder.bench_results import NoiseSpeeds
from dpdl.native import library
from dpdl.privacy.noise import Randomness, Reproducible, Secure

STD = 0.25
COPY = "copy"
SECURE = "secure"
REPRODUCIBLE = "reproducible"
Ways = dict[str, Callable[[], object]]


def measure_noise(entries: int, repeats: int) -> NoiseSpeeds:
    """Every way on a row of so many entries, ratios, and which kernels ran."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # for the copy; noise has one thread anyway
    try:
        seconds = interleaved(ways(entries, Secure(), Reproducible(0)), repeats)
    finally:
        torch.set_num_threads(threads)
    return noise_speeds(seconds, entries, repeats, _kernels())


def ways(entries: int, secure: Randomness, reproducible: Randomness) -> Ways:
    """What is timed, by name: both kinds of noise on rows of so many entries, and a copy."""
    single = torch.randn(entries, dtype=torch.float32)
    double = torch.randn(entries, dtype=torch.float64)
    return {
        SECURE: _perturbing(secure, single),
        "secure_float64": _perturbing(secure, double),
        REPRODUCIBLE: _perturbing(reproducible, single),
        COPY: _copying(single),
    }


def noise_speeds(
    seconds: Mapping[str, float], entries: int, repeats: int, kernels: int | None
) -> NoiseSpeeds:
    """Nanoseconds per number, and their ratios."""
    ns = {name: value / entries * 1e9 for name, value in seconds.items()}
    return NoiseSpeeds(
        ns_per_number=ns,
        ratio_copy={name: value / ns[COPY] for name, value in ns.items()},
        ratio_reproducible=ns[SECURE] / ns[REPRODUCIBLE],
        kernels=kernels,
        entries=entries,
        repeats=repeats,
    )


def _kernels() -> int | None:
    found = library()
    return None if found is None else int(found.dpdl_machine())


def _perturbing(randomness: Randomness, row: torch.Tensor) -> Callable[[], object]:
    into = torch.empty_like(row)
    return lambda: randomness.perturb(row, STD, "noise", 1, 0, 1, into=into)


def _copying(row: torch.Tensor) -> Callable[[], object]:
    into = torch.empty_like(row)
    return lambda: into.copy_(row)
