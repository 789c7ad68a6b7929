"""The paper's tables beside what was measured again, one section per mode."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dpdl.paper import FIGURES
from dpdl.report.convergence import (
    draw_convergence,
    drawable,
    merged,
    ordered,
    place_of,
)
from dpdl.report.frontier import draw_frontier
from dpdl.report.page import (
    Number,
    Section,
    bullets,
    heading,
    live_table,
    paragraphs,
    private,
    public,
    said,
    small_picture,
    tall_picture,
    wide_picture,
)

STEPS = (1.0, 3.0)
"""Differences of more points than these have a darker shade."""
PLACE = ("dataset", "graph", "agents", "alpha_d", "epsilon")
HEADS = ("data set", "graph", "N", "alpha_d", "epsilon")
LIMITS = ("Accuracies of cells whose proven epsilon is unbounded or unknown.",)
SIMULATED = (
    "Nothing here is covered if somebody knows the seeds: these runs are simulations "
    "on public data sets.",
)
Row = Mapping[str, Any]


def of_mode(
    mode: str, guarantee: str, total: int, cells: Sequence[Row], rankings: Sequence[Row]
) -> Section:
    """What was measured of a mode that has `total` cells.

    A cell has the paper's and our accuracy with their spreads in percent, their difference, whether
    that is within the paper's spread, the seeds, the epsilon that is `proven` (None: not recorded),
    a `note` or None, and `curves`, one per seed that has one.
    """
    notes, curves = _notes(cells), _convergence(cells, mode, guarantee)
    parts = [
        public(said(_sentence(guarantee)), paragraphs(coverage(total, cells))),
        public(heading(f"Cells, {mode}"), _table(cells, mode)),
        private("notes that a person wrote", *notes) if notes else None,
        public(heading(f"Accuracy against epsilon, {mode}"), *_figures(cells, mode)),
        private("training loss over the rounds (curves)", *curves) if curves else None,
        public(
            heading(f"Ranking of the algorithms, {mode}"), paragraphs(ranked(rankings))
        ),
        public(_rankings(rankings, mode)) if rankings else None,
    ]
    return Section(
        f"results-{mode}",
        f"The paper's tables, {mode}",
        list(filter(None, parts)),
        LIMITS,
        alarms=SIMULATED,
    )


def coverage(total: int, cells: Sequence[Row]) -> str:
    """How much was measured, and how near it is."""
    own = [row for row in cells if not row["beyond"]]
    words = f"Measured: {len(own)} of {total} cells."
    if own:
        within = sum(row["within"] for row in own)
        mean = statistics.fmean(row["difference"] for row in own)
        words += (
            f" Within the paper's spread: {within} of {len(own)}. Mean difference: "
            f"{signed(mean)} points of accuracy."
        )
    if len(own) < len(cells):
        names = ", ".join(sorted({row["algorithm"] for row in cells if row["beyond"]}))
        words += f" Not in the paper, and beside its claim for DPDL: {names}."
    return words


def ranked(rankings: Sequence[Row]) -> str:
    """Where the order of the algorithms is the paper's."""
    if not rankings:
        return (
            "No setting has all five algorithms measured, so there is no ranking to "
            "compare."
        )
    agree, best = (
        sum(row[name] for row in rankings) for name in ("agrees", "same_best")
    )
    settings = "1 setting" if len(rankings) == 1 else f"{len(rankings)} settings"
    return (
        f"All five algorithms were measured in {settings}. The paper's whole order is "
        f"found again in {agree} of {len(rankings)}, its best algorithm in {best}."
    )


def signed(value: float) -> str:
    """With its sign, except for zero, which has none."""
    text = f"{value:+.2f}"
    return text if text.strip("+-0.") else "0.00"


def shade(difference: float) -> str:
    """The colour of a difference."""
    if difference == 0:
        return ""
    strength = sum(abs(difference) > step for step in STEPS)
    return f"{'above' if difference > 0 else 'below'}-{strength}"


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:].rstrip('.')}."


def _place(row: Row) -> str:
    return f"{_group(row)}, {row['graph']}, epsilon {row['epsilon']:g}"


def _group(row: Row) -> str:
    return f"{row['dataset']}, {row['agents']} agents, alpha_d {row['alpha_d']:g}"


# ------------------------------------------------------------------ tables
def _table(cells: Sequence[Row], mode: str) -> str:
    heads = [
        *HEADS,
        "algorithm",
        "paper",
        "ours",
        "difference",
        "within",
        "proven",
        "seeds",
    ]
    return live_table(
        heads,
        [_cells(row) for row in cells],
        f"Cells of mode {mode}. Test accuracy in percent, ± one standard deviation. "
        "Difference: ours less the paper's; blue is higher, orange is lower, darker "
        f"above {STEPS[0]:g} and {STEPS[1]:g} points. Within: inside the paper's "
        "spread. Epsilon: the paper's. Proven: the epsilon of our runs against one who "
        "hears every link.",
    )


def _cells(row: Row) -> list[str | Number]:
    difference = row["difference"]
    return [
        *_where(row),
        row["algorithm"],
        Number(
            f"{row['paper']:.1f} ± {row['paper_spread']:.1f}"
            + (" (dpdl)" if row["beyond"] else ""),
            row["paper"],
        ),
        Number(_ours(row), row["ours"]),
        Number(signed(difference), difference, shade(difference)),
        "yes" if row["within"] else "no",
        _proven(row["proven"]),
        Number(str(len(row["seeds"])), len(row["seeds"])),
    ]


