"""Measured cells as Markdown tables: one for every mode, data set, number of agents and alpha_d.

And one of the paper's claims for every data set and the algorithm that comes closest to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dpdl.pages.compared_cells import ComparedCell, proven_text
from dpdl.paper.cells import DPDL, algorithms_of_paper
from dpdl.studies.reproduce.claims import Claim
from dpdl.studies.reproduce.recipes import ALGORITHM1, BEYOND

Line = Mapping[str, ComparedCell]
"""The cells of one graph and epsilon, by algorithm."""


def markdown_tables(rows: Iterable[ComparedCell]) -> dict[str, str]:
    """Title -> table: ours, with the spread of several seeds, and the paper's in parentheses.

    Without lines in which no algorithm of the paper was measured: see `claim_tables`.
    """
    every = list(rows)
    places = {_line(row) for row in every if not row.beyond}
    groups: dict[str, list[ComparedCell]] = {}
    for row in every:
        if _line(row) in places:
            groups.setdefault(_title(row), []).append(row)
    return {title: _table(group) for title, group in groups.items()}


def claim_tables(claims: Iterable[Claim]) -> dict[str, str]:
    """Title -> table: the worst agent's own model, with the spread, and the claim in parentheses.

    A line for every graph, number of agents and alpha_d, a column for every epsilon.
    """
    groups: dict[str, list[Claim]] = {}
    for claim in claims:
        title = f"claims: {claim.dataset}, {claim.algorithm}"
        groups.setdefault(title, []).append(claim)
    return {title: _claims(group) for title, group in groups.items()}


def _line(row: ComparedCell) -> tuple[str, str, float]:
    return _title(row), row.graph, row.epsilon


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
    return _drawn(head, body)


def _claims(claims: Sequence[Claim]) -> str:
    epsilons = sorted({claim.epsilon for claim in claims})
    lines: dict[tuple[str, int, float], dict[float, Claim]] = {}
    for claim in sorted(claims, key=lambda c: (c.graph, c.agents, c.alpha_d)):
        line = lines.setdefault((claim.graph, claim.agents, claim.alpha_d), {})
        line[claim.epsilon] = claim
    head = ["graph", "N", "alpha_d", *(f"epsilon {value:g}" for value in epsilons)]
    body = [
        [graph, str(agents), f"{alpha_d:g}", *(_claim(line.get(e)) for e in epsilons)]
        for (graph, agents, alpha_d), line in lines.items()
    ]
    return _drawn(head, body)


def _claim(claim: Claim | None) -> str:
    if claim is None:
        return "-"
    worst = "?" if claim.agents_worst is None else f"{claim.agents_worst:.2f}"
    spread = "" if claim.spread is None else f" ± {claim.spread:.2f}"
    return f"{worst}{spread} ({claim.claimed:.1f})"


def _drawn(head: Sequence[str], body: Iterable[Sequence[str]]) -> str:
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
