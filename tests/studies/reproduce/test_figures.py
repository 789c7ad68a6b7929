"""The paper's figures of convergence: their cells, and the command that draws them."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.paper import FIGURES, names
from dpdl.paper.cells import Cell, names_of_attacks, names_of_tables, published, select
from dpdl.studies.reproduce import recipes, store
from dpdl.studies.reproduce.measure_cells import figure_rows, measure_cells
from dpdl.studies.reproduce.request import ReproductionRequest
from tests.commands import dpdl as command
from tests.studies.reproduce.small import CELL, SMALL, SUMMARY, left_behind, metric

EPSILONS = {"mnist": (0.25, 0.5, 1.0), "cifar10": (2.0, 4.0, 8.0)}
FIVE = {"dpdl", "dp-cga", "dp-netfleet", "muffliato", "dp-dpsgd"}
PNG = b"\x89PNG\r\n\x1a\n"


def curved(out: Path, cell: Cell, mode: str = "as-published") -> None:
    """A result with a curve."""
    e = recipes.experiment(cell, mode, 0)
    store.add(out, cell, mode, e, SUMMARY, None, [metric(1, 2.3), metric(50, 1.2)])


def test_there_are_six_figures() -> None:
    graphs = ("bipartite", "complete", "ring")
    assert sorted(FIGURES) == sorted(
        f"conv-{data}-{graph}" for data in ("mnist", "cifar") for graph in graphs
    )
    assert names() == sorted([*names_of_tables(), *names_of_attacks(), *FIGURES])


@pytest.mark.parametrize("name", FIGURES)
def test_the_cells_of_a_figure_are_the_papers_panels(name: str) -> None:
    _, short, graph = name.split("-")
    dataset = {"mnist": "mnist", "cifar": "cifar10"}[short]
    cells = select(name)
    panels = itertools.product((10, 20, 30), EPSILONS[dataset])
    assert {(cell.agents, cell.epsilon) for cell in cells} == set(panels)
    assert {(cell.dataset, cell.graph, cell.alpha_d) for cell in cells} == {
        (dataset, graph, 0.25)
    }
    assert {cell.algorithm for cell in cells} == FIVE and len(cells) == 9 * 5
    assert cells == [cell for cell in published() if cell in set(cells)], (
        "in the order of the tables"
    )


def test_cells_of_a_figure_are_selected() -> None:
    cells = select("conv-mnist-ring", "agents=10/20,algorithm=dpdl")
    assert [(cell.agents, cell.epsilon) for cell in cells] == list(
        itertools.product((10, 20), EPSILONS["mnist"])
    )


@pytest.mark.parametrize(
    ("name", "words", "hint"),
    [
        ("conv-mnist-rign", "", "Did you mean 'conv-mnist-ring'"),
        (
            "conv-mnist-ring",
            "graph=complete",
            "No cell of the paper has graph=complete in conv-mnist-ring",
        ),
        (
            "conv-mnist-ring",
            "alpha_d=1",
            "No cell of the paper has alpha_d=1 in conv-mnist-ring",
        ),
        ("conv-cifar-ring", "epsilon=0.5", "No cell"),
        ("conv-cifar-ring", "epsilon=3", "0.25, 0.5"),
        ("attack-mnits", "", "Did you mean 'attack-mnist'"),
    ],
)
def test_what_a_figure_does_not_have_is_refused(
    name: str, words: str, hint: str, monkeypatch, capsys, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=hint):
        select(name, words)
    monkeypatch.chdir(tmp_path)
    code, _, err = command(monkeypatch, capsys, "reproduce", name, "--cells", words)
    assert (
        code == 2
        and hint in err
        and err.count("\n") == 1
        and list(tmp_path.iterdir()) == []
    )


# ------------------------------------------------------------------ the command
ONE = "agents=10,epsilon=0.5,algorithm=dpdl"


def test_what_is_missing_is_run_and_drawn(tmp_path: Path) -> None:
    request = ReproductionRequest(
        "conv-mnist-ring", ONE, out=tmp_path / "results", runs=tmp_path / "runs"
    )
    heard: list[str] = []

    def measure() -> dict:
        made = measure_cells(
            request, lambda name, news: heard.append(name), recipes=SMALL
        )
        return made.facts

    facts = measure()
    path = tmp_path / "results" / "figures" / "as-published-conv-mnist-ring.png"
    assert facts["figures"] == {"as-published": str(path)} and heard
    assert path.read_bytes().startswith(PNG)
    assert [row["algorithm"] for row in facts["cells"]] == ["dpdl"]
    assert "curves" not in facts["cells"][0]
    result = store.read(tmp_path / "results", CELL, "as-published")
    assert result["runs"]["0"]["curve"]["rounds"][-1] == 2
    path.unlink()
    heard.clear()
    assert measure()["figures"] == {"as-published": str(path)}
    assert path.exists() and not heard, "nothing is missing, it is only drawn"


def test_a_figure_shows_all_cells_that_have_curves(tmp_path: Path) -> None:
    """Those that were not asked for now too: there is one file per figure."""
    others = [
        CELL._replace(agents=20),
        CELL._replace(alpha_d=1.0),
        CELL._replace(graph="complete"),
    ]
    for cell in (CELL, *others):
        curved(tmp_path, cell)
    bare = CELL._replace(epsilon=1.0)
    e = recipes.experiment(bare, "as-published", 0)
    store.add(tmp_path, bare, "as-published", e, SUMMARY, None)
    rows = figure_rows("conv-mnist-ring", "as-published", tmp_path)
    shown = [tuple(row[name] for name in Cell._fields) for row in rows]
    assert shown == [tuple(CELL), tuple(others[0])]


def test_curves_of_older_results_are_found_in_their_run_folders(
    monkeypatch, capsys, tmp_path: Path
) -> None:
    store.add(
        tmp_path,
        CELL,
        "as-published",
        recipes.experiment(CELL, "as-published", 0),
        SUMMARY,
        None,
    )
    words = [
        "reproduce",
        "conv-mnist-ring",
        "--cells",
        ONE,
        "--out",
        str(tmp_path),
        "--runs",
        str(tmp_path / "runs"),
    ]
    code, out, _ = command(monkeypatch, capsys, *words)
    assert (
        code == 0
        and "No figure for mode as-published: no cell of it has a curve yet." in out
    )
    assert not (tmp_path / "figures").exists()
    left_behind(tmp_path / "runs", SUMMARY)
    code, out, _ = command(monkeypatch, capsys, *words)
    assert (
        code == 0
        and "Figure: " in out
        and (tmp_path / "figures" / "as-published-conv-mnist-ring.png").exists()
    )


def test_cells_with_other_recipes_are_shown_and_left_alone(
    monkeypatch, capsys, tmp_path: Path
) -> None:
    curved(tmp_path, CELL)
    other = CELL._replace(epsilon=1.0)
    curved(tmp_path, other)
    path = store.path_of(tmp_path, CELL, "as-published")
    found = json.loads(path.read_text())
    found["settings"]["rounds"] += 1
    path.write_text(json.dumps(found))
    words = [
        "--cells",
        "agents=10,epsilon=0.5/1,algorithm=dpdl",
        "--seeds",
        "2",
        "--out",
        str(tmp_path),
    ]
    code, out, _ = command(
        monkeypatch,
        capsys,
        "reproduce",
        "conv-mnist-ring",
        *words,
        "--dry-run",
        "--json",
    )
    assert code == 0 and [run["name"] for run in json.loads(out)["runs"]] == [
        f"as-published-{other.name}-seed1"
    ]
    code, out, _ = command(
        monkeypatch, capsys, "reproduce", "conv-mnist-ring", *words[:2], *words[4:]
    )
    assert (
        code == 0
        and "1 cell was measured with other recipes" in out
        and "Figure: " in out
    )
    code, _, err = command(monkeypatch, capsys, "reproduce", "acc-mnist-2", *words)
    assert code == 2 and "was measured with rounds = " in err, (
        "a table does not mix recipes"
    )


def test_every_mode_has_a_figure_of_its_own(
    monkeypatch, capsys, tmp_path: Path
) -> None:
    for mode in ("as-published", "algorithm1", "sound"):
        curved(tmp_path, CELL, mode)
    words = [
        "conv-mnist-ring",
        "--cells",
        ONE,
        "--out",
        str(tmp_path),
        "--mode",
        "all",
        "--json",
    ]
    code, out, _ = command(monkeypatch, capsys, "reproduce", *words)
    assert code == 0 and list(json.loads(out)["figures"]) == list(recipes.MODES)
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {
        f"{mode}-conv-mnist-ring.png" for mode in recipes.MODES
    }


def test_a_table_and_a_dry_run_draw_nothing(
    monkeypatch, capsys, tmp_path: Path
) -> None:
    curved(tmp_path, CELL)
    for words in (
        ["acc-mnist-2", "--cells", f"{ONE},alpha_d=0.25"],
        ["conv-mnist-ring", "--dry-run"],
    ):
        code, out, _ = command(
            monkeypatch, capsys, "reproduce", *words, "--out", str(tmp_path), "--json"
        )
        assert code == 0 and "figures" not in json.loads(out)
    assert not (tmp_path / "figures").exists() and len(json.loads(out)["runs"]) == 44
