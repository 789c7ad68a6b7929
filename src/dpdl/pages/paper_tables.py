"""The paper's tables beside what was measured again, one section per mode."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from dpdl.extras import PLOTS, is_installed
from dpdl.pages.alarms import Alarm, alarm
from dpdl.pages.captions import Words
from dpdl.pages.compared_cells import (
    ComparedCell,
    MeasuredCell,
    Ranking,
    proven_text,
)
from dpdl.pages.convergence import (
    Panel,
    band_of,
    draw_convergence,
    drawable,
    ordered,
    panel_of,
    panel_title,
    setting_of,
)
from dpdl.pages.frontier import draw_frontier
from dpdl.pages.line_keys import LineKey
from dpdl.pages.lines import Look, looks
from dpdl.pages.page import (
    Cell,
    Number,
    Section,
    bullets,
    heading,
    highlighted,
    live_table,
    paragraphs,
    private,
    public,
    small_picture,
    tall_picture,
    wide_picture,
    without_pictures,
)
from dpdl.paper.cells import is_shown
from dpdl.paper.numbers import FIGURES
from dpdl.privacy.epsilon import Epsilon

STEPS = (1.0, 3.0)
"""Differences of more points than these have a darker shade."""
HEADS = ("data set", "graph", "agents", "alpha_d", "epsilon")
LIMITS = ("Accuracies of cells whose proven epsilon is unbounded or unknown.",)
SIMULATED = Alarm(
    "Nothing here is covered if somebody knows the seeds: these runs are simulations "
    "on public data sets.",
    "Simulations: they protect nobody",
)


def of_mode(
    mode: str,
    guarantee: str,
    total: int,
    cells: Sequence[MeasuredCell],
    rankings: Sequence[Ranking],
) -> Section:
    """What was measured of a mode that has `total` cells."""
    rows = [cell.compared for cell in cells]
    notes, can_draw = _notes(rows), is_installed(PLOTS)
    curves = _convergence(cells, mode, guarantee) if can_draw else []
    frontier = heading(f"Accuracy against epsilon, {mode}")
    parts = [
        public(_promise(guarantee, rows), paragraphs(coverage(total, rows))),
        public(heading(f"Cells, {mode}"), _table(rows, mode)),
        private("notes that a person wrote", *notes) if notes else None,
        without_pictures(),
        public(frontier, *_figures(rows, mode, guarantee)) if can_draw else None,
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
        alarms=(SIMULATED,),
    )


def _promise(guarantee: str, rows: Sequence[ComparedCell]) -> str:
    """What a mode promises; a warning if no epsilon is proven of any of its cells."""
    if any(row.proven.bounded for row in rows):
        return highlighted(_sentence(guarantee))
    return alarm(Alarm(_sentence(guarantee), "No privacy"))


def coverage(total: int, rows: Sequence[ComparedCell]) -> str:
    """How much was measured, and how near it is."""
    own = [row for row in rows if not row.beyond]
    text = f"Measured: {len(own)} of {total} cells."
    if own:
        within = sum(row.within for row in own)
        mean = statistics.fmean(row.difference for row in own)
        text += (
            f" Within the paper's spread: {within} of {len(own)}. Mean difference: "
            f"{signed(mean)} points of accuracy."
        )
    if len(own) < len(rows):
        names = ", ".join(sorted({row.algorithm for row in rows if row.beyond}))
        text += f" Not in the paper, and beside its claim for DPDL: {names}."
    return text


def ranked(rankings: Sequence[Ranking]) -> str:
    """Where the order of the algorithms is the paper's."""
    count = len(rankings)
    if not count:
        return (
            "No setting has all five algorithms measured, so there is no ranking to "
            "compare."
        )
    agree = sum(ranking.agrees for ranking in rankings)
    best = sum(ranking.same_best for ranking in rankings)
    settings = "1 setting" if count == 1 else f"{count} settings"
    return (
        f"All five algorithms were measured in {settings}. The paper's whole order is "
        f"found again in {agree} of {count}, its best algorithm in {best}."
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


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _place(row: ComparedCell) -> str:
    return f"{_group(row)}, {row.graph}, epsilon {row.epsilon:g}"


def _group(row: ComparedCell) -> str:
    return f"{row.dataset}, {row.agents} agents, alpha_d {row.alpha_d:g}"


# ------------------------------------------------------------------ tables
def _table(rows: Sequence[ComparedCell], mode: str) -> str:
    found = looks(row.algorithm for row in rows)
    measured = ["paper", "ours", "difference", "within", "proven", "seeds"]
    return live_table(
        [*HEADS, "algorithm", *measured],
        [_cells(row, found[row.algorithm]) for row in rows],
        f"Cells of mode {mode}. Test accuracy in percent, ± one standard deviation. "
        "Difference: ours less the paper's; blue is higher, orange is lower, darker "
        f"above {STEPS[0]:g} and {STEPS[1]:g} points. Within: inside the paper's "
        "spread. Epsilon: the paper's. Proven: the epsilon of our runs against one who "
        "hears every link.",
    )


def _cells(row: ComparedCell, look: Look) -> list[Cell]:
    whose = " (dpdl)" if row.beyond else ""
    paper = f"{row.paper:.1f} ± {row.paper_spread:.1f}{whose}"
    return [
        *_where(row),
        LineKey(row.algorithm, look),
        Number(paper, row.paper),
        Number(_ours(row), row.ours),
        Number(signed(row.difference), row.difference, shade(row.difference)),
        _yes_or_no(row.within),
        _proven(row.proven),
        Number(str(len(row.seeds)), len(row.seeds)),
    ]


def _where(row: ComparedCell | Ranking) -> list[Cell]:
    numbers = (row.agents, row.alpha_d, row.epsilon)
    return [row.dataset, row.graph, *(Number(f"{x:g}", x) for x in numbers)]


def _ours(row: ComparedCell) -> str:
    spread = "" if row.spread is None else f" ± {row.spread:.2f}"
    return f"{row.ours:.2f}{spread}"


def _yes_or_no(value: bool) -> str:
    return "yes" if value else "no"


def _proven(epsilon: Epsilon) -> Number:
    """Unknown ones are sorted first, unbounded ones last."""
    value = -math.inf if epsilon.value is None else epsilon.value
    return Number(proven_text(epsilon), value)


def _notes(rows: Sequence[ComparedCell]) -> list[str]:
    notes = [f"{_place(row)}, {row.algorithm}: {row.note}" for row in rows if row.note]
    return [bullets(notes)] if notes else []


def _rankings(rankings: Sequence[Ranking], mode: str) -> str:
    rows: list[list[Cell]] = [
        [
            *_where(ranking),
            " > ".join(ranking.paper),
            " > ".join(ranking.ours),
            _yes_or_no(ranking.agrees),
            _yes_or_no(ranking.same_best),
        ]
        for ranking in rankings
    ]
    heads = [*HEADS, "paper", "ours", "same order", "same best"]
    about = f"Rankings of mode {mode}, the most accurate algorithm first."
    return live_table(heads, rows, about)


# ------------------------------------------------------------------ figures
def _figures(cells: Sequence[ComparedCell], mode: str, guarantee: str) -> list[str]:
    """One figure per data set, number of agents and alpha_d."""
    algorithms = ordered(row.algorithm for row in cells)
    found = []
    for group in dict.fromkeys(map(_group, cells)):
        rows = [row for row in cells if _group(row) == group]
        several = len({row.graph for row in rows}) > 1
        shown = wide_picture if several else small_picture
        words = Words(
            f"{group}, mode {mode}",
            f"Ours: {guarantee.rstrip('.')}. The paper's epsilon is claimed.",
        )
        with TemporaryDirectory() as folder:
            path = Path(folder) / "frontier.png"
            draw_frontier(rows, algorithms, path, words)
            found.append(shown(path, _alternative(rows, group), _caption(rows, mode)))
    return found


def _alternative(rows: Sequence[ComparedCell], group: str) -> str:
    graphs = ", ".join(sorted({row.graph for row in rows}))
    low = min(row.difference for row in rows)
    high = max(row.difference for row in rows)
    return (
        f"Accuracy against epsilon, {group}, one panel for each graph: {graphs}. Our "
        f"points are from {signed(low)} to {signed(high)} "
        "percentage points from the paper's; the table has all numbers."
    )


def _caption(rows: Sequence[ComparedCell], mode: str) -> str:
    cells = "1 cell" if len(rows) == 1 else f"{len(rows)} cells"
    return f"Mode {mode}, {cells}."


# ------------------------------------------------------------------ convergence
def _convergence(cells: Sequence[MeasuredCell], mode: str, guarantee: str) -> list[str]:
    """One figure per data set and graph, of the cells that the paper's figures show."""
    algorithms = ordered(cell.compared.algorithm for cell in cells)
    found = []
    for figure in FIGURES:
        of_figure = [cell for cell in cells if is_shown(cell.compared.cell, figure)]
        drawn = [cell for cell in of_figure if drawable(cell)]
        if drawn:
            shown = tall_picture if len(_panels(drawn)) > 1 else small_picture
            with TemporaryDirectory() as folder:
                path = Path(folder) / "convergence.png"
                draw_convergence(drawn, algorithms, path, mode, guarantee)
                found.append(
                    shown(path, _losses(drawn, algorithms), _runs(drawn, mode))
                )
    return [heading(f"Convergence, {mode}"), *found] if found else []


def _panels(cells: Sequence[MeasuredCell]) -> list[Panel]:
    return sorted({panel_of(cell) for cell in cells})


def _losses(cells: Sequence[MeasuredCell], algorithms: Sequence[str]) -> str:
    losses = []
    for name in algorithms:
        of_name = [cell for cell in cells if cell.compared.algorithm == name]
        last = [float(band_of(cell.curves).mean[-1]) for cell in of_name]
        if last:
            ends = dict.fromkeys((f"{min(last):.2f}", f"{max(last):.2f}"))
            losses.append(f"{name} {' to '.join(ends)}")
    panels = "; ".join(panel_title(panel, cells) for panel in _panels(cells))
    return (
        f"Training loss over rounds, {setting_of(cells[0].compared)}, one panel for each "
        f"number of agents and epsilon: {panels}. "
        f"Mean loss in the last round: {', '.join(losses)}."
    )


def _runs(cells: Sequence[MeasuredCell], mode: str) -> str:
    count = sum(len(cell.curves) for cell in cells)
    runs = "1 run" if count == 1 else f"{count} runs"
    return (
        f"Mode {mode}, {runs}. The loss is the cross-entropy in nats of each agent's "
        "batch at its own model."
    )
