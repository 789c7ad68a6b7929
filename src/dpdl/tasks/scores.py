"""Scores by name: how good a model's outputs are, record by record."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from torch import Tensor

from dpdl.errors import Diverged, InputError, unknown
from dpdl.objects import cause, load_object

RecordScore = Callable[[Tensor, Tensor], Tensor]
"""Outputs and targets of some records -> a number for each."""

IN_METRICS = (
    "round",
    "train_loss",
    "consensus_distance",
    "clip_fraction",
    "gradient_norm",
    "cosine",
    "coefficient",
    "epsilon",
    "bytes_sent",
    "broken_gradients",
    "seconds",
)
IN_SUMMARY = (
    "format",
    "ended_early",
    "algorithm",
    "dataset",
    "model",
    "graph",
    "agents",
    "rounds",
    "seed",
    "parameters",
    "sigma",
    "delta",
    "epsilon_note",
    "privacy_statement",
    "records",
    "gradient_path",
    "run_dir",
    "versions",
    "ledger_head",
)
TAKEN = frozenset({*IN_METRICS, *IN_SUMMARY})
"""Keys that metrics and summaries have already, so no score may have them for a name."""


@final
@dataclass(frozen=True)
class Score:
    """A number for every record; a model's score is their mean.

    The name is a key in metrics and summaries, for instance `accuracy`: a Python identifier that is
    not taken.
    """

    name: str
    of_records: RecordScore
    lower_is_better: bool = False
    percent: bool = False  # people read it in percent

    def __post_init__(self) -> None:
        if not self.name.isidentifier() or self.name in TAKEN:
            raise InputError(
                f"A score cannot be named {self.name!r}: its name is a key in metrics, so it must "
                "be a Python identifier that metrics and summaries do not have yet."
            )

    def total(self, outputs: Tensor, targets: Tensor) -> float:
        """The sum over some records."""
        try:
            values = self.of_records(outputs, targets)
        except Exception as error:
            raise InputError(
                f"The score {self.name!r} failed: {cause(error)}."
            ) from error
        self._check(values, len(outputs))
        total = float(values.double().sum())
        if not math.isfinite(total):
            raise self._not_finite(outputs)
        return total

    def show(self, value: float) -> str:
        """The value as people read it."""
        return f"{value:.2%}" if self.percent else f"{value:.4g}"

    def _check(self, values: object, records: int) -> None:
        expected = f"The score {self.name!r} must return one number per record"
        if not isinstance(values, Tensor):
            raise InputError(f"{expected}, a tensor, not {type(values).__name__}.")
        if values.shape != (records,):
            shape = tuple(values.shape)
            raise InputError(f"{expected}, shape ({records},), not {shape}.")
        if values.is_complex():
            raise InputError(f"{expected}, not {values.dtype}.")

    def _not_finite(self, outputs: Tensor) -> Diverged | InputError:
        if not outputs.isfinite().all():
            return Diverged(
                "Training diverged: a model's outputs are no longer finite; choose a smaller lr."
            )
        return InputError(
            f"The score {self.name!r} is not finite for some records; it must be a number for each."
        )


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
    """The score of this name, or of the user's own `module:function`, see `as_score`."""
    if ":" not in name:
        if name not in SCORES:
            raise unknown("score", name, SCORES, also="or your own module:function")
        return SCORES[name]
    return as_score(load_object(name, "score"))


def as_score(own: Score | RecordScore) -> Score:
    """The score itself, or a function as a score: it returns one number per record.

    Higher is better, unless the function has an attribute `lower_is_better` that is true.
    """
    if isinstance(own, Score):
        return own
    name = getattr(own, "__name__", type(own).__name__)
    return Score(name, own, bool(getattr(own, "lower_is_better", False)))
