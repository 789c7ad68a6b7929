"""A forecast divides the work by the number of jobs."""

from __future__ import annotations

from dpdl.studies.reproduce.forecast import Beginning, Forecast

FORECAST = Forecast({"a": 90.4, "b": 29.6}, jobs=2)


def test_time_is_shared_by_the_jobs() -> None:
    assert FORECAST.total == 60.0 and Forecast({}, jobs=2).total == 0.0
    assert Beginning(FORECAST).untuned == 0


def test_it_is_printed_in_whole_seconds_and_tenths_of_minutes() -> None:
    found = FORECAST.printed()
    assert [(run.name, run.seconds) for run in found.runs] == [("a", 90), ("b", 30)]
    assert (found.minutes, found.jobs) == (1.0, 2)
    assert Forecast({"a": 100.0}, 1).printed().minutes == 1.7
