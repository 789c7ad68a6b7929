"""One run: what was trained, how well, and what it gave away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from dpdl.algorithms import named
from dpdl.errors import DpdlError, InputError
from dpdl.folder import class_counts, names
from dpdl.folder.metrics import Metrics
from dpdl.folder.run_folder import RunFolder
from dpdl.folder.run_graph import graph_of_run
from dpdl.folder.summary import Summary
from dpdl.privacy.epsilons import CLAIMED
from dpdl.privacy.threats import EAVESDROPPER, threat
from dpdl.records import Json
from dpdl.report.captions import Words, captioned
from dpdl.report.coverage import (
    FOLDER,
    alarms,
    closed_settings,
    limits,
    open_settings,
    tested_in_private,
)
from dpdl.report.figures import BLUE, INK, ORANGE, draw_graph, draw_partition, save
from dpdl.report.frontier import styled
from dpdl.report.live_curves import enlivened, loss_curves, score_curves
from dpdl.report.page import (
    PagePart,
    Section,
    facts,
    heading,
    highlighted,
    paragraphs,
    private,
    public,
    small_picture,
    table,
    wide_picture,
)
from dpdl.report.training_curves import (
    MARKS,
    STEPS,
    RunWords,
    loss_figure,
    score_figure,
    title_of,
    words_of,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CALIBRATION = {"coefficient": (BLUE, (0.25, 0.75)), "cosine": (ORANGE, (-1.0, 1.0))}
"""Colour, and the range that can occur: noise around the middle must not look like a trend."""
WORLD, HOLDINGS = "Who talks to whom", "Who holds what"
Measured = Sequence[Metrics]


def of_run(
    summary: Summary,
    settings: Mapping[str, Json],
    folder: Path,
    missing: str = f"the run folder has no {names.PARTITION}.",
) -> Section:
    """From `summary.json`, the settings in `experiment.json`, and what is beside them.

    `missing` says why there are no class counts, if there are none.
    """
    s, run = summary, RunFolder(folder)
    metrics = run.metrics()
    title = title_of(s)
    about = words_of(s, threat(str(settings.get("threat", EAVESDROPPER))))
    closed = tested_in_private(settings)
    inside = (_scores(s) if closed else {}) | _unprotected(s, metrics)
    results = ({} if closed else _scores(s)) | _results(s)
    parts = [
        public(highlighted(s.privacy_statement)),
        public(table(["what", "value"], results.items(), f"Result of {title}.")),
        private(f"{', '.join(inside)} (numbers)", _without_noise(inside))
        if inside
        else None,
        *_curves(metrics, about, closed),
        _calibration(s.algorithm, metrics),
        _graph(run),
        _partition(run, missing),
        *_last(s, settings),
    ]
    return Section(
        f"run-{_key(folder)}",
        title,
        list(filter(None, parts)),
        limits(s),
        FOLDER,
        alarms(s, settings),
    )


def _last(s: Summary, settings: Mapping[str, Json]) -> list[PagePart]:
    """Settings and versions."""
    parts = (
        public(heading("Settings"), _settings(open_settings(settings))),
        private("the seed, and where files are", _settings(closed_settings(settings))),
        public(heading("Versions"), facts(s.versions)),
    )
    return [part._replace(setting=True) for part in parts]


def _scores(s: Summary) -> dict[str, str]:
    score = s.score
    ends = f"{score.show(score.worst)} and {score.show(score.best)}"
    return {
        f"test {score.label}, mean over agents": score.show(score.mean),
        "worst and best agent": ends,
        "average of all models": score.show(score.average_model),
    }


def _results(s: Summary) -> dict[str, str]:
    known = {name: value for name, value in s.epsilon.items() if value.known}
    return {
        "rounds": f"{s.rounds:,}",
        "sent by all agents": f"{s.bytes_sent / 1e6:,.0f} MB",
    } | {_label(name): str(value) for name, value in known.items()}


def _unprotected(s: Summary, metrics: Measured) -> dict[str, str]:
    """What was measured on private records without any noise; old runs have less of it."""
    diagnostics = metrics[-1].diagnostics if metrics else {}
    found = {
        "training loss": s.train_loss,
        "clipped gradients": diagnostics.get("clip_fraction"),
        "gradients that were not finite": s.broken_gradients,
        "fewest records of an agent": s.records.fewest if s.records else None,
        "most records of an agent": s.records.most if s.records else None,
        "seconds of the run": s.seconds,
    }
    return {name: _number(value) for name, value in found.items() if value is not None}


def _without_noise(values: Mapping[str, str]) -> str:
    return table(
        ["what", "value"],
        values.items(),
        "Computed from records without noise; losses and shares of the end.",
    )


def _curves(
    metrics: Measured, about: RunWords, tested_in_private: bool
) -> list[PagePart]:
    """Score and loss over the rounds; the score is public if the test records are."""
    if not metrics:
        return []
    score, loss = metrics[-1].score, _number(metrics[-1].train_loss.mean)
    end = score.show(score.mean, 1)
    shown = (
        (score_figure, f"Test {score.label} over the rounds; the last one is {end}."),
        (loss_figure, f"Training loss over the rounds; the last one is {loss}."),
    )
    caption = "Mean over agents; the band reaches from the worst to the best."
    with TemporaryDirectory() as place:
        path = Path(place) / "curve.png"
        right, wrong = (
            small_picture(save(draw(metrics, about), path), words, caption)
            for draw, words in shown
        )
    right = enlivened(right, score_curves(metrics), metrics)
    wrong = enlivened(wrong, loss_curves(), metrics)
    scores = public(right)
    if tested_in_private:
        scores = private(f"test {score.label} over the rounds (curve)", right)
    return [scores, private("training loss over the rounds (curve)", wrong)]


# ------------------------------------------------------------------ calibration
def calibration_figure(metrics: Measured) -> Figure:
    """DPDL's mean coefficient and mean cosine over the rounds in which both were measured."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    rounds = _calibrated(metrics)
    if not rounds:
        raise InputError("There are no coefficients to draw.")
    figure = Figure(figsize=(10, 3.8), facecolor="white", layout="constrained")
    panels = figure.subplots(1, len(CALIBRATION))
    for axes, (name, (colour, ends)) in zip(panels, CALIBRATION.items(), strict=True):
        at = [m.round for m in rounds]
        values = [m.diagnostics[name] for m in rounds]
        every = -(-len(at) // MARKS)
        axes.plot(at, values, color=colour, lw=1.8, marker="o", ms=4, markevery=every)
        axes.set_ylim(*ends)
        axes.set_title(f"mean {name}", size=11, color=INK, loc="left")
        axes.set_xlabel("round")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=STEPS))
        styled(axes)
    captioned(figure, Words("Calibration"))
    return figure


