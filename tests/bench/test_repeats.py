"""Repeats are interleaved, and medians are reported."""

from __future__ import annotations

from collections.abc import Callable

from dpdl.bench.repeats import interleaved


def test_repeats_are_interleaved_and_the_first_is_not_counted() -> None:
    """By a clock of its own: a call takes 100 s if it is the first, else 1 s (a) or 2 s (b)."""
    order: list[str] = []
    now = [0.0]

    def way(name: str, seconds: float) -> Callable[[], None]:
        def call() -> None:
            now[0] += seconds if name in order else 100.0
            order.append(name)

        return call

    ways = {"a": way("a", 1.0), "b": way("b", 2.0)}
    found = interleaved(ways, 1, clock=lambda: now[0])
    assert "".join(order) == "abab"
    assert found == {"a": 1.0, "b": 2.0}


def test_the_median_is_reported() -> None:
    now = [0.0]
    times = iter([100.0, 3.0, 50.0, 4.0])

    def way() -> None:
        now[0] += next(times)

    assert interleaved({"a": way}, 3, clock=lambda: now[0]) == {"a": 4.0}
