"""One run: what was trained, how well, and what it gave away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from dpdl.errors import DpdlError, InputError
from dpdl.report.figures import BLUE, INK, ORANGE, draw_graph, draw_partition, save
from dpdl.report.frontier import styled
from dpdl.report.page import Section, facts, heading, paragraphs, said, small_picture, table, wide_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dpdl.run.plan import Plan

CALIBRATION = {"coefficient": (BLUE, (0.25, 0.75)), "cosine": (ORANGE, (-1.0, 1.0))}
"""Colour, and the range that can occur: noise around the middle must not look like a trend."""
Metrics = Sequence[Mapping[str, Any]]


def of_run(summary: Mapping[str, Any], settings: Mapping[str, Any], folder: Path) -> Section:
    """From `summary.json`, the settings in `experiment.json`, and what is beside them."""
    from dpdl.run.store import RunFolder

    s = summary
    title = f"{s['algorithm']} on {s['dataset']}, {s['graph']} of {s['agents']} agents"
    html = [
        said(s["privacy_statement"]),
        table(["what", "value"], _results(s), f"Result of {title}."),
        _curves(s, folder),
        _calibration(RunFolder(folder).metrics()),
        heading("Who holds what, and who talks to whom"),
        _world(settings, folder),
        heading("All settings"),
        facts({name: _setting(value) for name, value in settings.items()}),
        heading("Versions"),
        facts({name: str(value) for name, value in s["versions"].items()}),
    ]
    return Section(f"run-{_key(folder)}", title, "\n".join(filter(None, html)))


def _results(s: Mapping[str, Any]) -> list[tuple[str, str]]:
    accuracy = s["accuracy"]
    return [
        ("test accuracy, mean over agents", f"{accuracy['mean']:.2%}"),
        ("worst and best agent", f"{accuracy['worst']:.2%} and {accuracy['best']:.2%}"),
        ("average of all models", f"{accuracy['average_model']:.2%}"),
        ("rounds", f"{s['rounds']:,}"),
        ("sent by all agents", f"{s['bytes_sent'] / 1e6:,.0f} MB"),
        ("time", f"{s['seconds']:,.0f} s"),
        *((_epsilon(name), _number(value)) for name, value in s["epsilon"].items() if value is not None),
    ]


def _curves(s: Mapping[str, Any], folder: Path) -> str:
    path = folder / "training.png"
    if not path.exists():
        return ""
    words = f"Test accuracy and training loss over the rounds; the last accuracy is {s['accuracy']['mean']:.1%}."
    return wide_picture(path, words, "Mean over agents; the band reaches from the worst to the best.")


# ------------------------------------------------------------------ calibration
def calibration_figure(metrics: Metrics) -> Figure:
    """DPDL's mean coefficient and mean cosine over the rounds in which both were measured."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    rounds = _calibrated(metrics)
    if not rounds:
        raise InputError("There are no coefficients to draw.")
    figure = Figure(figsize=(10, 3.8), facecolor="white", layout="constrained")
    panels = figure.subplots(1, len(CALIBRATION))
    for axes, (name, (colour, ends)) in zip(panels, CALIBRATION.items(), strict=True):
        at, values = [m["round"] for m in rounds], [m[name] for m in rounds]
        axes.plot(at, values, color=colour, lw=1.8, marker="o" if len(at) == 1 else "")
        axes.set_ylim(*ends)
        axes.set_title(f"mean {name}", size=11, color=INK, loc="left")
        axes.set_xlabel("round")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        styled(axes)
    figure.suptitle("Calibration", size=12, weight="bold", color=INK)
    return figure


def _calibrated(metrics: Metrics) -> list[Mapping[str, Any]]:
    return [m for m in metrics if all(m.get(name) is not None for name in CALIBRATION)]


def _calibration(metrics: Metrics) -> str:
    rounds = _calibrated(metrics)
    if not rounds:
        return ""
    first, last = rounds[0], rounds[-1]
    words = (
        f"Mean calibration coefficient and mean cosine over the rounds; the coefficient is {first['coefficient']:.3f} "
        f"in round {first['round']} and {last['coefficient']:.3f} in round {last['round']}."
    )
    caption = (
        "How much of an agent's own gradient is added to a neighbour's: the coefficient is 1 / (1 + exp(cosine)), "
        "0.5 for gradients that have nothing in common. Mean over agents and their neighbours."
    )
    with TemporaryDirectory() as place:
        return wide_picture(save(calibration_figure(metrics), Path(place) / "calibration.png"), words, caption)


# ------------------------------------------------------------------ data and graph
def _world(settings: Mapping[str, Any], folder: Path) -> str:
    """The partition and the graph; a sentence when the data are not here. Nothing is fetched for a page."""
    from dpdl.run.train import replan
    from dpdl.tasks.data import NAMES, is_here

    dataset = settings["dataset"]
    if dataset in NAMES and not is_here(dataset):
        return paragraphs(f"Not shown: the data set is not here; get it with dpdl data fetch {dataset}.")
    try:
        plan = replan(folder)
    except DpdlError as failure:
        return paragraphs(f"Not shown: {failure}")
    with TemporaryDirectory() as place:
        return "\n".join((_partition(plan, Path(place)), _graph(plan, Path(place))))


def _partition(plan: Plan, place: Path) -> str:
    from dpdl.tasks.partition import class_counts

    counts = class_counts(plan.parts, plan.data.y, plan.data.classes)
    path = draw_partition(counts, place / "partition.png", f"{plan.data.name}, {plan.experiment.partition}")
    sizes = counts.sum(axis=1)
    words = (
        f"Heat map of how many records of each of {plan.data.classes} classes each of {len(sizes)} agents holds; "
        f"the agents hold from {sizes.min():,} to {sizes.max():,} records."
    )
    return wide_picture(path, words, "Records of each class at each agent, with each agent's total above.")


def _graph(plan: Plan, place: Path) -> str:
    graph = plan.graph
    words = f"The graph {graph.name}: {graph.N} agents and {graph.edge_count} edges."
    return small_picture(draw_graph(graph, place / "graph.png"), words, "Agents that are joined exchange messages.")


# ------------------------------------------------------------------ words
def _setting(value: Any) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _epsilon(name: str) -> str:
    words = "claimed by Theorem 1" if name == "claimed_theorem1" else f"proven, {name.replace('_', ' ')}"
    return f"epsilon, {words}"


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"


def _key(folder: Path) -> str:
    return "".join(c if c.isalnum() else "-" for c in folder.resolve().name)
