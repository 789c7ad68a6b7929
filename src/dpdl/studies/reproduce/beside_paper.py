"""What was measured, beside what the paper published."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dpdl.paper.cells import Cell, claim, published, select
from dpdl.studies.reproduce import attack_store, store
from dpdl.studies.reproduce.recipes import BEYOND, MODES


def compared(
    out: Path, cells: Iterable[Cell], modes: Iterable[str]
) -> list[dict[str, Any]]:
    """The measured cells.

    Paper, ours, difference, whether it is within the paper's spread, and their curves.

    An algorithm beyond the paper stands beside the paper's claim for DPDL.
    """
    found = (
        (cell, mode, store.read(out, cell, mode)) for mode in modes for cell in cells
    )
    return [_compared(cell, mode, result) for cell, mode, result in found if result]


def _compared(cell: Cell, mode: str, result: store.CellResult) -> dict[str, Any]:
    difference, runs = (
        round(result["ours"] - result["paper"], 2),
        result["runs"].values(),
    )
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
    """The largest epsilon against an eavesdropper, or `unbounded`.

    None when one is not recorded.
    """
    found = [(run["epsilon"] or {}).get("eavesdropper") for run in runs]
    return (
        None
        if None in found
        else max(found, key=lambda epsilon: (isinstance(epsilon, str), epsilon))
    )


def without_curves(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """For those who want numbers."""
    return [
        {name: value for name, value in row.items() if name != "curves"} for row in rows
    ]


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
                [row["algorithm"] for row in sorted(group, key=lambda row: -row[whose])]
                for whose in ("paper", "ours")
            )
            place = dict(zip(("mode", *Cell._fields[:-1]), key, strict=True))
            found.append(
                {
                    **place,
                    "paper": paper,
                    "ours": ours,
                    "agrees": paper == ours,
                    "same_best": paper[0] == ours[0],
                }
            )
    return found


def proven(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Mode sound.

    The paper's claim for DPDL, and the best that we measured at that epsilon, proven.
    """
    best: dict[Cell, Mapping[str, Any]] = {}
    for row in rows:
        place = Cell(**{name: row[name] for name in Cell._fields})._replace(
            algorithm="dpdl"
        )
        if row["mode"] == "sound" and (
            place not in best or row["ours"] > best[place]["ours"]
        ):
            best[place] = row
    return [
        {
            **{name: row[name] for name in (*Cell._fields, "ours")},
            "claimed": claim(place).accuracy,
            "reached": row["ours"] >= claim(place).accuracy,
        }
        for place, row in best.items()
    ]


def status(
    out: Path, words: str = "", modes: Iterable[str] = tuple(MODES)
) -> dict[str, Any]:
    """What was measured of the cells that fit the words, in some modes.

    The counts are of everything.
    """
    rows = compared(out, every_cell(), MODES)
    measured = {
        mode: sum(row["mode"] == mode and not row["beyond"] for row in rows)
        for mode in MODES
    }
    counts = {
        "measured": measured,
        "of": len(published()),
        "attacks": attack_store.count(out),
    }
    chosen, modes = set(every_cell(words)), set(modes)
    rows = [
        row
        for row in rows
        if row["mode"] in modes
        and Cell(*(row[name] for name in Cell._fields)) in chosen
    ]
    return {
        **counts,
        "cells": without_curves(rows),
        "rankings": rankings(rows),
        "proven": proven(rows),
    }


def every_cell(words: str = "") -> list[Cell]:
    """Of the paper, and beyond it, that fits the words."""
    return select(None, words, BEYOND, named=False)
