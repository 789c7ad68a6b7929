"""Scores by name: how good a model's outputs are, record by record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from torch import Tensor

from dpdl.errors import InputError, unknown
from dpdl.objects import cause, load_object

RecordScore = Callable[[Tensor, Tensor], Tensor]
"""Outputs and targets of some records -> a number for each."""


@final
@dataclass(frozen=True)
class Score:
    """A number for every record; a model's score is their mean."""

    name: str  # as it appears in metrics, for instance `accuracy`
    of_records: RecordScore
    lower_is_better: bool = False
    percent: bool = False  # people read it in percent

    def total(self, outputs: Tensor, targets: Tensor) -> float:
        """The sum over some records."""
        values = self.of_records(outputs, targets)
        if values.shape != (len(outputs),):
            raise InputError(
                f"Score {self.name!r} must return one number per record, shape "
                f"({len(outputs)},), not {tuple(values.shape)}."
            )
        return float(values.double().sum())

    def show(self, value: float) -> str:
        """For people."""
        return f"{value:.2%}" if self.percent else f"{value:.4g}"


def _right(outputs: Tensor, targets: Tensor) -> Tensor:
    return outputs.argmax(1) == targets


def _right_labels(outputs: Tensor, targets: Tensor) -> Tensor:
    return ((outputs > 0) == (targets > 0)).double().mean(1)


def _squared_error(outputs: Tensor, targets: Tensor) -> Tensor:
    return (outputs - targets).double().square().mean(1)


ACCURACY = Score("accuracy", _right, percent=True)
SCORES: dict[str, Score] = {
    "accuracy": ACCURACY,
    "label-accuracy": Score("label_accuracy", _right_labels, percent=True),
    "squared-error": Score("squared_error", _squared_error, lower_is_better=True),
}


def score_of(name: str) -> Score:
    """The score of a name, or of the user's own `module:function`, see `as_score`."""
    if ":" not in name:
        if name not in SCORES:
            raise unknown("score", name, SCORES, also="or your own module:function")
        return SCORES[name]
    return as_score(load_object(name, "score"))


def as_score(own: Score | RecordScore) -> Score:
    """A score, or a function as one: it returns one number per record.

    Higher is better, unless the function has an attribute `lower_is_better` that is true.
    """
    if isinstance(own, Score):
        return own
    name = getattr(own, "__name__", type(own).__name__)

    def of_records(outputs: Tensor, targets: Tensor) -> Tensor:
        try:
            return own(outputs, targets)
        except Exception as error:
            raise InputError(f"The score {name!r} failed: {cause(error)}.") from error

    return Score(name, of_records, bool(getattr(own, "lower_is_better", False)))
