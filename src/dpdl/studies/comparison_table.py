"""`table.json` of a comparison: a row per algorithm, over its seeds."""

from __future__ import annotations

import csv
import io
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self, final

from dpdl.experiment.experiment import Experiment
from dpdl.folder.summary import Summary
from dpdl.planning.noise_rule import rule_of
from dpdl.privacy.epsilon import UNKNOWN, Epsilon
from dpdl.privacy.threats import threat
from dpdl.records import Json, JsonObject, Record, absent, key
from dpdl.studies.better_score import lower_is_better, order
from dpdl.studies.comparison_request import Comparison, Equal, LrFrom
from dpdl.studies.study_cards import of_comparison

NOTHING: Mapping[str, LrFrom | None] = {}
ACCURACY = "accuracy"
"""The name of the score in rows of which no run has finished."""


# ------------------------------------------------------------------ what is written
@final
@dataclass(frozen=True)
class OverSeeds(Record):
    """Mean, and standard deviation over the seeds; None: too few runs have finished."""

    mean: float | None
    spread: float | None


@final
@dataclass(frozen=True)
class ScoreOverSeeds(Record):
    """The mean over agents and seeds, its deviation over seeds, and the worst agent of all."""

    name: str  # of the score, such as `accuracy`
    mean: float | None
    spread: float | None
    worst: float | None


@final
@dataclass(frozen=True)
class StoppedRun(Record):
    """A run that ended before its last round: its budget was spent, or `why`."""

    seed: int
    rounds: int
    asked: int
    why: str | None = absent()  # of a rule


@final
@dataclass(frozen=True)
class FailedRun(Record):
    """A run without a result."""

    seed: int
    error: str | None


@final
@dataclass(frozen=True)
class ComparisonRow(Record):
    """All runs of one algorithm.

    Means over the seeds; of bytes and epsilon the largest, of rounds the fewest. Without a finished
    run, numbers are None.
    """

    algorithm: str
    rank: int | None  # from 1, by mean score; None: no run has finished
    score: ScoreOverSeeds  # in JSON under its name, such as `accuracy`
    average_model: OverSeeds
    train_loss: float | None
    consensus_distance: float | None
    sigma: float | None
    seconds: float | None
    bytes_sent: int | None
    rounds: int | None
    epsilon: Mapping[str, Epsilon]
    proven: bool  # whether epsilon is bounded against the threat of the comparison
    seeds: tuple[int, ...]  # of finished runs
    stopped: tuple[StoppedRun, ...]
    failed: tuple[FailedRun, ...]
    lr: float | None = None  # the step size; None: the algorithm has none
    lr_from: LrFrom | None = None  # None: unknown, in a folder of an older version

    def to_json(self) -> JsonObject:
        """As `json.dumps` takes it."""
        found: JsonObject = {}
        for name, value in super().to_json().items():
            if name == "score" and isinstance(value, dict):
                found[str(value.pop("name"))] = value
            else:
                found[name] = value
        return found

    @classmethod
    def from_json(cls, content: Json, where: str = "") -> Self:
        """What `to_json` wrote."""
        if not isinstance(content, dict):
            return super().from_json(content, where)
        found: JsonObject = {}
        for name, value in content.items():
            if isinstance(value, dict) and set(value) == {"mean", "spread", "worst"}:
                found["score"] = {"name": name, **value}
            else:
                found[name] = value
        return super().from_json(found, where)


@final
@dataclass(frozen=True, kw_only=True)
class ComparisonTable(Record):
    """The result of a comparison; rows are sorted by mean score, best first."""

    rows: tuple[ComparisonRow, ...]
    dataset: str
    graph: str
    agents: int
    delta: float
    threat: str
    noise: str | None  # the rules that set sigma; None: no rule did
    equal: Equal
    megabytes: float | None = key("bytes")
    out: str

    def _repr_html_(self) -> str:
        return of_comparison(self)


# ------------------------------------------------------------------ how it is computed
@final
@dataclass(frozen=True)
class ComparedRun:
    """One run: its summary, or why there is none."""

    algorithm: str
    experiment: Experiment
    summary: Summary | None
    error: str | None = None


