"""Small studies, for tests of what is made of them."""

from __future__ import annotations

from collections.abc import Sequence

from dpdl.folder.calibration_study import (
    CosineLine,
    StudyLine,
    StudySeed,
    StudySetting,
)


def setting(epsilon: float | None = 2.0, **changed) -> StudySetting:
    given = {"task": "mnist-linear", "graph": "ring", "agents": 10, "alpha_d": 0.05}
    return StudySetting(
        **{**given, "batch": 128, "epsilon": epsilon, "rounds": 40, **changed}
    )


def line(s: StudySetting, algorithm: str, tests: Sequence[float]) -> StudyLine:
    """An algorithm with these test scores; the average model is a point better."""
    sigma = 0.0 if s.epsilon is None else 1.5
    seen = (0.2, 0.45) if algorithm == "dpdl-sound" else (None, None)
    seeds = [
        StudySeed(k, test, test + 0.01, sigma, s.epsilon, *seen)
        for k, test in enumerate(tests)
    ]
    return StudyLine(s, algorithm, 1, {"0": 0.4, "1": 0.5, "2": 0.4}, tuple(seeds))


def study(
    scores: dict[StudySetting, dict[str, Sequence[float]]],
) -> dict[StudySetting, dict[str, StudyLine]]:
    return {
        s: {name: line(s, name, tests) for name, tests in algorithms.items()}
        for s, algorithms in scores.items()
    }


def cosine(sigma: float, clean: float = 0.4, noisy: float = 0.2) -> CosineLine:
    """One round in which the squared length is 0.25, d is 100 and B is 10."""
    at = ("mnist-linear", 0.25, 10, sigma, 100, 20)
    return CosineLine(*at, clean, 0.4, 0.25, noisy, 0.45, 0.5)
