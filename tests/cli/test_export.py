"""`dpdl export`."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

from dpdl import Experiment, train
from tests.commands import dpdl
from tests.folder.measured import RUN


@pytest.fixture(autouse=True)
def _with_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(RUN, "run")


def test_a_table_is_made_of_a_stored_run(monkeypatch, capsys) -> None:
    code, out, _ = dpdl(monkeypatch, capsys, "export", "run")
    assert (code, out) == (0, "Metrics: run/metrics.csv\n")
    with Path("run/metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    text = Path("run/metrics.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert [int(row["round"]) for row in rows] == [1, 2, 4]
    for row, line in zip(rows, lines, strict=True):
        assert float(row["accuracy/mean"]) == line["accuracy"]["mean"]
        assert float(row["train_loss/max"]) == line["train_loss"]["max"]
        assert float(row["epsilon"]) == line["epsilon"]


def test_a_place_can_be_named(monkeypatch, capsys) -> None:
    words = ["export", "run", "--to", "tensorboard", "--out", "events"]
    code, out, _ = dpdl(monkeypatch, capsys, *words)
    assert (code, out) == (0, "Metrics: events\n")
    assert len(list(Path("events").iterdir())) == 1


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["run", "--to", "excel"], "Allowed: csv, model, tensorboard"),
        (["run", "--agent", "1"], "add --to model"),
        (["run", "--to", "model", "--agent", "9"], "from 0 to 2, not 9"),
        (["run", "--to", "model"], "no checkpoint of round 4 for all its agents"),
        (["nowhere", "--to", "model"], "holds no run"),
        (["nowhere"], "holds no run"),
    ],
)
def test_what_cannot_be_exported_is_one_sentence(
    monkeypatch, capsys, words: list[str], hint: str
) -> None:
    code, _, err = dpdl(monkeypatch, capsys, "export", *words)
    assert code == 2
    assert hint in err


def test_a_run_without_an_evaluated_round_is_refused(monkeypatch, capsys) -> None:
    Path("run/metrics.jsonl").write_text("")
    code, _, err = dpdl(monkeypatch, capsys, "export", "run")
    assert code == 2
    assert "has no evaluated round yet" in err


def test_a_model_is_written_beside_the_run(monkeypatch, capsys) -> None:
    shared = {"dataset": "digits", "agents": 3, "batch": 8, "rounds": 1, "sigma": 1.0}
    train(Experiment(**shared), out="trained")
    code, out, _ = dpdl(monkeypatch, capsys, "export", "trained", "--to", "model")
    files = "model.safetensors, README.md, load_model.py"
    assert (code, out) == (0, f"Model: trained/model ({files})\n")
    words = ["export", "trained", "--to", "model", "--agent", "2"]
    words += ["--out", "two", "--json"]
    code, out, _ = dpdl(monkeypatch, capsys, *words)
    assert code == 0
    assert json.loads(out) == {
        "folder": "two",
        "files": files.split(", "),
        "needs": ["torch", "safetensors"],
        "agent": 2,
    }
    assert "the model of agent 2" in Path("two/README.md").read_text("utf-8")


def test_a_model_of_a_run_that_goes_on_is_refused(monkeypatch, capsys) -> None:
    Path("run/summary.json").unlink()
    code, _, err = dpdl(monkeypatch, capsys, "export", "run", "--to", "model")
    assert code == 2
    assert "not finished" in err and err.count("\n") == 1
    assert not Path("run/model").exists()