def _calibrated(metrics: Measured) -> list[Metrics]:
    def complete(m: Metrics) -> bool:
        return all(m.diagnostics.get(name) is not None for name in CALIBRATION)

    return list(filter(complete, metrics))


def _calibration(algorithm: str, metrics: Measured) -> PagePart | None:
    """Public for dpdl-sound only, which computes both from perturbed gradients."""
    rounds = _calibrated(metrics)
    if not rounds:
        return None
    first, last = rounds[0], rounds[-1]
    words = (
        "Mean calibration coefficient and mean cosine over the rounds; the coefficient "
        f"is {first.diagnostics['coefficient']:.3f} in round {first.round} and "
        f"{last.diagnostics['coefficient']:.3f} in round {last.round}."
    )
    caption = (
        "How much of an agent's own gradient is added to a neighbour's: the "
        "coefficient is 1 / (1 + exp(cosine)), 0.5 for gradients that have nothing in "
        "common. Mean over agents and their neighbours."
    )
    with TemporaryDirectory() as place:
        html = wide_picture(
            save(calibration_figure(metrics), Path(place) / "calibration.png"),
            words,
            caption,
        )
    return (
        public(html)
        if "cosine" in named(algorithm).kind.public_diagnostics
        else private("cosines and calibration coefficients", html)
    )


# ------------------------------------------------------------------ data and graph
def _graph(run: RunFolder) -> PagePart:
    """Who talks to whom; a sentence when the folder does not say it."""
    try:
        graph = graph_of_run(run)
    except DpdlError as failure:  # it may name the folder
        return _not_shown("why the graph is not shown", WORLD, str(failure))
    words = f"The graph {graph.name}: {graph.N} agents and {graph.edge_count} edges."
    with TemporaryDirectory() as place:
        picture = small_picture(
            draw_graph(graph, Path(place) / "graph.png"),
            words,
            "Agents that are joined exchange messages.",
        )
    return public(heading(WORLD), picture)


def _partition(run: RunFolder, missing: str) -> PagePart:
    """Who holds what; `missing` says why the folder does not tell, if so."""
    found = class_counts.read(run)
    if found is None:
        return _not_shown("why the partition is not shown", HOLDINGS, missing)
    sizes = [sum(row) for row in found.counts]
    words = (
        f"Heat map of how many records of each of {len(found.counts[0])} classes each "
        f"of {len(sizes)} agents holds; the agents hold from {min(sizes):,} to "
        f"{max(sizes):,} records."
    )
    caption = "Records of each class at each agent, with each agent's total above."
    title = f"{found.dataset}, {found.partition}"
    with TemporaryDirectory() as place:
        path = draw_partition(found.counts, Path(place) / "heat_map.png", title)
        picture = wide_picture(path, words, caption)
    what = "records of each class at each agent (heat map)"
    return private(what, heading(HOLDINGS), picture)


def _not_shown(what: str, title: str, why: str) -> PagePart:
    return private(what, heading(title), paragraphs(f"Not shown: {why}"))


# ------------------------------------------------------------------ words
def _settings(values: Mapping[str, Json]) -> str:
    return facts({name: _setting(value) for name, value in values.items()})


def _setting(value: Json) -> str:
    if value is None:
        return "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _label(name: str) -> str:
    """An epsilon by its key in `summary.json`."""
    if name == CLAIMED:
        return "epsilon, claimed by Theorem 1"
    return f"epsilon, proven, {name.replace('_', ' ')}"


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def _key(folder: Path) -> str:
    return "".join(c if c.isalnum() else "-" for c in folder.resolve().name)
