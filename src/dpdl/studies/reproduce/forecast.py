"""What would be run, what is about to be run, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, NamedTuple, TypeVar

from dpdl.studies.pool_messages import Ending
from dpdl.studies.reproduce.printed import ForecastRun, PrintedForecast

Printed = TypeVar("Printed")


class Forecast(NamedTuple):
    """What would be run, and how long each run should take on one core."""

    seconds: dict[str, float]  # name of a run -> seconds
    jobs: int  # runs, or processes of one, at the same time

    @property
    def total(self) -> float:
        """Seconds until all of it is done."""
        return sum(self.seconds.values()) / self.jobs

    def printed(self) -> PrintedForecast:
        """In whole seconds, for JSON."""
        runs = tuple(ForecastRun(name, round(s)) for name, s in self.seconds.items())
        return PrintedForecast(runs, round(self.total / 60, 1), self.jobs)


class Beginning(NamedTuple):
    """What is about to be run."""

    forecast: Forecast
    untuned: int = 0  # runs of algorithms for which no step size was searched


class Reproduced(NamedTuple, Generic[Printed]):
    """What there is now, and how the runs of this time ended."""

    facts: Printed
    endings: Mapping[str, Ending]


Announce = Callable[[Beginning], None]
"""Called before the first run, if there is one."""