def tabulate(
    runs: Sequence[ComparedRun],
    comparison: Comparison,
    out: str,
    lr_from: Mapping[str, LrFrom | None] = NOTHING,
) -> ComparisonTable:
    """The table of a comparison's runs.

    Best mean score first, and last the algorithms of which no run has finished. `lr_from` says
    where step sizes are from, by algorithm.
    """
    e = runs[0].experiment
    found = _summaries(runs)
    score = found[0].score.name if found else ACCURACY
    lower = lower_is_better(e, score)
    by_algorithm: dict[str, list[ComparedRun]] = {}
    for run in runs:
        by_algorithm.setdefault(run.algorithm, []).append(run)
    rows = [
        replace(_row(name, some, score, lower), lr_from=lr_from.get(name))
        for name, some in by_algorithm.items()
    ]
    rules = {rule_of(run.experiment) for run in runs}
    return ComparisonTable(
        rows=_ranked(rows, lower),
        dataset=e.dataset,
        graph=e.graph,
        agents=found[0].agents if found else e.agents,
        delta=e.delta,
        threat=e.threat,
        noise=" ".join(sorted(filter(None, rules))) or None,
        equal=comparison.equal,
        megabytes=comparison.megabytes,
        out=out,
    )


def _summaries(runs: Sequence[ComparedRun]) -> list[Summary]:
    return [run.summary for run in runs if run.summary is not None]


def _ranked(rows: Sequence[ComparisonRow], lower: bool) -> tuple[ComparisonRow, ...]:
    finished = [row for row in rows if row.seeds]
    finished.sort(key=lambda row: order(row.score.mean, lower))
    ranked = [replace(row, rank=rank) for rank, row in enumerate(finished, 1)]
    return (*ranked, *(row for row in rows if not row.seeds))


def _row(
    name: str, runs: Sequence[ComparedRun], score: str, lower: bool
) -> ComparisonRow:
    found = _summaries(runs)
    worst = [s.score.worst for s in found]
    means = _over_seeds([s.score.mean for s in found])
    listener = threat(runs[0].experiment.threat)
    epsilon = _epsilons(found)
    return ComparisonRow(
        algorithm=name,
        rank=None,
        score=ScoreOverSeeds(
            score,
            means.mean,
            means.spread,
            (max if lower else min)(worst, default=None),
        ),
        average_model=_over_seeds([s.score.average_model for s in found]),
        train_loss=_mean([s.train_loss for s in found]),
        consensus_distance=_mean([s.consensus_distance for s in found]),
        sigma=_mean([s.sigma for s in found]),
        seconds=_mean([s.seconds for s in found]),
        bytes_sent=max((s.bytes_sent for s in found), default=None),
        rounds=min((s.rounds for s in found), default=None),
        epsilon=epsilon,
        proven=epsilon.get(listener.key, UNKNOWN).bounded,
        seeds=tuple(s.seed for s in found),
        stopped=_stopped(runs),
        failed=_failed(runs),
        lr=_lr(runs[0].experiment),
    )


def _lr(e: Experiment) -> float | None:
    found = e.options.get("lr")
    return float(found) if isinstance(found, int | float) else None


def _stopped(runs: Sequence[ComparedRun]) -> tuple[StoppedRun, ...]:
    found = []
    for run in runs:
        seed, asked = run.experiment.seed, run.experiment.rounds
        if run.summary is not None and run.summary.rounds < asked:
            why = run.summary.ended_early
            found.append(StoppedRun(seed, run.summary.rounds, asked, why))
    return tuple(found)


def _failed(runs: Sequence[ComparedRun]) -> tuple[FailedRun, ...]:
    without = [run for run in runs if run.summary is None]
    return tuple(FailedRun(run.experiment.seed, run.error) for run in without)


def _over_seeds(values: Sequence[float]) -> OverSeeds:
    spread = statistics.stdev(values) if len(values) > 1 else None
    return OverSeeds(_mean(values), spread)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def _epsilons(found: Sequence[Summary]) -> dict[str, Epsilon]:
    """The largest epsilon of each kind that all summaries have."""
    every = [dict(summary.epsilon.items()) for summary in found]
    kinds = every[0] if every else {}
    return {kind: largest([one[kind] for one in every]) for kind in kinds}


def largest(epsilons: Sequence[Epsilon]) -> Epsilon:
    """The largest epsilon; the first that is no number decides, if there is one."""
    for epsilon in epsilons:
        if not epsilon.bounded:
            return epsilon
    return Epsilon(max(one.finite or 0.0 for one in epsilons))


# ------------------------------------------------------------------ as a spreadsheet
def as_csv(table: ComparisonTable) -> str:
    """The rows of a table, one line each; parts of a value have columns of their own."""
    lines = [_columns(row.to_json()) for row in table.rows]
    names = list(dict.fromkeys(name for line in lines for name in line))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()


def _columns(row: JsonObject) -> JsonObject:
    columns: JsonObject = {}
    for name, value in row.items():
        if isinstance(value, dict):
            columns |= {f"{name}_{part}": one for part, one in value.items()}
        elif isinstance(value, list):
            columns[name] = " ".join(map(_seed, value))
        else:
            columns[name] = value
    return columns


def _seed(item: Json) -> str:
    """A seed, or the seed of a run."""
    return str(item["seed"] if isinstance(item, dict) else item)