def _where(row: Row) -> list[str | Number]:
    numbers = (Number(f"{row[name]:g}", row[name]) for name in PLACE[2:])
    return [row["dataset"], row["graph"], *numbers]


def _ours(row: Row) -> str:
    return f"{row['ours']:.2f}" + (
        "" if row["spread"] is None else f" ± {row['spread']:.2f}"
    )


def _proven(epsilon: float | str | None) -> Number:
    if epsilon is None:
        return Number("unknown", -math.inf)
    if isinstance(epsilon, str):
        return Number(epsilon, math.inf)
    return Number(f"{epsilon:.3g}" if epsilon < 1000 else f"{epsilon:,.0f}", epsilon)


def _notes(cells: Sequence[Row]) -> list[str]:
    notes = [
        f"{_place(row)}, {row['algorithm']}: {row['note']}"
        for row in cells
        if row["note"]
    ]
    return [bullets(notes)] if notes else []


def _rankings(rankings: Sequence[Row], mode: str) -> str:
    rows: list[list[str | Number]] = [
        [
            *_where(row),
            *(" > ".join(row[whose]) for whose in ("paper", "ours")),
            *("yes" if row[name] else "no" for name in ("agrees", "same_best")),
        ]
        for row in rankings
    ]
    heads = [*HEADS, "paper", "ours", "same order", "same best"]
    return live_table(
        heads, rows, f"Rankings of mode {mode}, the most accurate algorithm first."
    )


# ------------------------------------------------------------------ figures
def _figures(cells: Sequence[Row], mode: str) -> list[str]:
    """One figure per data set, N and alpha_d."""
    algorithms = ordered(row["algorithm"] for row in cells)
    found = []
    for group in dict.fromkeys(map(_group, cells)):
        rows = [row for row in cells if _group(row) == group]
        with TemporaryDirectory() as folder:
            path = draw_frontier(rows, algorithms, Path(folder) / "frontier.png", group)
            shown = (
                wide_picture
                if len({row["graph"] for row in rows}) > 1
                else small_picture
            )
            found.append(shown(path, _alternative(rows, group), _caption(rows, mode)))
    return found


def _alternative(rows: Sequence[Row], group: str) -> str:
    graphs = ", ".join(sorted({row["graph"] for row in rows}))
    low, high = min(rows, key=_gap), max(rows, key=_gap)
    return (
        f"Accuracy against epsilon, {group}, one panel for each graph: {graphs}. Our "
        f"points are from {signed(low['difference'])} to {signed(high['difference'])} "
        "percentage points from the paper's; the table has all numbers."
    )


def _gap(row: Row) -> float:
    return float(row["difference"])


def _caption(rows: Sequence[Row], mode: str) -> str:
    cells = "1 cell" if len(rows) == 1 else f"{len(rows)} cells"
    return (
        f"Mode {mode}, {cells}. Bars: one standard deviation to either side, where "
        "there are several seeds."
    )


# ------------------------------------------------------------------ convergence
def _convergence(cells: Sequence[Row], mode: str, guarantee: str) -> list[str]:
    """One figure per data set and graph, of the cells that the paper's figures show."""
    algorithms = ordered(row["algorithm"] for row in cells)
    found = []
    for values in FIGURES.values():
        rows = [
            row
            for row in cells
            if all(row[key] == values[key] for key in values) and drawable(row)
        ]
        if rows:
            with TemporaryDirectory() as folder:
                path = draw_convergence(
                    rows, algorithms, Path(folder) / "convergence.png", mode, guarantee
                )
                shown = tall_picture if len(_panels(rows)) > 1 else small_picture
                found.append(
                    shown(path, _losses(rows, algorithms), _curves(rows, mode))
                )
    return [heading(f"Convergence, {mode}"), *found] if found else []


def _panels(rows: Sequence[Row]) -> list[tuple[int, float]]:
    return sorted({(row["agents"], row["epsilon"]) for row in rows})


def _losses(rows: Sequence[Row], algorithms: Sequence[str]) -> str:
    losses = []
    for name in algorithms:
        last = [
            float(merged(row["curves"]).mean[-1])
            for row in rows
            if row["algorithm"] == name
        ]
        if last:
            ends = dict.fromkeys(f"{of(last):.2f}" for of in (min, max))
            losses.append(f"{name} {' to '.join(ends)}")
    return (
        f"Training loss over rounds, {place_of(rows[0])}, one panel for each number of "
        "agents and epsilon: "
        f"{'; '.join(f'{agents} agents, epsilon {epsilon:g}' for agents, epsilon in _panels(rows))}. "
        f"Mean loss in the last round: {', '.join(losses)}."
    )


def _curves(rows: Sequence[Row], mode: str) -> str:
    count = sum(len(row["curves"]) for row in rows)
    runs = "1 run" if count == 1 else f"{count} runs"
    return (
        f"Mode {mode}, {runs}. The loss is the cross-entropy in nats of each agent's "
        "batch at its own model."
    )
