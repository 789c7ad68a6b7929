"""What an algorithm lets out of an agent in a round, in words the accountant and a person understand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from dpdl.records import Record


@final
@dataclass(frozen=True)
class Release(Record):
    """One channel. Everything that passes the exit of `Net` on it must be what this says."""

    channel: str
    private: bool  # carries a Gaussian release of its own; otherwise computed from releases and from `carries`
    carries: str  # prose: what is in it
    sensitivity: float | None = None  # of a private one: how far one record moves it
    noise_multiplier: float | None = (
        None  # of a private one: deviation of the noise over the sensitivity
    )
