"""`dpdl attack`: its options, its JSON, and what it refuses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.attacks.runs import record_digits
from tests.commands import dpdl as command


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    return record_digits(tmp_path_factory.mktemp("runs") / "digits")


def test_the_command_prints_rows_trivial_rows_and_draws(
    run: Path, monkeypatch, capsys
) -> None:
    words = [
        "--iterations",
        "5",
        "--restarts",
        "1",
        "--batch",
        "1,2",
        "--membership",
        "--quiet",
        "--json",
    ]
    code, out, _ = command(monkeypatch, capsys, "attack", str(run), *words)
    facts = json.loads(out)
    assert code == 0
    assert [(row["scenario"], row["batch"]) for row in facts["rows"]] == [
        (scenario, batch) for batch in (1, 2) for scenario in ("cg", "mm", "self")
    ]
    assert {row["name"] for row in facts["trivial"]} == {
        "black",
        "grey",
        "mean",
        "random",
    }
    assert [
        row["scores"]["gradient"]["auc"]
        for row in facts["membership"]
        if row["scenario"] == "cg"
    ] == [1.0, 1.0]
    assert all(
        Path(facts[name]).read_bytes().startswith(b"\x89PNG")
        for name in ("gallery", "roc")
    )


def test_two_runs_of_one_algorithm_are_told_apart(
    run: Path, tmp_path: Path, monkeypatch, capsys
) -> None:
    shutil.copytree(run, tmp_path / "again")
    words = [
        "--iterations",
        "2",
        "--restarts",
        "1",
        "--scenario",
        "cg",
        "--gallery",
        str(tmp_path / "g.png"),
        "--json",
    ]
    code, out, _ = command(
        monkeypatch,
        capsys,
        "attack",
        str(run),
        str(tmp_path / "again"),
        "--quiet",
        *words,
    )
    facts = json.loads(out)
    assert code == 0 and [row["who"] for row in facts["rows"]] == [
        "ND digits",
        "ND again",
    ]
    assert set(facts["epsilon"]) == {"ND digits", "ND again"}
    assert (tmp_path / "g.png").read_bytes() == (
        run / "attack" / "gallery.png"
    ).read_bytes()


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--rounds", "9"], "recorded are 2"),
        (["--batch", "5"], "recorded are 1, 2"),
        (["--scenario", "cgg"], "cg"),
        (["--method", "magic"], "inverting"),
        (["--method", "peel", "--batch", "2"], "take 'inverting'"),
        (["--whose", "7"], "agents 0 to 2"),
        (["--iterations", "0"], "at least 1"),
        (["--scenario", "step", "--rounds", "x"], "whole numbers"),
    ],
)
def test_wrong_input_is_one_sentence(
    run: Path, monkeypatch, capsys, words: list[str], hint: str
) -> None:
    code, _, err = command(monkeypatch, capsys, "attack", str(run), "--quiet", *words)
    assert code == 2 and hint in err and err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ([], "Name recorded runs"),
        (["runs/x", "--paper", "mnist"], "not both"),
        (["runs/x", "--graph", "ring"], "belong to --paper"),
        (["--paper", "mnist", "--graph", "rign"], "ring"),
        (["--paper", "mnist", "--agents", "11"], "10, 20, 30"),
        (["--paper", "mnits"], "mnist"),
    ],
)
def test_runs_and_the_paper_exclude_each_other(
    words: list[str], hint: str, monkeypatch, capsys, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = command(monkeypatch, capsys, "attack", *words)
    assert code == 2 and hint in err and err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
