"""Measured cells as Markdown tables, one for every mode, data set, number of agents and alpha_d."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dpdl.paper.cells import algorithms_of_paper
from dpdl.studies.reproduce.recipes import BEYOND

Row = Mapping[str, Any]


def tables(rows: Iterable[Row]) -> dict[str, str]:
    """Title -> table: ours, with the spread of several seeds, and the paper's in parentheses."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(_title(row), []).append(row)
    return {title: _table(group) for title, group in groups.items()}


def _title(row: Row) -> str:
    return (
        f"{row['mode']}: {row['dataset']}, N = {row['agents']}, alpha_d = "
        f"{row['alpha_d']:g}"
    )


def _table(rows: list[Row]) -> str:
    """A line for every graph and epsilon, a column for every algorithm."""
    measured = {row["algorithm"] for row in rows}
    algorithms = [
        name for name in [*algorithms_of_paper(), *BEYOND] if name in measured
    ]
    claims = any(row["mode"] == "algorithm1" for row in rows)
    lines: dict[tuple[str, float], dict[str, Row]] = {}
    for row in sorted(rows, key=lambda row: (row["graph"], row["epsilon"])):
        lines.setdefault((row["graph"], row["epsilon"]), {})[row["algorithm"]] = row
    head = [
        "graph",
        "epsilon",
        *(f"`{name}`" for name in algorithms),
        *(["proven epsilon"] if claims else []),
    ]
    body = [
        [
            graph,
            f"{epsilon:g}",
            *(_words(line.get(name)) for name in algorithms),
            *([_proven(line)] if claims else []),
        ]
        for (graph, epsilon), line in lines.items()
    ]
    return "\n".join(
        f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *body]
    )


def _words(row: Row | None) -> str:
    if row is None:
        return "-"
    spread = "" if row["spread"] is None else f" ± {row['spread']:.1f}"
    return f"{row['ours']:.1f}{spread}" + (
        "" if row["beyond"] else f" ({row['paper']:.1f})"
    )


def _proven(line: Mapping[str, Row]) -> str:
    """Algorithm 1 claims its epsilon; this is what it proves."""
    epsilon = line["dpdl"]["proven"]
    if not isinstance(epsilon, float):
        return "-" if epsilon is None else str(epsilon)
    return f"{epsilon:.3g}" if epsilon < 1000 else f"{epsilon:,.0f}"
