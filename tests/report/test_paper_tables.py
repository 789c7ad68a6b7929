"""The paper's tables beside ours: numbers, colours, rankings and the figure say the same."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.paper.cells import published
from dpdl.report.convergence import ordered
from dpdl.report.frontier import frontier_figure
from dpdl.report.paper_tables import coverage, of_mode, ranked, shade, signed
from dpdl.studies.reproduce import beside_paper, recipes, store
from tests.commands import dpdl as command
from tests.report.cells import CELL, FIVE, enter, made, part, row
from tests.report.parsing import images, parsed


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    """All five algorithms on two graphs, and a cell of every other mode."""
    for graph in ("ring", "complete"):
        for k, name in enumerate(FIVE):
            enter(tmp_path, CELL._replace(graph=graph, algorithm=name), -k * 1.5)
    enter(tmp_path, CELL, 0.2, seed=1)
    enter(tmp_path, CELL, 0.0, mode="algorithm1", proven=7.25)
    enter(tmp_path, CELL, 4.0, mode="sound", proven=0.5)
    enter(tmp_path, CELL, 4.0, mode="sound", seed=1, proven=0.4)
    return tmp_path


def cells_of(html: str, number: int = 0) -> list[list[str]]:
    """The texts of a table."""
    body = re.findall("<tbody>(.*?)</tbody>", html, re.DOTALL)[number]
    return [
        re.findall("<td[^>]*>(.*?)</td>", line)
        for line in re.findall("<tr>(.*?)</tr>", body)
    ]


# ------------------------------------------------------------------ words and colours
def test_a_difference_has_its_sign() -> None:
    assert [signed(x) for x in (1.25, -1.25, 0.0, -0.0, 0.001, 10)] == [
        "+1.25",
        "-1.25",
        "0.00",
        "0.00",
        "0.00",
        "+10.00",
    ]


def test_shades_follow_sign_and_size() -> None:
    expected = {
        -9: "below-2",
        -3: "below-1",
        -0.1: "below-0",
        0: "",
        1: "above-0",
        1.1: "above-1",
        3.1: "above-2",
    }
    assert {x: shade(x) for x in expected} == expected


def test_coverage_counts() -> None:
    words = coverage(540, [row(), row(within=True, difference=0.3)])
    assert words == (
        "Measured: 2 of 540 cells. Within the paper's spread: 1 of 2. Mean difference: -0.50 points of accuracy."
    )


def test_an_algorithm_beyond_the_paper_counts_for_nothing_and_has_no_point_of_the_papers() -> (
    None
):
    decor = row(algorithm="decor", beyond=True, difference=4.9)
    words = coverage(540, [row(), decor])
    assert words.startswith(
        "Measured: 1 of 540 cells. Within the paper's spread: 0 of 1. Mean difference: -1.30 points"
    )
    assert words.endswith("Not in the paper, and beside its claim for DPDL: decor.")
    assert coverage(540, [decor]).startswith(
        "Measured: 0 of 540 cells. Not in the paper"
    )
    figure = frontier_figure([decor], ["decor"], "title")
    assert [line.get_gid() for line in figure.axes[0].lines if line.get_gid()] == [
        "ours"
    ]
    assert "91.8 ± 0.6 (dpdl)" in of_mode("sound", "words", 540, [decor], []).html


def test_rankings_are_counted() -> None:
    assert "no ranking" in ranked([])
    both, best = (
        {"agrees": True, "same_best": True},
        {"agrees": False, "same_best": True},
    )
    assert "in 1 setting." in ranked([both])
    assert (
        "in 3 settings. The paper's whole order is found again in 1 of 3, its best algorithm in 2."
        in ranked([both, best, {"agrees": False, "same_best": False}])
    )


def test_a_cell_shows_what_it_is() -> None:
    html = of_mode(
        "sound",
        "the epsilon is proven",
        540,
        [row(spread=0.123, seeds=[0, 1], note="Odd <noise>.")],
        [],
    ).html
    assert cells_of(html) == [
        [
            "mnist",
            "ring",
            "10",
            "0.25",
            "0.5",
            "dpdl",
            "91.8 ± 0.6",
            "90.50 ± 0.12",
            "-1.30",
            "no",
            "2",
            "2",
        ]
    ]
    assert '<td class="below-1" data-value="-1.3' in html
    assert '<p class="said">The epsilon is proven.</p>' in html
    assert html.index("The epsilon is proven.") < html.index("<table")
    assert (
        "<li>mnist, 10 agents, alpha_d 0.25, ring, epsilon 0.5, dpdl: Odd &lt;noise&gt;.</li>"
        in html
    )
    assert "<ul>" not in of_mode("sound", "x", 540, [row()], []).html


def test_what_is_proven_sorts_with_unbounded_last_and_unknown_first() -> None:
    cells = [row(proven=proven) for proven in (None, 7.254, 5615.98, "unbounded")]
    html = of_mode("sound", "x", 540, cells, []).html
    for value, text in (
        ("-Infinity", "unknown"),
        (r"7\.25\d*", "7.25"),
        (r"5615\.\d*", "5,616"),
        ("Infinity", "unbounded"),
    ):
        assert re.search(f'data-value="{value}">{text}<', html)


# ------------------------------------------------------------------ figure
def test_the_papers_points_are_beside_ours() -> None:
    rows = [
        row(),
        row(graph="complete", epsilon=1.0, ours=80.0, spread=2.0),
        row(algorithm="dp-cga", paper=70.0),
    ]
    figure = frontier_figure(rows, ["dpdl", "dp-cga"], "title")
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
    (axes,) = frontier_figure([row()], ["dp-cga", "muffliato", "dpdl"], "x").axes
    left, right = (float(line.get_xdata()[0]) for line in axes.lines if line.get_gid())
    assert 0.48 < left < 0.5 < right < 0.52


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


def test_an_algorithm_looks_the_same_in_every_figure() -> None:
    names = ["dpdl", "dp-cga", "muffliato"]
    alone, among = (
        frontier_figure([row(algorithm=name) for name in some], names, "x")
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
    (axes,) = frontier_figure([row(spread=2.0), row(epsilon=1.0)], ["dpdl"], "x").axes
    ends = [bar.get_segments()[0][:, 1].tolist() for bar in axes.collections]
    assert ends == [
        pytest.approx(pair)
        for pair in ([91.2, 92.4], [88.5, 92.5], [91.2, 92.4], [90.5, 90.5])
    ]


def test_nothing_is_not_drawn() -> None:
    with pytest.raises(InputError, match="no measured cells"):
        frontier_figure([], [], "x")


# ------------------------------------------------------------------ the command
def test_there_is_one_section_per_mode(measured: Path, monkeypatch, capsys) -> None:
    text = made(measured, monkeypatch, capsys)
    found = parsed(text)
    assert found.ids == [
        "results-as-published",
        "results-algorithm1",
        "results-sound",
        "not-covered",
    ]
    assert all(link.startswith(("#", "data:image/png;base64,")) for link in found.links)
    for mode, about in recipes.MODES.items():
        assert about[1:] in part(text, mode)
    assert "Measured: 10 of 540 cells." in part(text, "as-published")
    assert "Measured: 1 of 108 cells." in part(text, "algorithm1"), (
        "of the cells that the mode has"
    )


def test_the_numbers_of_the_page_are_those_of_the_results(
    measured: Path, monkeypatch, capsys
) -> None:
    text = made(measured, monkeypatch, capsys)
    rows = {(line[1], line[5]): line for line in cells_of(part(text, "as-published"))}
    assert len(rows) == 10
    assert rows["ring", "dpdl"][6:] == [
        "91.8 ± 0.6",
        "91.90 ± 0.14",
        "+0.10",
        "yes",
        "unbounded",
        "2",
    ]
    assert rows["complete", "dp-cga"][8] == "-1.50"
    assert cells_of(part(text, "algorithm1"))[0][8:] == ["0.00", "yes", "7.25", "1"]
    assert cells_of(part(text, "sound"))[0][8:] == ["+4.00", "no", "0.5", "2"], (
        "the largest epsilon of the seeds"
    )


def test_rankings_are_shown_where_all_five_were_measured(
    measured: Path, monkeypatch, capsys
) -> None:
    enter(
        measured, CELL._replace(graph="complete", algorithm="dp-dpsgd"), 10.0
    )  # in place of what was measured
    text = made(measured, monkeypatch, capsys)
    found = beside_paper.rankings(
        beside_paper.compared(measured, published(), ["as-published"])
    )
    html = part(text, "as-published")
    assert (
        len(found) == 2 and "All five algorithms were measured in 2 settings." in html
    )
    shown = {line[1]: line[5:] for line in cells_of(html, 1)}
    for ranking in found:
        orders = [" &gt; ".join(ranking[whose]) for whose in ("paper", "ours")]
        words = ["yes" if ranking[name] else "no" for name in ("agrees", "same_best")]
        assert shown[ranking["graph"]] == orders + words
    assert {ranking["graph"]: ranking["agrees"] for ranking in found} == {
        "ring": True,
        "complete": False,
    }
    assert "no ranking to compare" in part(text, "sound")


def test_figures_are_one_per_setting_and_told_in_words(
    measured: Path, monkeypatch, capsys
) -> None:
    enter(measured, CELL._replace(agents=20), 1.0)
    first, second = images(part(made(measured, monkeypatch, capsys), "as-published"))
    assert (
        "mnist, 10 agents, alpha_d 0.25, one panel for each graph: complete, ring."
        in first
    )
    assert "from -6.00 to +0.10 percentage points" in first and "20 agents" in second


def test_a_seed_without_epsilon_proves_nothing(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    enter(tmp_path, CELL, 0.0, proven=2.0)
    path = store.path_of(tmp_path, CELL, "as-published")
    found = json.loads(path.read_text())
    found["runs"]["1"] = {**found["runs"]["0"], "epsilon": None}
    path.write_text(json.dumps({**found, "note": "By hand."}))
    text = made(tmp_path, monkeypatch, capsys)
    assert cells_of(text)[0][10] == "unknown" and "By hand." in text
    found["runs"]["1"]["epsilon"] = {"eavesdropper": "unbounded"}
    path.write_text(json.dumps(found))
    assert cells_of(made(tmp_path, monkeypatch, capsys))[0][10] == "unbounded"


@pytest.mark.parametrize("content", ["{", "[]", '{"format": 0}', '{"format": 1}'])
def test_damaged_results_are_refused_in_one_sentence(
    measured: Path, monkeypatch, capsys, content: str
) -> None:
    store.path_of(measured, CELL, "sound").write_text(content)
    code, _, err = command(monkeypatch, capsys, "report", str(measured))
    assert code == 2 and err.startswith("error: ") and err.count("\n") == 1


def test_a_folder_of_empty_modes_holds_no_results(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    (tmp_path / "sound").mkdir()
    code, _, err = command(monkeypatch, capsys, "report", str(tmp_path))
    assert code == 2 and "nor results of dpdl reproduce" in err
