"""Interleaved repeats and medians."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping


def interleaved(
    ways: Mapping[str, Callable[[], object]],
    repeats: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Median seconds of every way.

    Each repeat times all ways in turn; one repeat before the others is not counted.
    """
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for repeat in range(repeats + 1):
        for name, way in ways.items():
            began = clock()
            way()
            if repeat:
                seconds[name].append(clock() - began)
    return {name: statistics.median(values) for name, values in seconds.items()}
