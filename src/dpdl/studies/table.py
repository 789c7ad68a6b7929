"""Many runs as one table: a row per algorithm, over its seeds."""

from __future__ import annotations

import csv
import io
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dpdl.experiment.experiment import Experiment
from dpdl.privacy.threats import threat


class FinishedRun(NamedTuple):
    """One run: what its summary says, or why there is none."""

    algorithm: str
    experiment: Experiment
    summary: Mapping[str, Any] | None
    error: str | None = None


def tabulate(results: Sequence[FinishedRun]) -> dict[str, Any]:
    """The table: best mean accuracy first, and last the algorithms of which no run has finished."""
    names = dict.fromkeys(result.algorithm for result in results)
    rows = [
        _row(name, [result for result in results if result.algorithm == name])
        for name in names
    ]
    rows.sort(key=lambda row: -row["accuracy"]["mean"] if row["seeds"] else 1)
    ranks = iter(range(1, len(rows) + 1))
    e = results[0].experiment
    noises = {
        r.experiment.noise
        for r in results
        if r.experiment.noise != "none" and r.experiment.sigma is None
    }
    return {
        "rows": [
            {**row, "rank": next(ranks) if row["seeds"] else None} for row in rows
        ],
        "dataset": e.dataset,
        "graph": e.graph,
        "agents": next((r.summary["agents"] for r in results if r.summary), e.agents),
        "delta": e.delta,
        "threat": e.threat,
        "noise": " ".join(sorted(noises)) or None,
    }


def _row(name: str, results: Sequence[FinishedRun]) -> dict[str, Any]:
    ended = [result for result in results if result.summary is not None]
    found = [result.summary for result in ended if result.summary is not None]
    accuracy = [s["accuracy"] for s in found]
    means = {
        k: _mean([s[k] for s in found])
        for k in ("train_loss", "consensus_distance", "sigma", "seconds")
    }
    epsilon = {
        key: _largest([s["epsilon"][key] for s in found])
        for key in (found[0]["epsilon"] if found else ())
    }
    return {
        "algorithm": name,
        "rank": None,
        "accuracy": {
            **_over_seeds([a["mean"] for a in accuracy]),
            "worst": min((a["worst"] for a in accuracy), default=None),
        },
        "average_model": _over_seeds([a["average_model"] for a in accuracy]),
        **means,
        "bytes_sent": max((s["bytes_sent"] for s in found), default=None),
        "rounds": min((s["rounds"] for s in found), default=None),
        "epsilon": epsilon,
        "proven": isinstance(
            epsilon.get(threat(results[0].experiment.threat).key), float
        ),
        "seeds": [s["seed"] for s in found],
        "stopped": [
            {
                "seed": r.experiment.seed,
                "rounds": s["rounds"],
                "asked": r.experiment.rounds,
            }
            for r, s in zip(ended, found, strict=True)
            if s["rounds"] < r.experiment.rounds
        ],
        "failed": [
            {"seed": r.experiment.seed, "error": r.error}
            for r in results
            if r.summary is None
        ],
    }


def _over_seeds(values: Sequence[float]) -> dict[str, float | None]:
    """Mean, and standard deviation over the seeds; one seed has none."""
    return {
        "mean": _mean(values),
        "spread": statistics.stdev(values) if len(values) > 1 else None,
    }


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def _largest(values: Sequence[float | str | None]) -> float | str | None:
    """The largest epsilon; one that is unbounded or missing decides."""
    words = [value for value in values if not isinstance(value, float)]
    return (
        words[0]
        if words
        else max(value for value in values if isinstance(value, float))
    )


def as_csv(table: Mapping[str, Any]) -> str:
    """The rows of a table, one line each; parts of a value have columns of their own."""
    lines = [
        {
            f"{k}_{part}" if part else k: v
            for k, value in row.items()
            for part, v in _parts(value)
        }
        for row in table["rows"]
    ]
    names = list(dict.fromkeys(name for line in lines for name in line))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()


def _parts(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, list):
        return [
            (
                "",
                " ".join(
                    str(item["seed"] if isinstance(item, Mapping) else item)
                    for item in value
                ),
            )
        ]
    return [("", value)]
