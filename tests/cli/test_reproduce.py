"""`dpdl reproduce`: what it prints, what it refuses, and what it leaves alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpdl.paper.cells import published
from dpdl.studies.reproduce import attack_store, cell_store, recipes
from tests.commands import dpdl as command
from tests.studies.reproduce.attacked import RING, entered_attack
from tests.studies.reproduce.small import CELL, CURVE, ONE, entered, left_behind

OF_FIGURE = "agents=10,epsilon=0.5,algorithm=dpdl"


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["acc-mnits"], "acc-mnist"),
        (["--cells", "agents=11"], "10, 20, 30"),
        (["--mode", "sond"], "sound"),
        (["--seeds", "0"], "at least 1"),
        (["--minutes", "0"], "above 0"),
        (["--minutes", "0.01"], "too few for one cell"),
        (["--mode", "algorithm1", "--cells", "algorithm=muffliato"], "dpdl only"),
        (["status", "--cells", "graph=torus"], "bipartite, complete, ring"),
        (["status", "--mode", "sond"], "'sound'"),
        (["status", "--seeds", "3"], "leave --seeds out"),
        (["status", "--dry-run"], "leave --dry-run out"),
        (["acc-mnist", "--markdown"], "--markdown is for status"),
        (["status", "--markdown", "--json"], "without --json"),
    ],
)
def test_wrong_words_are_one_sentence(
    words: list[str], hint: str, monkeypatch, capsys, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = command(monkeypatch, capsys, "reproduce", *words)
    assert code == 2 and hint in err and err.count("\n") == 1


def test_status_without_results_shows_those_of_the_package(
    monkeypatch, capsys, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = command(monkeypatch, capsys, "reproduce", "status", "--json")
    assert code == 0 and json.loads(out)["measured"]["as-published"] > 50
    assert err == "There is no folder results here: these came with dpdl.\n"
    assert list(tmp_path.iterdir()) == []


def test_status_and_dry_run(monkeypatch, capsys, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()
    code, out, _ = command(monkeypatch, capsys, "reproduce", "status")
    assert code == 0 and "None of these cells was measured yet" in out
    entered(tmp_path / "results", CELL)
    code, out, _ = command(monkeypatch, capsys, "reproduce", "status", "--json")
    facts = json.loads(out)
    assert (
        code == 0
        and facts["measured"]["as-published"] == 1
        and facts["of"] == len(published())
    )
    code, out, _ = command(monkeypatch, capsys, "reproduce", "status")
    assert "mnist ring 10" in out and "-1.8 *" in out and "measured yet" not in out
    assert "*: the difference is larger" in out
    cells = "graph=ring,agents=10,alpha_d=0.25,epsilon=0.5,algorithm=dpdl"
    code, out, _ = command(
        monkeypatch,
        capsys,
        "reproduce",
        "--cells",
        cells,
        "--seeds",
        "2",
        "--dry-run",
        "--json",
    )
    assert code == 0 and [run["name"] for run in json.loads(out)["runs"]] == [
        f"as-published-{CELL.name}-seed1"
    ]
    assert not (tmp_path / "runs").exists()


def test_status_of_some_cells_and_modes(monkeypatch, capsys, tmp_path: Path) -> None:
    entered(tmp_path, CELL)
    entered(tmp_path, CELL, mode="sound")
    entered(tmp_path, CELL._replace(algorithm="decor"), 95.0, mode="sound")
    entered(tmp_path, CELL._replace(graph="complete"), mode="sound")

    def shown(*words: str) -> list[tuple[str, str, str]]:
        code, out, _ = command(
            monkeypatch,
            capsys,
            "reproduce",
            "status",
            "--json",
            "--out",
            str(tmp_path),
            *words,
        )
        facts = json.loads(out)
        assert code == 0 and facts["measured"] == {
            "as-published": 1,
            "algorithm1": 0,
            "sound": 2,
        }
        assert len(facts["proven"]) == len(
            {row["graph"] for row in facts["cells"] if row["mode"] == "sound"}
        )
        return [(row["mode"], row["graph"], row["algorithm"]) for row in facts["cells"]]

    ring = [("sound", "ring", "dpdl"), ("sound", "ring", "decor")]
    assert len(shown()) == 4
    assert shown("--cells", "graph=ring", "--mode", "sound") == ring
    assert shown("--cells", "algorithm=decor") == ring[1:]
    assert shown("--mode", "algorithm1") == []


def test_what_is_there_is_shown_by_the_command(
    monkeypatch, capsys, tmp_path: Path
) -> None:
    entered(tmp_path, CELL)
    words = ["reproduce", "--cells", ONE, "--out", str(tmp_path), "--quiet", "--json"]
    code, out, err = command(monkeypatch, capsys, *words)
    assert (code, err) == (0, "")
    assert [row["seeds"] for row in json.loads(out)["cells"]] == [[0]]


def test_status_is_printed_as_markdown(monkeypatch, capsys, tmp_path: Path) -> None:
    entered(tmp_path, CELL)
    code, out, _ = command(
        monkeypatch, capsys, "reproduce", "status", "--markdown", "--out", str(tmp_path)
    )
    assert code == 0 and out.startswith(
        "*as-published: mnist, N = 10, alpha_d = 0.25*\n\n| graph | epsilon | `dpdl` |\n"
    )
    assert "| ring | 0.5 | 90.0 (91.8) |" in out


# ------------------------------------------------------------------ figures
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
    monkeypatch.chdir(tmp_path)
    code, _, err = command(monkeypatch, capsys, "reproduce", name, "--cells", words)
    assert (
        code == 2
        and hint in err
        and err.count("\n") == 1
        and list(tmp_path.iterdir()) == []
    )


def test_curves_of_older_results_are_found_in_their_run_folders(
    monkeypatch, capsys, tmp_path: Path
) -> None:
    entered(tmp_path, CELL)
    words = [
        "reproduce",
        "conv-mnist-ring",
        "--cells",
        OF_FIGURE,
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
    left_behind(tmp_path / "runs")
    code, out, _ = command(monkeypatch, capsys, *words)
    assert (
        code == 0
        and "Figure: " in out
        and (tmp_path / "figures" / "as-published-conv-mnist-ring.png").exists()
    )


def test_cells_with_other_recipes_are_shown_and_left_alone(
    monkeypatch, capsys, tmp_path: Path
) -> None:
    entered(tmp_path, CELL, curve=CURVE)
    other = CELL._replace(epsilon=1.0)
    entered(tmp_path, other, curve=CURVE)
    path = cell_store.path_of(tmp_path, CELL, "as-published")
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
        entered(tmp_path, CELL, mode=mode, curve=CURVE)
    words = [
        "conv-mnist-ring",
        "--cells",
        OF_FIGURE,
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
    entered(tmp_path, CELL, curve=CURVE)
    for words in (
        ["acc-mnist-2", "--cells", f"{OF_FIGURE},alpha_d=0.25"],
        ["conv-mnist-ring", "--dry-run"],
    ):
        code, out, _ = command(
            monkeypatch, capsys, "reproduce", *words, "--out", str(tmp_path), "--json"
        )
        assert code == 0 and "figures" not in json.loads(out)
    assert not (tmp_path / "figures").exists() and len(json.loads(out)["runs"]) == 44


# ------------------------------------------------------------------ attacks
@pytest.mark.parametrize(
    ("table", "words", "hint"),
    [
        ("attack-cifar", "", "Did you mean 'attack-cifar10'"),
        (
            "attack-mnist",
            "dataset=cifar10",
            "No cell of the paper has dataset=cifar10 in attack-mnist",
        ),
        ("attack-mnist", "agents=11", "10, 20, 30"),
        ("attack-mnist", "graph=star", "ring"),
        ("attack-mnist", "epsilon=0.5", "Allowed: agents, dataset, graph"),
        ("attack-mnist", "ring", "name=value"),
    ],
)
def test_what_a_table_of_attacks_does_not_have_is_refused(
    table: str, words: str, hint: str, monkeypatch, capsys, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = command(monkeypatch, capsys, "reproduce", table, "--cells", words)
    assert (
        code == 2
        and hint in err
        and err.count("\n") == 1
        and list(tmp_path.iterdir()) == []
    )


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--mode", "sound"], "no modes"),
        (["--mode", "all"], "no modes"),
        (["--seeds", "2"], "seed 0 only"),
        (["--jobs", "0"], "jobs"),
        (["--minutes", "0.01"], "too few for one cell"),
    ],
)
def test_options_of_other_tables_are_refused(
    words: list[str], hint: str, monkeypatch, capsys, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = command(monkeypatch, capsys, "reproduce", "attack-mnist", *words)
    assert (
        code == 2
        and hint in err
        and err.count("\n") == 1
        and list(tmp_path.iterdir()) == []
    )


@pytest.mark.parametrize("content", ["{", "[]", "{}"])
def test_damaged_attacks_are_refused_in_one_sentence(
    content: str, monkeypatch, capsys, tmp_path: Path
) -> None:
    path = attack_store.path_of(tmp_path, RING)
    path.parent.mkdir()
    path.write_text(content)
    for words in (["status"], ["attack-mnist"]):
        code, _, err = command(
            monkeypatch, capsys, "reproduce", *words, "--out", str(tmp_path)
        )
        assert code == 2 and str(path) in err and err.count("\n") == 1


def test_status_counts_attacks(monkeypatch, capsys, tmp_path: Path) -> None:
    entered_attack(tmp_path, RING)
    code, out, _ = command(
        monkeypatch, capsys, "reproduce", "status", "--out", str(tmp_path)
    )
    assert (
        code == 0
        and "Attack cells measured: 12 of 216." in out
        and "None of these cells was measured yet" in out
    )
    code, out, _ = command(
        monkeypatch, capsys, "reproduce", "status", "--out", str(tmp_path), "--json"
    )
    facts = json.loads(out)
    assert facts["attacks"] == {"measured": 12, "of": 216} and {
        "measured",
        "of",
        "cells",
        "rankings",
    } <= set(facts)


def test_a_dry_run_lists_what_is_missing(monkeypatch, capsys, tmp_path: Path) -> None:
    entered_attack(tmp_path, RING)
    words = [
        "reproduce",
        "attack-mnist",
        "--cells",
        "graph=ring",
        "--out",
        str(tmp_path),
        "--dry-run",
    ]
    code, out, _ = command(monkeypatch, capsys, *words, "--json", "--jobs", "1")
    facts = json.loads(out)
    assert code == 0 and [run["name"] for run in facts["runs"]] == [
        "attack-mnist-ring-20-seed0",
        "attack-mnist-ring-30-seed0",
    ]
    assert facts["minutes"] == pytest.approx(
        sum(run["seconds"] for run in facts["runs"]) / 60, abs=0.1
    )
    enough = str(facts["runs"][0]["seconds"] / 60 + 0.1)
    code, out, _ = command(
        monkeypatch, capsys, *words, "--json", "--jobs", "1", "--minutes", enough
    )
    assert [run["name"] for run in json.loads(out)["runs"]] == [
        "attack-mnist-ring-20-seed0"
    ]
    code, out, _ = command(monkeypatch, capsys, *words, "--jobs", "1")
    assert code == 0 and "2 attacks, about" in out and "with 1 processes" in out
