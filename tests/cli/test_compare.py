"""`dpdl compare`: wrong input, interruption, failures, and what a person sees."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from dpdl.cli.compare import show_table
from dpdl.experiment.experiment import Experiment
from dpdl.folder.checkpoint import restore
from dpdl.privacy.epsilon import Epsilon
from dpdl.studies.comparison_table import ComparisonTable, tabulate
from dpdl.training.train import train
from tests.commands import dpdl
from tests.studies.tables import ASKED, run, small_table, summary

BASE = [
    "compare",
    "--dataset",
    "digits",
    "--agents",
    "3",
    "--batch",
    "8",
    "--checkpoint-every",
    "1000",
]


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RANK", raising=False)


WRONG = [
    (["--algorithms", "dpld"], "Did you mean 'dpdl'"),
    (["--algorithms", " , "], "one or more names"),
    (["--algorithms", "dpdl,dpdl"], "twice"),
    (["--algorithms", "dpdl", "--seeds", "0"], "at least 1"),
    (["--algorithms", "dpdl", "--jobs", "0"], "at least 1"),
    (["--algorithms", "dpdl", "--set", "dpdl.lr"], "ALGORITHM.option=value"),
    (["--algorithms", "dpdl", "--set", "dpdl-sound.lr=1"], "algorithm of --set"),
    (["--algorithms", "dpdl", "--set", "dpdl.lrr=1"], "Did you mean 'lr'"),
    (["--algorithms", "dpdl", "--set", "dpdl.lr=much"], "lr must be a number"),
    (
        ["--algorithms", "dpdl", "--set", "dpdl.lr=0"],
        "lr must be a finite number above 0",
    ),
    (["--algorithms", "dpdl", "--set", "dpdl.seed=1"], "the same for all"),
    (["--algorithms", "dpdl", "--set", "dpdl.margin=1"], "not an option of dpdl"),
    (
        ["--algorithms", "dpdl,dpdl-sound", "--sam-radius", "0.1"],
        "none of dpdl, dpdl-sound",
    ),
    (
        ["--algorithms", "dpdl", "--bytes", "1", "--equal", "epsilon"],
        "cannot be given together",
    ),
    (["--algorithms", "dpdl", "--bytes", "1", "--rounds", "3"], "leave out rounds"),
    (
        ["--algorithms", "dpdl", "--bytes", "1", "--set", "dpdl.rounds=3"],
        "leave out rounds",
    ),
    (["--algorithms", "dpdl", "--bytes", "0"], "above 0"),
    (["--algorithms", "dpdl", "--bytes", "0.001"], "more than --bytes allows"),
    (
        [
            "--algorithms",
            "dpdl",
            "--bytes",
            "1",
            "--agents",
            "1",
            "--graph",
            "complete",
        ],
        "sends nothing",
    ),
    (["--algorithms", "dpdl", "--equal", "bytes"], "needs --bytes"),
    (["--algorithms", "dpdl", "--equal", "sigma"], "needs --sigma"),
    (
        ["--algorithms", "dpdl", "--equal", "epsilon", "--sigma", "1"],
        "leave out --sigma",
    ),
    (["--algorithms", "dpdl", "--equal", "epsilom"], "epsilon"),
    (
        ["--algorithms", "dpdl", "--noise-split", "calibrated", "--sigma", "1"],
        "noise_split is an option of none of dpdl",
    ),
    (["--algorithms", "dpdl", "--lr", "much"], "lr must be a number, not 'much'"),
    (["missing.toml", "--algorithms", "dpdl"], "missing.toml"),
]


@pytest.mark.parametrize(
    ("words", "hint"),
    WRONG,
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_input_gets_one_sentence_before_anything_is_written(
    monkeypatch, capsys, words, hint
) -> None:
    code, out, err = dpdl(monkeypatch, capsys, *BASE, *words, "--out", "c", "--quiet")
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert hint in err
    assert list(Path().iterdir()) == []


def test_an_interrupted_comparison_continues_to_the_same_table_and_grows(
    monkeypatch, capsys, tmp_path
) -> None:
    words = [
        *BASE,
        "--algorithms",
        "dpdl-sound",
        "--seeds",
        "2",
        "--sigma",
        "1",
        "--bytes",
        "20",
        "--json",
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "dpdl", *words, "--out", "c"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    state = tmp_path / "c/runs/dpdl-sound-seed0/state.safetensors"
    ledger = state.with_name("ledger.jsonl")
    while not ledger.exists() or len(ledger.read_text().splitlines()) < 3:
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert "continue with the same command" in err
    assert "Traceback" not in err
    assert not (state.parent / "summary.json").exists()
    # Saved because it was asked to: a checkpoint is not due before round 1000.
    assert restore(state).round == len(ledger.read_text().splitlines()) - 1
    code, out, err = dpdl(monkeypatch, capsys, *words, "--out", "c")
    assert code == 0, err
    assert "dpdl-sound-seed0: accuracy" in err
    table = json.loads(out)
    (row,) = table["rows"]
    assert table == json.loads(Path("c/table.json").read_text())
    assert (row["seeds"], row["failed"], table["equal"], table["bytes"]) == (
        [0, 1],
        [],
        "bytes",
        20.0,
    )
    size = row["bytes_sent"] // row["rounds"]
    assert row["bytes_sent"] <= 20e6 < row["bytes_sent"] + size
    e = Experiment(
        dataset="digits",
        agents=3,
        batch=8,
        algorithm="dpdl-sound",
        sigma=1.0,
        rounds=row["rounds"],
        seed=1,
    )
    whole = train(e).summary.to_json()
    ours = json.loads(Path("c/runs/dpdl-sound-seed1/summary.json").read_text())
    aside = {"seconds": 0, "run_dir": 0, "ledger_head": 0}
    assert {**ours, **aside} == {**whole, **aside}
    assert all(
        Path(f"c/{name}").stat().st_size > 100
        for name in ("curves.png", "table.csv", "runs/dpdl-sound-seed0/training.png")
    )
    code, _, err = dpdl(monkeypatch, capsys, *words, "--lr", "0.2", "--out", "c")
    assert code == 2
    assert "was started with lr = None, not 0.2" in err
    code, _, err = dpdl(
        monkeypatch, capsys, *words, "--set", "dpdl-sound.momentum=0.1", "--out", "c"
    )
    assert code == 2
    assert "momentum = 0.7 for dpdl-sound, not 0.1" in err


def test_a_failed_run_is_marked_the_others_finish_and_are_not_run_again(
    monkeypatch, capsys
) -> None:
    words = [
        *BASE,
        "--sigma",
        "1",
        "--rounds",
        "3",
        "--set",
        "dpdl.lr=1e39",
        "--out",
        "c",
    ]
    code, out, err = dpdl(
        monkeypatch, capsys, *words, "--algorithms", "dpdl-sound,dpdl"
    )
    assert code == 4
    assert "1 run(s) failed: dpdl-seed0; continue with the same command" in err
    assert "dpdl, seed 0 failed: Training diverged" in out
    good, bad = json.loads(Path("c/table.json").read_text())["rows"]
    assert (good["algorithm"], good["seeds"], bad["seeds"]) == ("dpdl-sound", [0], [])
    assert "Training diverged" in bad["failed"][0]["error"]
    done = Path("c/runs/dpdl-sound-seed0/summary.json")
    kept = [done, done.with_name("state.safetensors"), done.with_name("ledger.jsonl")]
    before = [file.stat().st_mtime_ns for file in kept]
    code, out, _ = dpdl(
        monkeypatch, capsys, *words, "--algorithms", "dpdl", "--json", "--quiet"
    )
    assert code == 4
    assert [row["algorithm"] for row in json.loads(out)["rows"]] == [
        "dpdl-sound",
        "dpdl",
    ]
    assert before == [file.stat().st_mtime_ns for file in kept]


def test_without_out_the_same_request_finds_its_folder(monkeypatch, capsys) -> None:
    words = [*BASE, "--algorithms", "dp-dpsgd", "--rounds", "2", "--json", "--quiet"]
    words += ["--sigma", "1"]
    code, out, _ = dpdl(monkeypatch, capsys, *words)
    first = json.loads(out)
    assert code == 0 and first["out"].startswith("runs/compare-")
    state = next(Path(first["out"]).glob("runs/*/state.safetensors"))
    written = state.stat().st_mtime_ns
    _, again, _ = dpdl(monkeypatch, capsys, *words)
    assert json.loads(again) == first and state.stat().st_mtime_ns == written


def test_the_table_marks_what_is_not_private_and_names_early_ends(capsys) -> None:
    show_table(small_table(), Path("c/curves.png"))
    shown = capsys.readouterr().out
    assert re.search(r"1 +b .*not private", shown)
    assert re.search(r"2 +a +60.00 ± 14.14 +30.00 +4\* .* 4 +2 *\n", shown)
    assert re.search(r" c +failed .* 0 *\n", shown)
    assert "equal sigma; epsilon against eavesdropper" in " ".join(shown.split())
    assert "a, seed 1: stopped after round 4 of 5, its budget is spent." in shown
    assert "c, seed 0 failed: It broke." in shown
    assert "prove no epsilon against eavesdropper" in shown
    assert "Folder: c   Curves: c/curves.png" in shown


def test_a_score_that_is_no_accuracy_is_shown_by_its_name(capsys) -> None:
    found = summary(0, 0.25, 0.5, Epsilon(3.0), score="squared_error")
    show_table(tabulate([run("a", 0, found)], ASKED, "c"), Path("c/curves.png"))
    shown = capsys.readouterr().out
    assert "squared error  worst" in shown
    assert re.search(r"1 +a +0.25 +0.5 +5 .* 3 +1 *\n", shown)


def table_with(*sources: str | None) -> ComparisonTable:
    found = small_table()
    rows = zip(found.rows, sources, strict=True)
    return replace(
        found, rows=tuple(replace(row, lr=0.125, lr_from=one) for row, one in rows)
    )


def test_step_sizes_are_shown_and_untuned_ones_are_warned_about(capsys) -> None:
    show_table(table_with("default", "tuned", "given"), Path("c.png"))
    out = " ".join(capsys.readouterr().out.split())
    sizes = "b 0.125 (default), a 0.125 (tuned), c 0.125 (given)."
    assert f"Step sizes: {sizes}" in out
    assert "nobody tuned the step size of b, c for this comparison" in out
    assert "--tune 8" in out


def test_tuned_step_sizes_are_not_warned_about(capsys) -> None:
    show_table(table_with("tuned", "tuned", "tuned"), Path("c.png"))
    assert "nobody tuned" not in capsys.readouterr().out
    show_table(table_with(None, None, None), Path("c.png"))
    assert "Step sizes" not in capsys.readouterr().out
