"""Which of two scores is better: it depends on the score that an experiment has."""

from __future__ import annotations

from dpdl.experiment.experiment import Experiment


def lower_is_better(e: Experiment, name: str) -> bool:
    """Whether a lower value of the score that runs call by this name is better.

    Without the option `score`, the data decide which of the scores with a name it is.
    """
    from dpdl.tasks.scores import SCORES, score_of

    if e.score is not None:
        return score_of(e.score).lower_is_better
    return any(one.name == name and one.lower_is_better for one in SCORES.values())


def order(score: float | None, lower: bool) -> float:
    """A number to sort by, best first; a score that is missing comes last."""
    if score is None:
        return float("inf")
    return score if lower else -score
