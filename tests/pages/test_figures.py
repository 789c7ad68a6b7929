"""Figures hold what they claim to show, and files appear whole or not at all."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from dpdl.errors import InputError
from dpdl.graph import Graph, build
from dpdl.pages import figures

COUNTS = np.array([[5, 0, 1], [0, 7, 2]])


def texts(axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


@pytest.mark.parametrize("suffix", ["png", "svg", "PDF"])
def test_every_figure_is_written_in_every_format(tmp_path, suffix):
    figures.draw_graph(build("ring", 10), tmp_path / f"graph.{suffix}")
    figures.draw_partition(COUNTS, tmp_path / f"partition.{suffix}", "two agents")
    heads = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    files = sorted(tmp_path.iterdir())
    assert [path.stem for path in files] == ["graph", "partition"]
    assert all(path.read_bytes().startswith(heads[suffix.lower()]) for path in files)


def test_pictures_have_a_readable_size(tmp_path):
    for name, N in (("complete", 30), ("torus", 400)):
        with Image.open(
            figures.draw_graph(build(name, N), str(tmp_path / f"{name}.png"))
        ) as image:
            assert 800 <= min(image.size) <= max(image.size) <= 2400
            assert np.asarray(image.convert("L")).std() > 5


def test_a_graph_shows_all_agents_and_edges():
    graph = build("torus", 30, "sinkhorn")
    figure = figures.graph_figure(graph)
    lines, dots = figure.axes[0].collections
    assert texts(figure.axes[0]) == [str(agent) for agent in range(30)]
    assert len(lines.get_paths()) == graph.edge_count == 60
    assert len(dots.get_offsets()) == 30
    assert [text.get_text() for text in figure.texts] == [
        "torus:5x6",
        f"30 agents, 60 edges, spectral gap {graph.spectral_gap:.3g}",
    ]


def test_a_heavier_edge_is_wider_and_darker():
    W = np.array([[0.8, 0.1, 0.1], [0.1, 0.3, 0.6], [0.1, 0.6, 0.3]])
    lines = figures.graph_figure(Graph(W)).axes[0].collections[0]
    widths, brightness = lines.get_linewidths(), lines.get_colors()[:, :3].sum(axis=1)
    assert widths[-1] == max(widths) > min(widths)
    assert brightness[-1] == min(brightness) < max(brightness)


def test_equal_weights_are_named_instead_of_shaded():
    assert "every edge weighs 0.333" in texts(
        figures.graph_figure(build("ring", 10)).axes[0]
    )


def test_a_large_dense_graph_draws_a_selection_and_says_so():
    figure = figures.graph_figure(build("complete", 300))
    assert len(figure.axes[0].collections[0].get_paths()) == figures.MOST_EDGES
    assert "44,850 edges (6,000 drawn)" in figure.texts[1].get_text()
    assert not any(text.isdecimal() for text in texts(figure.axes[0]))


def test_one_agent_alone_can_be_drawn():
    assert (
        "1 agent, 0 edges"
        in figures.graph_figure(build("complete", 1)).texts[1].get_text()
    )


def test_a_name_is_never_read_as_a_formula(tmp_path):
    figures.draw_graph(Graph(np.eye(1), "a$b^$.edges"), tmp_path / "x.png")
    figures.draw_partition(COUNTS, tmp_path / "y.png", "cost $5_")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.png", "y.png"]
    shown = [
        text.get_text()
        for text in figures.graph_figure(Graph(np.eye(1), "a$b^$.edges")).texts
    ]
    assert shown[0].replace("\\$", "$") == "a$b^$.edges"


def test_a_partition_shows_agents_across_classes_down_and_totals_above():
    figure = figures.partition_figure(COUNTS, "two agents")
    heat, totals = figure.axes[0], figure.axes[2]
    assert np.array_equal(heat.images[0].get_array(), COUNTS.T)
    assert (heat.get_xlabel(), heat.get_ylabel()) == ("agent", "class")
    assert texts(heat) == ["5", "0", "0", "7", "1", "2"]
    assert texts(totals) == ["6", "9"]
    assert [bar.get_height() for bar in totals.patches] == [6, 9]


def test_a_partition_of_many_agents_leaves_out_numbers_that_do_not_fit():
    figure = figures.partition_figure(np.full((200, 10), 12345), "many")
    assert texts(figure.axes[0]) == texts(figure.axes[2]) == []


@pytest.mark.parametrize("counts", [[[-1]], [[0.5]], [1, 2], [], [["a"]]])
def test_counts_that_are_no_counts_are_refused(counts):
    with pytest.raises(InputError, match="one row per agent"):
        figures.partition_figure(counts, "bad")


def test_a_path_that_cannot_be_written_is_refused_and_leaves_nothing(tmp_path):
    (tmp_path / "folder.png").mkdir()
    for path in (
        tmp_path / "folder.png",
        tmp_path / "missing" / "x.png",
        tmp_path / "folder.png" / ("x" * 300 + ".png"),
    ):
        with pytest.raises(InputError, match="cannot be written"):
            figures.draw_graph(build("ring", 3), path)
    with pytest.raises(InputError, match=r"PATH.png, PATH.svg or PATH.pdf"):
        figures.draw_graph(build("ring", 3), tmp_path / "x.gif")
    assert [path.name for path in tmp_path.rglob("*")] == ["folder.png"]


def test_a_failure_half_way_leaves_the_old_picture(tmp_path):
    path = tmp_path / "x.png"
    path.write_bytes(b"old")

    class Broken:
        def findobj(self, _):
            return []

        def savefig(self, part, **_):
            part.write_bytes(b"half")
            raise OSError(28, "No space left on device")

    with pytest.raises(InputError, match="No space left"):
        figures.save(Broken(), path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_drawing_does_not_load_pyplot(tmp_path):
    code = (
        "import sys; from dpdl.graph import build; from dpdl.pages.figures import draw_graph;"
        f"draw_graph(build('ring', 3), {str(tmp_path / 'x.png')!r});"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
