"""What leaves an agent in a round, for the accountant and for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from dpdl.records import Record


@final
@dataclass(frozen=True)
class Release(Record):
    """One channel. Everything that passes the exit of `Net` on it must be what this says."""

    channel: str
    private: bool  # has a Gaussian release of its own; otherwise computed from releases
    carries: str  # prose: what is in it
    # Of a private one: how far one record moves it, and the deviation of the noise over that.
    sensitivity: float | None = None
    noise_multiplier: float | None = None
