"""Results of cells: one small JSON file per cell and mode, with one value and one curve per seed."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dpdl.errors import InputError
from dpdl.paper.cells import Cell, claim, published, select
from dpdl.reproduce import attacks
from dpdl.reproduce.curves import curve_of
from dpdl.reproduce.recipes import BEYOND, MODES
from dpdl.run.experiment import Experiment
from dpdl.run.files import write

FORMAT = 1
ACCURACY = "test accuracy in percent of the average of all agents' models after the last round"
Result = dict[str, Any]
Metrics = Sequence[Mapping[str, Any]]


def path_of(out: Path, cell: Cell, mode: str) -> Path:
    """Where a cell's result is."""
    return out / mode / f"{cell.name}.json"


def read(out: Path, cell: Cell, mode: str) -> Result | None:
    """A cell's result; None when nothing was measured."""
    path = path_of(out, cell, mode)
    try:
        found: Result = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as failure:
        raise InputError(f"Result {str(path)!r} cannot be read: {failure}.") from failure
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise InputError(
            f"Result {str(path)!r} was written by another version of dpdl; move it, or choose another --out."
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
) -> Result:
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


def add_curve(out: Path, cell: Cell, mode: str, seed: str, summary: Mapping[str, Any], metrics: Metrics) -> None:
    """Enter the curve of a run that is in its cell's result without one, if it is that run."""
    found = read(out, cell, mode)
    before = found["runs"].get(seed) if found else None
    if found and before and before == _run(summary, before["commit"], ()):
        found["runs"][seed] = _run(summary, before["commit"], metrics)
        _write(path_of(out, cell, mode), found)


def _write(path: Path, result: Result) -> None:
    """Every list of numbers on one line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(result, indent=2, allow_nan=False)
    text = re.sub(r"\[\n([^][{}\"]*)\]", lambda numbers: f"[{' '.join(numbers[1].split())}]", text)
    write(path, (text + "\n").encode())


def refuse_other(out: Path, cell: Cell, mode: str, e: Experiment) -> None:
    """Seeds of one cell must have the same settings."""
    if name := other_setting(out, cell, mode, e):
        found = read(out, cell, mode) or {}
        raise InputError(
            f"Result {str(path_of(out, cell, mode))!r} was measured with {name} = {found['settings'][name]!r}, "
            f"the recipe now has {e.as_dict()[name]!r}; move the file away to measure it anew."
        )


def other_setting(out: Path, cell: Cell, mode: str, e: Experiment) -> str | None:
    """The first setting that a cell was not measured with; None when all are the same, or nothing was measured."""
    before = (read(out, cell, mode) or {"settings": {}})["settings"]
    differ = (name for name, value in e.as_dict().items() if name != "seed" and before.get(name, value) != value)
    return next(differ, None)


def _run(summary: Mapping[str, Any], commit: str | None, metrics: Metrics) -> dict[str, Any]:
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


# ------------------------------------------------------------------ beside the paper
def compared(out: Path, cells: Iterable[Cell], modes: Iterable[str]) -> list[dict[str, Any]]:
    """The measured cells: paper, ours, difference, whether it is within the paper's spread, and their curves.

    An algorithm beyond the paper stands beside the paper's claim for DPDL.
    """
    found = ((cell, mode, read(out, cell, mode)) for mode in modes for cell in cells)
    return [_compared(cell, mode, result) for cell, mode, result in found if result]


def _compared(cell: Cell, mode: str, result: Result) -> dict[str, Any]:
    difference, runs = round(result["ours"] - result["paper"], 2), result["runs"].values()
    return {
        **cell._asdict(),
        "mode": mode,
        **{name: result[name] for name in ("ours", "spread", "paper", "paper_spread")},
        "difference": difference,
        "within": abs(difference) <= result["paper_spread"],
        "beyond": cell.algorithm in BEYOND,
        "proven": _proven(runs),
        "seeds": sorted(map(int, result["runs"])),
        "note": result.get("note"),
        "curves": [run["curve"] for run in runs if run.get("curve")],
    }


def _proven(runs: Iterable[Mapping[str, Any]]) -> float | str | None:
    """The largest epsilon against an eavesdropper, or `unbounded`; None when one is not recorded."""
    found = [(run["epsilon"] or {}).get("eavesdropper") for run in runs]
    return None if None in found else max(found, key=lambda epsilon: (isinstance(epsilon, str), epsilon))


def without_curves(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """For those who want numbers."""
    return [{name: value for name, value in row.items() if name != "curves"} for row in rows]


def rankings(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Where all five algorithms were measured: their order in the paper and ours, best first."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        if not row["beyond"]:
            key = (row["mode"], *(row[name] for name in Cell._fields[:-1]))
            groups.setdefault(key, []).append(row)
    every = {cell.algorithm for cell in published()}
    found = []
    for key, group in groups.items():
        if {row["algorithm"] for row in group} == every:
            paper, ours = (
                [row["algorithm"] for row in sorted(group, key=lambda row: -row[whose])] for whose in ("paper", "ours")
            )
            place = dict(zip(("mode", *Cell._fields[:-1]), key, strict=True))
            found.append(
                {**place, "paper": paper, "ours": ours, "agrees": paper == ours, "same_best": paper[0] == ours[0]}
            )
    return found


def proven(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Mode sound: the paper's claim for DPDL, and the best that we measured at that epsilon, proven."""
    best: dict[Cell, Mapping[str, Any]] = {}
    for row in rows:
        place = Cell(**{name: row[name] for name in Cell._fields})._replace(algorithm="dpdl")
        if row["mode"] == "sound" and (place not in best or row["ours"] > best[place]["ours"]):
            best[place] = row
    return [
        {
            **{name: row[name] for name in (*Cell._fields, "ours")},
            "claimed": claim(place).accuracy,
            "reached": row["ours"] >= claim(place).accuracy,
        }
        for place, row in best.items()
    ]


def status(out: Path, words: str = "", modes: Iterable[str] = tuple(MODES)) -> dict[str, Any]:
    """What was measured of the cells that fit the words, in some modes; the counts are of everything."""
    rows = compared(out, every_cell(), MODES)
    measured = {mode: sum(row["mode"] == mode and not row["beyond"] for row in rows) for mode in MODES}
    counts = {"measured": measured, "of": len(published()), "attacks": attacks.count(out)}
    chosen, modes = set(every_cell(words)), set(modes)
    rows = [row for row in rows if row["mode"] in modes and Cell(*(row[name] for name in Cell._fields)) in chosen]
    return {**counts, "cells": without_curves(rows), "rankings": rankings(rows), "proven": proven(rows)}


def every_cell(words: str = "") -> list[Cell]:
    """Of the paper, and beyond it, that fits the words."""
    return select(None, words, BEYOND, named=False)
