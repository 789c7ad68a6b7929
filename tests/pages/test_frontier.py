"""The picture of accuracy against epsilon shows the paper's points beside ours."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from dpdl.errors import InputError
from dpdl.pages.captions import Words
from dpdl.pages.frontier import draw_frontier, frontier_figure
from tests.pages.cells import row

WORDS = Words("title", "what is proven")


def test_the_title_and_the_axis_say_which_epsilon_is_meant() -> None:
    figure = frontier_figure([row(epsilon=2.0)], ["dpdl"], WORDS)
    title, detail = (text.get_text() for text in figure.texts)
    assert title == "title" and " ".join(detail.split()).startswith("what is proven ")
    assert "one standard deviation" in detail
    (axes,) = figure.axes
    assert axes.get_xlabel() == "epsilon (ours proven, paper's claimed)"
    larger = row(epsilon=0.5)  # its runs prove 2
    (axes,) = frontier_figure([larger], ["dpdl"], WORDS).axes
    assert axes.get_xlabel() == "epsilon (claimed)"


def test_the_papers_points_are_beside_ours() -> None:
    rows = [
        row(),
        row(graph="complete", epsilon=1.0, ours=80.0, spread=2.0),
        row(algorithm="dp-cga", paper=70.0),
    ]
    figure = frontier_figure(rows, ["dpdl", "dp-cga"], WORDS)
    complete, ring = figure.axes
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["complete", "ring"]
    for axes, wanted in ((complete, {91.8: 80.0}), (ring, {91.8: 90.5, 70.0: 90.5})):
        theirs = [line for line in axes.lines if line.get_gid() == "paper"]
        ours = [line for line in axes.lines if line.get_gid() == "ours"]
        assert {
            float(a.get_ydata()[0]): float(b.get_ydata()[0])
            for a, b in zip(theirs, ours, strict=True)
        } == wanted
        for a, b in zip(theirs, ours, strict=True):
            assert (
                a.get_markerfacecolor() == "white"
                and b.get_markerfacecolor() == b.get_color() == a.get_color()
            )
            assert a.get_xdata()[0] < b.get_xdata()[0]
        assert [label.get_text() for label in axes.get_xticklabels()] == ["0.5", "1"]
    looks = {
        (line.get_color(), line.get_marker()) for line in ring.lines if line.get_gid()
    }
    assert len(looks) == 2, "an algorithm has a colour and a mark of its own"
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert words == ["dpdl", "dp-cga", "hollow: paper", "filled: ours"]


def test_what_is_alone_stands_at_its_epsilon() -> None:
    (axes,) = frontier_figure([row()], ["dp-cga", "muffliato", "dpdl"], WORDS).axes
    left, right = (float(line.get_xdata()[0]) for line in axes.lines if line.get_gid())
    assert 0.48 < left < 0.5 < right < 0.52


def test_an_algorithm_looks_the_same_in_every_figure() -> None:
    names = ["dpdl", "dp-cga", "muffliato"]
    alone, among = (
        frontier_figure([row(algorithm=name) for name in some], names, WORDS)
        for some in (["muffliato"], names)
    )
    assert alone.axes[0].lines[0].get_color() == among.axes[0].lines[-1].get_color()
    (first, *_), names_shown = (
        alone.legends[0].get_lines(),
        alone.legends[0].get_texts(),
    )
    assert (
        names_shown[0].get_text() == "muffliato"
        and first.get_color() == alone.axes[0].lines[0].get_color()
    )


def test_bars_are_one_standard_deviation_to_either_side() -> None:
    (axes,) = frontier_figure([row(spread=2.0), row(epsilon=1.0)], ["dpdl"], WORDS).axes
    ends = [bar.get_segments()[0][:, 1].tolist() for bar in axes.collections]
    assert ends == [
        pytest.approx(pair)
        for pair in ([91.2, 92.4], [88.5, 92.5], [91.2, 92.4], [90.5, 90.5])
    ]


def test_nothing_is_not_drawn() -> None:
    with pytest.raises(InputError, match="no measured cells"):
        frontier_figure([], [], WORDS)


def test_an_algorithm_beyond_the_paper_has_no_point_of_the_papers() -> None:
    decor = row(algorithm="decor", beyond=True, difference=4.9)
    (axes,) = frontier_figure([decor], ["decor"], WORDS).axes
    assert [line.get_gid() for line in axes.lines if line.get_gid()] == ["ours"]


def test_the_picture_is_wider_with_several_graphs(tmp_path: Path) -> None:
    sizes = []
    for graphs in (["ring"], ["ring", "complete"]):
        rows = [row(graph=graph) for graph in graphs]
        path = draw_frontier(rows, ["dpdl"], tmp_path / "x.png", WORDS)
        with Image.open(path) as image:
            sizes.append(image.size)
    (narrow, height), (wide, same) = sizes
    assert wide > narrow and height == same
