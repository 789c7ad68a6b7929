"""Comparisons, searches and pages as small cards, where a notebook shows HTML."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dpdl.folder.scored import label_of, show_score
from dpdl.privacy.threats import threat
from dpdl.training.notebook_html import card, table

if TYPE_CHECKING:
    from dpdl.studies.comparison_table import ComparisonRow, ComparisonTable
    from dpdl.studies.pages import WrittenPage
    from dpdl.studies.search_records import SearchResult, TrialResult

MOST = 8
"""Trials that a card shows."""


def of_comparison(found: ComparisonTable) -> str:
    """A row for each algorithm, best first."""
    data, graph = Path(found.dataset).name, Path(found.graph).name
    title = f"{data}, {graph} of {found.agents} agents, equal {found.equal}"
    score = label_of(found.rows[0].score.name) if found.rows else "score"
    head = ("", "algorithm", f"test {score}", "worst", f"epsilon, {found.threat}", "")
    rows = [_compared(row, found.threat) for row in found.rows]
    return card(title, [table(head, rows)])


def _compared(row: ComparisonRow, listener: str) -> tuple[str, ...]:
    score = row.score
    mean = "-" if score.mean is None else show_score(score.name, score.mean)
    if score.mean is not None and score.spread is not None:
        mean += f" ± {show_score(score.name, score.spread)}"
    worst = "-" if score.worst is None else show_score(score.name, score.worst)
    epsilon = row.epsilon.get(threat(listener).key)
    shown = "-" if epsilon is None else str(epsilon)
    notes = [] if row.proven else ["not private"]
    notes += [f"{len(row.failed)} failed"] if row.failed else []
    rank = "" if row.rank is None else str(row.rank)
    return rank, row.algorithm, mean, worst, shown, ", ".join(notes)


def of_search(found: SearchResult) -> str:
    """The best trials, and what tuning costs."""
    name = found.score_name or "accuracy"
    options = list(found.best)
    head = ("trial", *options, f"held-out {label_of(name)}", "rounds")
    rows = [_tried(one, options, name) for one in found.trials[:MOST]]
    title = f"{found.algorithm}: {len(found.trials)} trials, search {found.search}"
    return card(title, [table(head, rows)], [found.warning])


def _tried(one: TrialResult, options: list[str], name: str) -> tuple[str, ...]:
    values = (str(one.values.get(option)) for option in options)
    score = "diverged" if one.score is None else show_score(name, one.score)
    return str(one.trial), *values, score, str(one.rounds)


def of_page(found: WrittenPage) -> str:
    """Where the page is, and what is on it."""
    left = "It leaves out" if found.public else "It shows, and no epsilon covers"
    notes = [f"{left}: {'; '.join(found.not_covered)}."] if found.not_covered else []
    rows = [(title,) for title in found.sections]
    return card(f"Page: {found.page}", [table((), rows)], notes)
