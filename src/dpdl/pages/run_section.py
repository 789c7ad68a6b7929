"""One run: what was trained, how well, and what it gave away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from dpdl.errors import DpdlError
from dpdl.extras import drawn
from dpdl.folder import class_counts, names
from dpdl.folder.metrics import Metrics
from dpdl.folder.run_folder import RunFolder
from dpdl.folder.run_graph import graph_of_run
from dpdl.folder.summary import Summary
from dpdl.pages.calibration import calibration
from dpdl.pages.coverage import (
    FOLDER,
    alarms,
    closed_settings,
    limits,
    open_settings,
    tested_in_private,
)
from dpdl.pages.epsilon_words import listener_words, threat_of
from dpdl.pages.figures import draw_graph, draw_partition, save
from dpdl.pages.live_curves import enlivened, loss_curves, score_curves
from dpdl.pages.page import (
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
    without_pictures,
)
from dpdl.pages.risk_numbers import best_guess
from dpdl.pages.training_curves import (
    RunWords,
    loss_figure,
    score_figure,
    title_of,
    words_of,
)
from dpdl.privacy.epsilons import CLAIMED
from dpdl.privacy.threats import EAVESDROPPER, Threat, threat
from dpdl.records import Json

if TYPE_CHECKING:
    pass

HARDLY = "That is close to certainty: such an epsilon promises hardly anything."
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
    listener = threat(str(settings.get("threat", EAVESDROPPER)))
    about = words_of(s, listener)
    closed = tested_in_private(settings)
    inside = (_scores(s) if closed else {}) | _unprotected(s, metrics)
    results = ({} if closed else _scores(s)) | _results(s)
    parts = [
        public(highlighted(s.privacy_statement)),
        _in_plain_words(s, listener),
        public(table(["what", "value"], results.items(), f"Result of {title}.")),
        private(f"{', '.join(inside)} (numbers)", _without_noise(inside))
        if inside
        else None,
        without_pictures(),
        *drawn(lambda: _curves(metrics, about, closed), list[PagePart]()),
        drawn(lambda: calibration(s.algorithm, metrics), None),
        drawn(lambda: _graph(run), None),
        drawn(lambda: _partition(run, missing), None),
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


def _in_plain_words(s: Summary, listener: Threat) -> PagePart | None:
    """What the proven epsilon means, for people who know none; nothing where none is proven."""
    epsilon = s.epsilon.against(listener).finite
    if epsilon is None:
        return None
    share = best_guess(epsilon, s.delta)
    return public(
        paragraphs(
            "In plain words: half of some records were used, and "
            f"{listener_words(listener)} guesses for one of them whether it was. As long "
            f"as the noise is secret, at most {share:.2%} of such guesses are right. "
            "Without any message 50 % are. "
            + (HARDLY if share > 0.99 else "The smaller epsilon, the nearer the two.")
        )
    )


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
        "Computed from private records without noise; losses and shares are those of "
        "the last evaluated round.",
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
    right = enlivened(right, score_curves(metrics, about.algorithm), metrics)
    wrong = enlivened(wrong, loss_curves(about.algorithm), metrics)
    scores = public(right)
    if tested_in_private:
        scores = private(f"test {score.label} over the rounds (curve)", right)
    return [scores, private("training loss over the rounds (curve)", wrong)]


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
    return f"epsilon, proven against {listener_words(threat_of(name))}"


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def _key(folder: Path) -> str:
    return "".join(c if c.isalnum() else "-" for c in folder.resolve().name)
