"""Results of cells.

One small JSON file per cell and mode, with one value and one curve per seed.
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.folder import names
from dpdl.folder.files import write
from dpdl.paper.cells import Cell, claim, published
from dpdl.studies.reproduce.curves import curve_of
from dpdl.studies.reproduce.recipes import MODES

FORMAT = 1
ACCURACY = (
    "test accuracy in percent of the average of all agents' models after the last round"
)
CellResult = dict[str, Any]
Metrics = Sequence[Mapping[str, Any]]


def path_of(out: Path, cell: Cell, mode: str) -> Path:
    """Where a cell's result is."""
    return out / mode / names.result_of(cell.name)


def read(out: Path, cell: Cell, mode: str) -> CellResult | None:
    """A cell's result; None when nothing was measured."""
    path = path_of(out, cell, mode)
    try:
        found: CellResult = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as failure:
        raise InputError(
            f"Result {str(path)!r} cannot be read: {failure}."
        ) from failure
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise InputError(
            f"Result {str(path)!r} was written by another version of dpdl; move it, or "
            "choose another --out."
        )
    return found


def add(
    out: Path,
    cell: Cell,
    mode: str,
    e: Experiment,
    summary: Mapping[str, Any],
    commit: str | None,
    metrics: Metrics = (),
) -> CellResult:
    """Enter one seed's run into its cell's result, with its curve if there are metrics."""
    settings = {name: value for name, value in e.as_dict().items() if name != "seed"}
    found = read(out, cell, mode) or {}
    refuse_other(out, cell, mode, e)
    runs = {**found.get("runs", {}), str(e.seed): _run(summary, commit, metrics)}
    runs = dict(sorted(runs.items(), key=lambda item: int(item[0])))
    values = [run["accuracy"] for run in runs.values()]
    paper = claim(cell)
    result = {
        "format": FORMAT,
        **cell._asdict(),
        "mode": mode,
        "ours": round(statistics.fmean(values), 2),
        "spread": round(statistics.stdev(values), 2) if len(values) > 1 else None,
        "paper": paper.accuracy,
        "paper_spread": paper.spread,
        "paper_algorithm": cell.algorithm if cell in published() else "dpdl",
        "guarantee": MODES[mode],
        "accuracy": ACCURACY,
        "runs": runs,
        "settings": settings,
        **({"note": found["note"]} if "note" in found else {}),  # written by a person
    }
    _write(path_of(out, cell, mode), result)
    return result


def add_curve(
    out: Path,
    cell: Cell,
    mode: str,
    seed: str,
    summary: Mapping[str, Any],
    metrics: Metrics,
) -> None:
    """Enter the curve of a run that is in its cell's result without one, if it is that run."""
    found = read(out, cell, mode)
    before = found["runs"].get(seed) if found else None
    if found and before and before == _run(summary, before["commit"], ()):
        found["runs"][seed] = _run(summary, before["commit"], metrics)
        _write(path_of(out, cell, mode), found)


def _write(path: Path, result: CellResult) -> None:
    """Every list of numbers on one line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(result, indent=2, allow_nan=False)
    text = re.sub(
        r"\[\n([^][{}\"]*)\]", lambda numbers: f"[{' '.join(numbers[1].split())}]", text
    )
    write(path, (text + "\n").encode())


def refuse_other(out: Path, cell: Cell, mode: str, e: Experiment) -> None:
    """Seeds of one cell must have the same settings."""
    if name := other_setting(out, cell, mode, e):
        found = read(out, cell, mode) or {}
        raise InputError(
            f"Result {str(path_of(out, cell, mode))!r} was measured with {name} = "
            f"{found['settings'][name]!r}, the recipe now has {e.as_dict()[name]!r}; "
            "move the file away to measure it anew."
        )


def other_setting(out: Path, cell: Cell, mode: str, e: Experiment) -> str | None:
    """The first setting that a cell was not measured with.

    None when all are the same, or nothing was measured.
    """
    before = (read(out, cell, mode) or {"settings": {}})["settings"]
    differ = (
        name
        for name, value in e.as_dict().items()
        if name != "seed" and before.get(name, value) != value
    )
    return next(differ, None)


def _run(
    summary: Mapping[str, Any], commit: str | None, metrics: Metrics
) -> dict[str, Any]:
    accuracy, curve = summary["accuracy"], curve_of(metrics)
    run = {
        "accuracy": round(100 * accuracy["average_model"], 2),
        "agents_mean": round(100 * accuracy["mean"], 2),
        "agents_worst": round(100 * accuracy["worst"], 2),
        "sigma": summary["sigma"],
        "epsilon": summary["epsilon"],
        "seconds": round(summary["seconds"], 1),
        "versions": summary["versions"],
        "commit": commit,
    }
    return run if curve is None else {**run, "curve": curve}
