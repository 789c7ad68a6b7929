"""`dpdl export`."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

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
        (["run", "--to", "excel"], "Allowed: csv, tensorboard"),
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
