"""`dpdl graph`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.stored import same, stored
from tests.commands import dpdl


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RANK", raising=False)


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        ("0 1\n2 3\n", "not connected"),
        ("0 1\n1 zwei\n", "Line 2"),
    ],
)
def test_a_bad_graph_file_is_refused(
    monkeypatch, capsys, content: str, hint: str
) -> None:
    Path("my.edges").write_text(content)
    code, _, err = dpdl(
        monkeypatch,
        capsys,
        "run",
        "--dataset",
        "digits",
        "--graph",
        "my.edges",
        "--agents",
        "4",
        "--quiet",
    )
    assert code == 2
    assert hint in err


def test_a_matrix_that_is_not_doubly_stochastic_is_refused_with_its_row(
    monkeypatch, capsys
) -> None:
    np.savetxt(
        "w.csv",
        np.array([[0.5, 0.5, 0], [0.5, 0.2, 0.2], [0, 0.2, 0.8]]),
        delimiter=",",
    )
    code, _, err = dpdl(monkeypatch, capsys, "graph", "w.csv", "--weights", "given")
    assert code == 2
    assert "Row 1" in err
    assert "0.9" in err


def test_graph_prints_json_and_saves_a_picture(monkeypatch, capsys) -> None:
    code, out, _ = dpdl(monkeypatch, capsys, "graph", "ring", "--agents", "6", "--json")
    facts = json.loads(out)
    assert code == 0
    assert facts["agents"] == facts["edges"] == 6
    assert facts["degree"] == {"min": 2, "max": 2}
    assert facts["spectral_gap"] == pytest.approx(1 - 2 / 3)
    assert Path(facts["picture"]).exists()
    assert (
        "spectral gap"
        in dpdl(monkeypatch, capsys, "graph", "torus:3x3", "--agents", "9")[1]
    )


def test_json_is_as_it_was_before_there_were_records(monkeypatch, capsys) -> None:
    words = ["graph", "ring", "--agents", "4", "--json", "--out", "g.png"]
    code, out, _ = dpdl(monkeypatch, capsys, *words)
    assert code == 0
    assert same(json.loads(out), stored("graph"))


def test_a_file_of_edges_is_drawn_under_its_name(monkeypatch, capsys) -> None:
    Path("town.edges").write_text("0 1\n1 2\n")
    code, out, _ = dpdl(monkeypatch, capsys, "graph", "town.edges")
    assert code == 0
    assert "town.edges: 3 agents, 2 edges, 1 to 2 neighbours" in out
    assert "picture: runs/graph-town-3.png" in out
    assert Path("runs/graph-town-3.png").exists()
    assert {path.name for path in Path().iterdir()} == {"town.edges", "runs"}
