"""The paper's tables beside ours: numbers, colours, rankings and the figure say the same."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from dpdl.pages.compared_cells import MeasuredCell
from dpdl.pages.lines import LOOKS
from dpdl.pages.paper_tables import coverage, of_mode, ranked, shade, signed
from dpdl.paper.cells import published
from dpdl.privacy.epsilon import UNBOUNDED, UNKNOWN, Epsilon
from dpdl.studies.reproduce import beside_paper, cell_store, recipes
from tests.commands import dpdl as command
from tests.pages.cells import CELL, FIVE, RANKING, cell, enter, made, part, row
from tests.pages.parsing import images, parsed


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    """All five algorithms on two graphs, and a cell of every other mode."""
    for graph in ("ring", "complete"):
        for k, name in enumerate(FIVE):
            enter(tmp_path, CELL._replace(graph=graph, algorithm=name), -k * 1.5)
    enter(tmp_path, CELL, 0.2, seed=1)
    enter(tmp_path, CELL, 0.0, mode="algorithm1", proven=Epsilon(7.25))
    enter(tmp_path, CELL, 4.0, mode="sound", proven=Epsilon(0.5))
    enter(tmp_path, CELL, 4.0, mode="sound", seed=1, proven=Epsilon(0.4))
    return tmp_path


def cells_of(html: str, number: int = 0) -> list[list[str]]:
    """The texts of a table."""
    body = re.findall("<tbody>(.*?)</tbody>", html, re.DOTALL)[number]
    return [
        [
            re.sub("<[^>]*>", "", cell)
            for cell in re.findall("<td[^>]*>(.*?)</td>", line)
        ]
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
        "Measured: 2 of 540 cells. Within the paper's spread: 1 of 2. Mean difference: "
        "-0.50 points of accuracy."
    )


def test_an_algorithm_beyond_the_paper_counts_for_nothing() -> None:
    decor = row(algorithm="decor", beyond=True, difference=4.9)
    words = coverage(540, [row(), decor])
    assert words.startswith(
        "Measured: 1 of 540 cells. Within the paper's spread: 0 of 1. Mean difference: -1.30 points"
    )
    assert words.endswith("Not in the paper, and beside its claim for DPDL: decor.")
    assert coverage(540, [decor]).startswith(
        "Measured: 0 of 540 cells. Not in the paper"
    )
    html = of_mode("sound", "words", 540, [MeasuredCell(decor)], []).html
    assert "91.8 ± 0.6 (dpdl)" in html


def test_rankings_are_counted() -> None:
    assert "no ranking" in ranked([])
    both = RANKING
    best = replace(RANKING, agrees=False)
    neither = replace(best, same_best=False)
    assert "in 1 setting." in ranked([both])
    assert (
        "in 3 settings. The paper's whole order is found again in 1 of 3, its best algorithm in 2."
        in ranked([both, best, neither])
    )


def test_a_mode_that_proves_nothing_has_a_warning() -> None:
    warned = "No privacy</p>\n<p>No guarantee: so it is.</p>"
    for proven, is_there in ((UNBOUNDED, True), (UNKNOWN, True), (Epsilon(2.0), False)):
        cells = [cell(proven=proven), cell(algorithm="dp-cga", proven=UNBOUNDED)]
        html = of_mode("as-published", "no guarantee: so it is", 540, cells, []).html
        assert (warned in html) == is_there


def test_a_cell_shows_the_line_of_its_algorithm() -> None:
    html = of_mode("sound", "proven", 540, [cell(algorithm="dp-cga")], []).html
    key = f'style="--light: {LOOKS["dp-cga"].colour}; --dark: {LOOKS["dp-cga"].dark}"'
    assert key in html


def test_a_cell_shows_what_it_is() -> None:
    html = of_mode(
        "sound",
        "the epsilon is proven",
        540,
        [cell(spread=0.123, seeds=(0, 1), note="Odd <noise>.")],
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
    assert "<ul>" not in of_mode("sound", "x", 540, [cell()], []).html


def test_what_is_proven_sorts_with_unbounded_last_and_unknown_first() -> None:
    every = (UNKNOWN, Epsilon(7.254), Epsilon(5615.98), UNBOUNDED)
    cells = [cell(proven=proven) for proven in every]
    html = of_mode("sound", "x", 540, cells, []).html
    for value, text in (
        ("-Infinity", "unknown"),
        (r"7\.25\d*", "7.25"),
        (r"5615\.\d*", "5,616"),
        ("Infinity", "unbounded"),
    ):
        assert re.search(f'data-value="{value}">{text}<', html)


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
        orders = [" &gt; ".join(ranking.paper), " &gt; ".join(ranking.ours)]
        same = ["yes" if one else "no" for one in (ranking.agrees, ranking.same_best)]
        assert shown[ranking.graph] == orders + same
    assert {ranking.graph: ranking.agrees for ranking in found} == {
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
    enter(tmp_path, CELL, 0.0, proven=Epsilon(2.0))
    path = cell_store.path_of(tmp_path, CELL, "as-published")
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
    cell_store.path_of(measured, CELL, "sound").write_text(content)
    code, _, err = command(monkeypatch, capsys, "report", str(measured))
    assert code == 2 and err.startswith("error: ") and err.count("\n") == 1


def test_a_folder_of_empty_modes_holds_no_results(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    (tmp_path / "sound").mkdir()
    code, _, err = command(monkeypatch, capsys, "report", str(tmp_path))
    assert code == 2 and "nor results of dpdl reproduce" in err
