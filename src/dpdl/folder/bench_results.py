"""What benchmarks measured: what `dpdl bench` prints, and the lines of its history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from dpdl.records import Json, Record, absent, others


@final
@dataclass(frozen=True)
class GradientSpeeds(Record):
    """Sums of clipped per-sample gradients of LeNet; None: that way is not available here."""

    us_per_sample: Mapping[str, float | None]  # by way, the better of its two variants
    ratio_opacus: float | None  # time of Opacus over ours
    ratio_plain_backward: float | None
    ratio_torch_func: float | None
    peak_share: float | None  # useful operations of ours over those of a matrix product
    peak_gflops: float  # of a matrix product
    by_way: Mapping[str, float]  # microseconds per sample of every variant
    multiply_adds: int  # of one sample's gradient
    batch: int
    pairs: int
    repeats: int
    cores: int


@final
@dataclass(frozen=True)
class NoiseSpeeds(Record):
    """Noise on one row, on one thread, beside a plain copy of the row."""

    ns_per_number: Mapping[str, float]
    ratio_copy: Mapping[str, float]  # over the time of a copy
    ratio_reproducible: float  # secure over reproducible
    kernels: int | None  # 2: AVX-512, 1: AVX2, 0: any other; None: not compiled
    entries: int
    repeats: int


@final
@dataclass(frozen=True)
class Startup(Record):
    """Seconds until a command has answered."""

    help: float
    plan: float
    seconds: Mapping[str, float] | None = (
        absent()
    )  # by command; the oldest lines have none
    seconds_old: Mapping[str, float] | None = absent()  # in an older checkout


# ------------------------------------------------------------------ rounds
@dataclass(frozen=True)
class Workload(Record):
    """Rounds that are timed."""

    algorithm: str
    graph: str
    agents: int
    model: str = "lenet"
    batch: int = 216
    rounds: int = 5


@final
@dataclass(frozen=True)
class TimeShares(Record):
    """Where the time of a round goes."""

    gradients: float
    noise: float
    exchange: float
    other: float
    secrets: float | None = (
        absent()
    )  # noise that pairs of agents share; the oldest lines have none


@final
@dataclass(frozen=True, kw_only=True)
class RoundCost(Workload):
    """What a round costs; gradients and noise are added up over the cores."""

    seconds_per_round: float
    share: TimeShares
    evaluation_seconds_per_agent: float | None = absent()  # not in the oldest lines
    peak_memory_mb: float
    gradient_path: str  # `fused` or `plain`
    edges: int  # with self-loops


@final
@dataclass(frozen=True)
class RoundCosts(Record):
    """Several workloads, and the ratios that targets are about, as far as they were measured."""

    rows: tuple[RoundCost, ...]
    complete_30_over_10: float | None = absent()
    overhead_bipartite_10: float | None = absent()


# ------------------------------------------------------------------ two checkouts
@final
@dataclass(frozen=True)
class SpeedRatio(Record):
    """One number of a benchmark in an older checkout and in this one: medians of all repeats."""

    bench: str
    what: str
    unit: str
    old: float
    new: float
    ratio: float  # median over the repeats of old / new; above 1: this one is better


@final
@dataclass(frozen=True)
class CheckoutRatios(Record):
    """Two checkouts, measured in turn."""

    old: str  # their folders
    new: str
    repeats: int
    rows: tuple[SpeedRatio, ...]


# ------------------------------------------------------------------ history
@final
@dataclass(frozen=True)
class HistoryLine(Record):
    """One benchmark: when and where it ran, and what it measured."""

    when: str
    bench: str
    processor: str
    versions: Mapping[str, str]
    measured: Mapping[str, Json] = others()
