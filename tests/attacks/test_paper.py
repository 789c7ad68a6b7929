"""The paper's attack tables: its numbers, the runs they need, and the command that makes them."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

import dpdl
from dpdl.attacks import paper
from dpdl.errors import InputError
from dpdl.paper import attacks, tables
from dpdl.run.record import Wish
from tests.test_cli import dpdl as command


def test_the_published_cells_are_there() -> None:
    cells = tables()
    assert (len(cells["accuracy"]), len(cells["attack"])) == (540, 216)
    found = attacks("mnist", "ring", 10)
    assert set(found) == {"nd-cg", "nd-mm", "dpdl-cg", "dpdl-mm"}
    assert found["nd-cg"] == {"mse": 0.85, "psnr": 6.84, "ssim": 0.1957}


def test_psnr_of_the_published_cells_is_that_of_their_mse() -> None:
    """So the units are known: 10 log10(range^2 / MSE), range 2 on MNIST, up to the order of means and logarithms."""
    for graph in ("ring", "bipartite", "complete"):
        for n in (10, 20, 30):
            for found in attacks("mnist", graph, n).values():
                assert found["psnr"] == pytest.approx(10 * math.log10(4 / found["mse"]), abs=0.4)


@pytest.mark.parametrize(
    ("cell", "hint"),
    [(("fashion-mnist", "ring", 10), "mnist"), (("mnist", "star", 10), "ring"), (("mnist", "ring", 12), "10, 20, 30")],
)
def test_what_is_not_in_the_paper_is_refused(cell, hint: str) -> None:
    with pytest.raises(InputError, match=hint):
        paper.experiments(*cell, seed=0)


def test_both_runs_are_the_same_but_for_their_protection() -> None:
    runs = paper.experiments("cifar10", "ring", 20, seed=3)
    differ = {k for k, v in runs["nd"].as_dict().items() if v != runs["dpdl"].as_dict()[k]}
    assert differ == {"noise", "clip_unit", "epsilon"}
    assert runs["dpdl"].epsilon == 4.0 and runs["nd"].noise == "none" and runs["nd"].rounds == 801
    assert paper.experiments("mnist", "complete", 10, seed=0)["nd"].lr == 0.01


def test_one_link_out_of_every_agent_is_recorded() -> None:
    wish = paper.wish(paper.experiments("mnist", "bipartite", 10, seed=0)["nd"], [4, 1])
    assert wish.links is not None and sorted(i for i, _ in wish.links) == list(range(10))
    assert wish.rounds == (200, 400, 800) and wish.batches == (1, 4)


def test_rows_of_the_last_round_stand_beside_the_papers() -> None:
    row = {"who": "ND", "scenario": "cg", "round": 800, "mse": 0.01, "psnr": 26.0, "ssim": 0.97, "batch": 1}
    row |= {"images": 10, "method": "peel", "best_trivial_mse": 0.26, "p_better_than_trivial": 0.001}
    rows = [row, {**row, "round": 200}, {**row, "scenario": "self"}]
    (found,) = paper.compared(rows, "mnist", "ring", 10)
    assert found["scenario"] == "nd-cg" and found["mse"] == {"paper": 0.85, "ours": 0.01}


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
def test_wrong_words_are_one_sentence(words: list[str], hint: str, monkeypatch, capsys, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = command(monkeypatch, capsys, "attack", *words)
    assert code == 2 and hint in err and err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_the_command_trains_attacks_and_compares(monkeypatch, capsys, tmp_path: Path) -> None:
    """With a small data set and few rounds in place of the paper's; a second call does nothing twice."""
    usual = {"dataset": "digits", "graph": "ring", "agents": 3, "batch": 8, "rounds": 3, "seed": 0}
    runs = {
        "nd": dpdl.Experiment(**usual, noise="none", clip_unit="none"),
        "dpdl": dpdl.Experiment(**usual, noise="theorem1", epsilon=0.5),
    }
    monkeypatch.setattr(paper, "experiments", lambda *_: runs)
    monkeypatch.setattr(paper, "wish", lambda e, sizes: Wish((2,), tuple(sizes)))
    monkeypatch.setattr(paper, "LAST", 2)
    words = ["attack", "--paper", "mnist", "--out", str(tmp_path / "made"), "--iterations", "3", "--restarts", "1"]
    words += ["--whose", "0,1", "--membership", "--quiet"]
    code, out, err = command(monkeypatch, capsys, *words, "--json")
    assert code == 0, err
    facts = json.loads(out)
    assert [row["scenario"] for row in facts["paper"]] == ["nd-cg", "nd-mm", "dpdl-cg", "dpdl-mm"]
    assert json.loads((tmp_path / "made" / "attack.json").read_text()) == facts
    epsilons = {row["who"]: row["epsilon"] for row in facts["membership"]}
    assert epsilons["ND"] == {"proven": "unbounded", "certified": None, "why": "without noise every epsilon is refuted"}
    assert 0 <= epsilons["DPDL"]["certified"] <= epsilons["DPDL"]["proven"] == facts["epsilon"]["DPDL"]

    code, _, err = command(monkeypatch, capsys, *words, "--batch", "2")
    assert code == 2 and "did not record batches of 2; choose another --out" in err
    others = {name: replace(e, seed=1) for name, e in runs.items()}
    with monkeypatch.context() as patch:
        patch.setattr(paper, "experiments", lambda *_: others)
        code, _, err = command(monkeypatch, capsys, *words)
    assert code == 2 and "was started with seed = 0, not 1" in err

    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "made").glob("*/**/*.safetensors")}
    code, out, _ = command(monkeypatch, capsys, *words)
    shown = " ".join(out.split())
    for part in ("the paper's attack and ours", "found, 1 % false", "the audit certifies at least"):
        assert code == 0 and part in shown
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "made").glob("*/**/*.safetensors")}

    code, out, _ = command(monkeypatch, capsys, "report", str(tmp_path / "made"), "--json")
    assert code == 0 and json.loads(out)["sections"] == ["What your neighbour could rebuild"]
