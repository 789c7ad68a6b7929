"""The curves of a run as columns of numbers, and which of them an epsilon covers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, final

from dpdl.folder.metrics import Metrics
from dpdl.records import Json

Number = float | int | None


class Column(NamedTuple):
    """One number of every evaluated round."""

    of: Callable[[Metrics], Number]
    covered: (
        bool  # computed from what was released; a score only if its records are public
    )


def _diagnostic(name: str) -> Callable[[Metrics], Number]:
    return lambda m: m.diagnostics.get(name)


SCORES = ("score", "score_worst", "score_best", "score_average")
COLUMNS: Mapping[str, Column] = {
    "round": Column(lambda m: m.round, True),
    "score": Column(lambda m: m.score.mean, True),
    "score_worst": Column(lambda m: m.score.worst, True),
    "score_best": Column(lambda m: m.score.best, True),
    "score_average": Column(lambda m: m.score.average_model, True),
    "distance": Column(lambda m: m.consensus_distance, True),
    "epsilon": Column(lambda m: m.epsilon.finite, True),
    "bytes": Column(lambda m: m.bytes_sent, True),
    "loss": Column(lambda m: m.train_loss.mean, False),
    "loss_min": Column(lambda m: m.train_loss.min, False),
    "loss_max": Column(lambda m: m.train_loss.max, False),
    "clip": Column(_diagnostic("clip_fraction"), False),
    "signal": Column(_diagnostic("gradient_norm"), False),
    "broken": Column(lambda m: m.broken_gradients, False),
    "seconds": Column(lambda m: m.seconds, False),
}
"""`seconds` are not covered: a larger batch takes longer, and its size is private."""


def covered(tested_in_private: bool) -> dict[str, bool]:
    """Which columns an epsilon covers, where models are tested on private records or are not."""
    return {
        name: column.covered and not (tested_in_private and name in SCORES)
        for name, column in COLUMNS.items()
    }


@final
class Table:
    """Columns that grow by a line at a time."""

    def __init__(self) -> None:
        self.columns: dict[str, list[Number]] = {name: [] for name in COLUMNS}
        self.last: Metrics | None = None

    def __len__(self) -> int:
        return len(self.columns["round"])

    def add(self, metrics: Metrics) -> None:
        """Enter an evaluated round."""
        for name, column in COLUMNS.items():
            self.columns[name].append(_short(column.of(metrics)))
        self.last = metrics

    def since(self, count: int, names: Mapping[str, bool]) -> dict[str, Json]:
        """What was entered after the first `count` rounds, in the columns that are true."""
        return {
            name: list(column[count:])
            for name, column in self.columns.items()
            if names[name]
        }


def _short(value: Number) -> Number:
    """Six digits: a curve shows no more, and a page asks for thousands of them."""
    return float(f"{value:.6g}") if isinstance(value, float) else value
