"""Results of cells: one small JSON file per cell and mode, with one value per seed."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dpdl.errors import InputError
from dpdl.paper.cells import Cell, published
from dpdl.reproduce.recipes import MODES
from dpdl.run.experiment import Experiment
from dpdl.run.files import write_json

FORMAT = 1
ACCURACY = "test accuracy in percent of the average of all agents' models after the last round"
Result = dict[str, Any]


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


def add(out: Path, cell: Cell, mode: str, e: Experiment, summary: Mapping[str, Any], commit: str | None) -> Result:
    """Enter one seed's run into its cell's result."""
    settings = {name: value for name, value in e.as_dict().items() if name != "seed"}
    found = read(out, cell, mode) or {}
    refuse_other(out, cell, mode, e)
    runs = {**found.get("runs", {}), str(e.seed): _run(summary, commit)}
    runs = dict(sorted(runs.items(), key=lambda item: int(item[0])))
    values = [run["accuracy"] for run in runs.values()]
    paper = published()[cell]
    result = {
        "format": FORMAT,
        **cell._asdict(),
        "mode": mode,
        "ours": round(statistics.fmean(values), 2),
        "spread": round(statistics.stdev(values), 2) if len(values) > 1 else None,
        "paper": paper.accuracy,
        "paper_spread": paper.spread,
        "guarantee": MODES[mode],
        "accuracy": ACCURACY,
        "runs": runs,
        "settings": settings,
    }
    path = path_of(out, cell, mode)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, result)
    return result


def refuse_other(out: Path, cell: Cell, mode: str, e: Experiment) -> None:
    """Seeds of one cell must have the same settings."""
    found = read(out, cell, mode)
    for name, value in e.as_dict().items() if found else ():
        if found and name != "seed" and found["settings"].get(name, value) != value:
            raise InputError(
                f"Result {str(path_of(out, cell, mode))!r} was measured with {name} = {found['settings'][name]!r}, "
                f"the recipe now has {value!r}; move the file away to measure it anew."
            )


def _run(summary: Mapping[str, Any], commit: str | None) -> dict[str, Any]:
    accuracy = summary["accuracy"]
    return {
        "accuracy": round(100 * accuracy["average_model"], 2),
        "agents_mean": round(100 * accuracy["mean"], 2),
        "agents_worst": round(100 * accuracy["worst"], 2),
        "sigma": summary["sigma"],
        "epsilon": summary["epsilon"],
        "seconds": round(summary["seconds"], 1),
        "versions": summary["versions"],
        "commit": commit,
    }


# ------------------------------------------------------------------ beside the paper
def compared(out: Path, cells: Iterable[Cell], modes: Iterable[str]) -> list[dict[str, Any]]:
    """The measured cells: paper, ours, difference, and whether it is within the paper's spread."""
    rows = []
    for mode in modes:
        for cell in cells:
            found = read(out, cell, mode)
            if found:
                difference = round(found["ours"] - found["paper"], 2)
                within = abs(difference) <= found["paper_spread"]
                numbers = {name: found[name] for name in ("ours", "spread", "paper", "paper_spread")}
                seeds = sorted(map(int, found["runs"]))
                rows.append(
                    {
                        **cell._asdict(),
                        "mode": mode,
                        **numbers,
                        "difference": difference,
                        "within": within,
                        "seeds": seeds,
                    }
                )
    return rows


def rankings(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Where all five algorithms were measured: their order in the paper and ours, best first."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
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


def status(out: Path) -> dict[str, Any]:
    """Everything that was measured."""
    rows = compared(out, published(), MODES)
    measured = {mode: sum(row["mode"] == mode for row in rows) for mode in MODES}
    return {"measured": measured, "of": len(published()), "cells": rows, "rankings": rankings(rows)}
