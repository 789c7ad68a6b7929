"""Figures of convergence show every curve there is, and say what they show."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.text import Text
from PIL import Image

from dpdl.errors import InputError
from dpdl.pages.compared_cells import MeasuredCell
from dpdl.pages.convergence import (
    band_of,
    convergence_figure,
    draw_convergence,
    ordered,
)
from dpdl.pages.lines import LOOKS
from dpdl.pages.paper_tables import of_mode
from dpdl.privacy.epsilon import Epsilon
from tests.pages.cells import CELL, FIVE, cell, curve, enter, made, part
from tests.pages.parsing import images, parsed

GUARANTEE = "the epsilon is proven"


def line(algorithm: str = "dpdl", curves: tuple | None = None, **more) -> MeasuredCell:
    """A cell with curves."""
    found = (curve(2.0, 1.0),) if curves is None else curves
    return cell(*found, algorithm=algorithm, **more)


def figure_of(rows: list[MeasuredCell], mode: str = "sound"):
    return convergence_figure(rows, ordered(FIVE), mode, GUARANTEE)


def titles(figure) -> list[str]:
    return [axes.get_title(loc="left") for axes in figure.axes]


# ------------------------------------------------------------------ panels
def test_there_is_one_panel_for_each_place_with_a_curve() -> None:
    rows = [line(agents=n, epsilon=e) for n in (10, 20) for e in (0.25, 0.5, 1.0)]
    rows += [line(agents=30, epsilon=0.5), line(agents=30, epsilon=1.0, curves=())]
    rows += [line("dp-cga", agents=10, epsilon=0.25)]
    figure = figure_of(rows)
    assert titles(figure) == [
        *(f"10 agents, epsilon {e} (claimed)" for e in ("0.25", "0.5", "1")),
        *(f"20 agents, epsilon {e} (claimed)" for e in ("0.25", "0.5", "1")),
        "30 agents, epsilon 0.5 (claimed)",
    ]
    figure.draw_without_rendering()
    left, top = np.array(
        [axes.get_position().get_points()[[0, 1], [0, 1]] for axes in figure.axes]
    ).T
    assert len({round(x, 2) for x in left}) == 3, (
        "a column for each epsilon, also where a panel is missing"
    )
    assert left[6] == pytest.approx(left[1], abs=0.01) and top[6] < top[3] < top[0]


def test_axes_are_named_at_the_edge_and_shared() -> None:
    rows = [
        line(agents=10, epsilon=0.25),
        line(agents=10, epsilon=0.5),
        line(agents=20, epsilon=0.5),
    ]
    figure = figure_of(rows)
    assert [(axes.get_xlabel(), axes.get_ylabel()) for axes in figure.axes] == [
        ("round", "training loss (nats)"),
        ("", ""),
        ("round", "training loss (nats)"),
    ]
    assert (
        len({axes.get_ylim() for axes in figure.axes})
        == len({axes.get_xlim() for axes in figure.axes})
        == 1
    )


def test_nothing_is_not_drawn() -> None:
    for rows in ([], [line(curves=())], [line(curves=(curve(None, None),))]):
        with pytest.raises(InputError, match="no curves"):
            figure_of(rows)


# ------------------------------------------------------------------ lines
def test_a_line_is_the_mean_and_the_shade_goes_from_lowest_to_highest() -> None:
    seeds = (curve(2.0, 1.0, 0.5), curve(3.0, 2.0, 0.7, spread=0.3))
    (axes,) = figure_of([line(curves=seeds)]).axes
    assert axes.lines[0].get_xydata() == pytest.approx(
        np.array([[0, 2.5], [50, 1.5], [100, 0.6]])
    )
    shade = axes.collections[0].get_paths()[0].vertices
    for t, low, high in ((0, 1.9, 3.3), (50, 0.9, 2.3), (100, 0.4, 1.0)):
        ends = shade[shade[:, 0] == t, 1]
        assert (ends.min(), ends.max()) == pytest.approx((low, high))


def test_only_rounds_that_all_seeds_have_are_averaged() -> None:
    band = band_of(
        [curve(2.0, 1.0, 0.5), curve(3.0, None, 0.7), curve(1.0, 1.0, 1.0, 1.0)]
    )
    assert band.rounds == [0, 100] and band.mean == pytest.approx(
        [2.0, (0.5 + 0.7 + 1.0) / 3]
    )
    assert band_of([]).rounds == [] and len(band_of([curve(None)]).mean) == 0


def test_every_algorithm_has_a_colour_and_a_dash_of_its_own_everywhere() -> None:
    rows = [
        line(name, epsilon=e)
        for name in FIVE
        for e in (0.25, 0.5)
        if (name, e) != ("dp-cga", 0.5)
    ]
    first, second = figure_of(rows).axes
    looks = {
        one.get_label(): (
            one.get_color(),
            one.get_linestyle(),
            one._unscaled_dash_pattern,
        )
        for one in first.lines
    }
    assert list(looks) == ["dpdl", "dp-cga", "dp-dpsgd", "dp-netfleet", "muffliato"]
    assert (
        len({look[0] for look in looks.values()}) == 5
        and len({str(look[1:]) for look in looks.values()}) == 5
    )
    for one in second.lines:
        assert looks[one.get_label()][0] == one.get_color(), (
            "also where another one is missing"
        )
    assert "dp-cga" not in {one.get_label() for one in second.lines}
    assert looks["dpdl"][:2] == (LOOKS["dpdl"].colour, "-")


def test_an_epsilon_is_proven_if_all_runs_of_its_panel_prove_it() -> None:
    good, bad = Epsilon(0.4999), Epsilon(0.7)
    rows = [line(proven=good), line("dp-cga", proven=good)]
    assert titles(figure_of(rows)) == ["10 agents, epsilon 0.5 (proven)"]
    rows += [line("muffliato", proven=bad)]
    assert titles(figure_of(rows)) == ["10 agents, epsilon 0.5 (claimed)"]


def test_one_round_is_visible() -> None:
    (axes,) = figure_of([line(curves=(curve(2.0),))]).axes
    assert axes.lines[0].get_marker() == "o" and len(axes.collections) == 1


@pytest.mark.parametrize(
    ("losses", "spread", "scale"),
    [
        ((2.0, 0.3), 0.1, "linear"),
        ((2.0, 0.15), 0.1, "log"),
        ((2.0, 0.15), 0.15, "linear"),
        ((2.0, 400.0), 0.1, "log"),
    ],
)
def test_the_axis_is_logarithmic_where_that_shows_more(
    losses: tuple, spread: float, scale: str
) -> None:
    for axes in figure_of(
        [line(curves=(curve(*losses, spread=spread),)), line(epsilon=1.0)]
    ).axes:
        assert axes.get_yscale() == scale
        assert scale == "log" or axes.get_ylim()[0] == 0, "a linear axis begins at zero"


def test_algorithms_beyond_the_paper_come_last() -> None:
    assert ordered(["muffliato", "decor"]) == [
        "dpdl",
        "dp-cga",
        "dp-dpsgd",
        "dp-netfleet",
        "muffliato",
        "decor",
    ]
    assert ordered([]) == ordered(["dpdl", "decor"])[:-1]


# ------------------------------------------------------------------ words
def words_of(figure) -> str:
    return " ".join(figure.texts[1].get_text().split())


def test_title_names_and_guarantee_are_there() -> None:
    figure = figure_of([line(), line("muffliato")])
    title = " ".join(figure.texts[0].get_text().split())
    assert title == "Convergence: mnist, ring, alpha_d 0.25, mode sound"
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.texts] == ["dpdl", "muffliato"]
    assert not figure.legends
    assert words_of(figure) == (
        "The epsilon is proven. Line: mean of the agents, one seed. Shaded: from the "
        "lowest to the highest agent."
    )


def test_names_are_in_a_legend_where_the_last_panel_lacks_one() -> None:
    figure = figure_of([line(), line("muffliato"), line("dpdl", epsilon=1.0)])
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["dpdl", "muffliato"]
    assert not any(axes.texts for axes in figure.axes)


def test_seeds_are_counted_in_words() -> None:
    two = (curve(2.0, 1.0),) * 2
    assert "of the agents and of 2 seeds." in words_of(figure_of([line(curves=two)]))
    assert "of 1 to 3 seeds." in words_of(
        figure_of([line(curves=(*two, two[0])), line(epsilon=1.0)])
    )


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_words_fit_into_the_picture(columns: int) -> None:
    long = (
        "the epsilon is claimed by Theorem 1; what is proven is larger, see each result "
        * 2
    )
    rows = [line(name, epsilon=e) for name in FIVE for e in (0.25, 0.5, 1.0)[:columns]]
    figure = convergence_figure(rows, ordered(FIVE), "algorithm1", long)
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in figure.texts]
    boxes += [
        Text.get_window_extent(text) for axes in figure.axes for text in axes.texts
    ]
    assert all(box.x0 >= 0 and box.x1 <= figure.bbox.width for box in boxes)
    above = figure.texts[-1].get_window_extent().y0
    assert all(axes.get_tightbbox().y1 <= above + 1 for axes in figure.axes)


def test_the_picture_is_written(tmp_path: Path) -> None:
    rows = [
        line(name, agents=n, epsilon=e)
        for name in FIVE
        for n in (10, 20, 30)
        for e in (0.25, 0.5, 1.0)
    ]
    path = draw_convergence(rows, ordered(FIVE), tmp_path / "x.png", "sound", GUARANTEE)
    with Image.open(path) as image:
        assert (
            image.format == "PNG" and 900 <= min(image.size) <= max(image.size) <= 2400
        )
        assert np.asarray(image.convert("L")).std() > 5


# ------------------------------------------------------------------ the page
def test_the_page_has_a_figure_for_each_graph_with_curves() -> None:
    cells = [
        line(curves=(curve(2.0, 0.31),)),
        line(agents=20, curves=(curve(2.0, 10.0),) * 2),
        line("dp-cga", curves=(curve(2.0, 0.9),)),
        line(graph="complete"),
        line(graph="bipartite", curves=()),
        line(alpha_d=1.0),  # not in the paper's figures
    ]
    html = of_mode("sound", GUARANTEE, 540, cells, []).html
    assert html.count("<h3>Convergence, sound</h3>") == 1
    assert (
        html.index("Accuracy against epsilon")
        < html.index("Convergence, sound")
        < html.index("Ranking of the")
    )
    complete, ring = [
        text for text in images(html) if text.startswith("Training loss over rounds")
    ]
    assert complete == (
        "Training loss over rounds, mnist, complete, alpha_d 0.25, one panel for each "
        "number of agents and epsilon: "
        "10 agents, epsilon 0.5 (claimed). Mean loss in the last round: dpdl 1.00."
    )
    panels = "10 agents, epsilon 0.5 (claimed); 20 agents, epsilon 0.5 (claimed)."
    assert panels in ring
    assert ring.endswith(
        "Mean loss in the last round: dpdl 0.31 to 10.00, dp-cga 0.90."
    )
    assert "Mode sound, 4 runs." in html and "Mode sound, 1 run." in html
    assert html.count('class="wide tall"') == 1, "one panel alone is not enlarged"


def test_without_curves_the_page_is_as_before() -> None:
    for cells in (
        [cell()],
        [line(curves=())],
        [line(curves=(curve(None),))],
        [line(alpha_d=1.0)],
    ):
        assert "Convergence" not in of_mode("sound", GUARANTEE, 540, cells, []).html


def test_the_report_of_results_has_them(tmp_path: Path, monkeypatch, capsys) -> None:
    enter(tmp_path, CELL, 0.0)
    with_curve = curve(2.3, 0.42, step=300)
    enter(tmp_path, CELL, 0.0, mode="sound", proven=Epsilon(0.5), curve=with_curve)
    text = made(tmp_path, monkeypatch, capsys)
    parsed(text)
    assert "Convergence" not in part(text, "as-published"), (
        "a result without a curve is shown as before"
    )
    assert "Mean loss in the last round: dpdl 0.42." in part(text, "sound")


def test_a_cell_keeps_its_name_whatever_was_run_for_it() -> None:
    """In mode sound, dpdl-sound runs for the cells of DPDL."""
    figure = figure_of([line()])
    (axes,) = figure.axes
    assert axes.texts[0].get_text() == CELL.algorithm == "dpdl"
