"""Measured cells as Markdown tables, one for every mode, data set, number of agents and alpha_d."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dpdl.paper.cells import DPDL, algorithms_of_paper
from dpdl.report.compared_cells import ComparedCell, proven_text
from dpdl.studies.reproduce.recipes import ALGORITHM1, BEYOND

Line = Mapping[str, ComparedCell]
"""The cells of one graph and epsilon, by algorithm."""


def markdown_tables(rows: Iterable[ComparedCell]) -> dict[str, str]:
    """Title -> table: ours, with the spread of several seeds, and the paper's in parentheses."""
    groups: dict[str, list[ComparedCell]] = {}
    for row in rows:
        groups.setdefault(_title(row), []).append(row)
    return {title: _table(group) for title, group in groups.items()}


def _title(row: ComparedCell) -> str:
    place = f"{row.dataset}, N = {row.agents}, alpha_d = {row.alpha_d:g}"
    return f"{row.mode}: {place}"


def _table(rows: Sequence[ComparedCell]) -> str:
    """A line for every graph and epsilon, a column for every algorithm."""
    present = {row.algorithm for row in rows}
    algorithms = [name for name in [*algorithms_of_paper(), *BEYOND] if name in present]
    lines: dict[tuple[str, float], dict[str, ComparedCell]] = {}
    for row in sorted(rows, key=lambda row: (row.graph, row.epsilon)):
        lines.setdefault((row.graph, row.epsilon), {})[row.algorithm] = row
    head = ["graph", "epsilon", *(f"`{name}`" for name in algorithms)]
    body = [
        [graph, f"{epsilon:g}", *(_cell(line.get(name)) for name in algorithms)]
        for (graph, epsilon), line in lines.items()
    ]
    if any(row.mode == ALGORITHM1 for row in rows):
        head.append("proven epsilon")
        for cells, line in zip(body, lines.values(), strict=True):
            cells.append(_proven(line))
    every = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in every)


def _cell(row: ComparedCell | None) -> str:
    if row is None:
        return "-"
    spread = "" if row.spread is None else f" ± {row.spread:.1f}"
    paper = "" if row.beyond else f" ({row.paper:.1f})"
    return f"{row.ours:.1f}{spread}{paper}"


def _proven(line: Line) -> str:
    """Algorithm 1 claims its epsilon; this is what it proves."""
    epsilon = line[DPDL].proven
    return proven_text(epsilon) if epsilon.known else "-"
