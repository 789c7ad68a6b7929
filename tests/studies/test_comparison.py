"""A comparison as a person asks for it: words, budgets, interruption, results."""

from __future__ import annotations

import csv
import json
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from dpdl.algorithms import NAMES, NOT_PRIVATE, Named
from dpdl.algorithms.base import Stepped
from dpdl.algorithms.dfedsam import DFedSAM
from dpdl.algorithms.dpdl import SoundDPDL
from dpdl.cli.compare import show_table
from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.folder.checkpoint import restore
from dpdl.planning.plan import plan
from dpdl.planning.traffic import most_rounds, rounds_within
from dpdl.studies.comparison import ask
from dpdl.studies.table import FinishedRun, as_csv, tabulate
from dpdl.training.train import train
from tests.commands import dpdl

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


def without_time(table: dict) -> dict:
    rows = [{k: v for k, v in row.items() if k != "seconds"} for row in table["rows"]]
    return {**table, "rows": rows, "out": None}


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


def test_what_is_given_for_all_goes_to_those_that_have_it(monkeypatch) -> None:
    monkeypatch.setitem(NAMES, "plain", Named(SoundDPDL, "no noise", fixed=NOT_PRIVATE))
    c = ask(
        "dpdl,plain",
        2,
        {"momentum": 0.5, "sigma": 2.0, "seed": 4, "lr": 0.3},
        ["dpdl.alpha=0.25", "plain.lr=0.4"],
    )
    a, b = (c.experiment(name) for name in c.own)
    assert (a.sigma, a.noise, a.alpha, a.lr, a.momentum) == (
        2.0,
        "accountant",
        0.25,
        0.3,
        0.5,
    )
    assert (b.sigma, b.noise, b.clip_unit, b.alpha, b.lr) == (
        None,
        "none",
        "none",
        2.0,
        0.4,
    )
    assert (c.seeds, c.equal, a.seed) == ((4, 5), "sigma", 4)


def test_an_algorithm_without_an_option_does_not_get_it(monkeypatch) -> None:
    monkeypatch.setitem(NAMES, "bare", Named(Stepped, "nothing but a step size"))
    c = ask("dpdl,bare", 1, {"momentum": 0.5, "lr": 0.3})
    assert c.experiment("dpdl").momentum == 0.5
    assert "momentum" not in c.experiment("bare").options
    assert [c.experiment(name).lr for name in c.own] == [0.3, 0.3]
    with pytest.raises(InputError, match="momentum is an option of none of bare"):
        ask("bare", 1, {"momentum": 0.5})


def test_a_file_is_read_and_its_algorithm_is_replaced() -> None:
    Path("e.toml").write_text('algorithm = "dpdl"\nrounds = 7\nlr = 0.2\nagents = 4\n')
    e = ask("dpdl-sound", 1, {"lr": 0.4}, file=Path("e.toml")).experiment("dpdl-sound")
    assert (e.algorithm, e.rounds, e.lr, e.agents) == ("dpdl-sound", 7, 0.4, 4)
    assert (
        ask("dpdl", 1, {}, preset="as-published").experiment("dpdl").noise
        == "public-code"
    )


@dataclass(frozen=True)
class Secretive(DFedSAM):
    """Does not say that it exchanges models in some rounds only, so its rounds must be played."""

    period = 1


@pytest.mark.parametrize(
    ("algorithm", "tau", "graph"),
    [("dpdl-sound", 1, "star"), ("dfedsam", 3, "ring"), ("secretive", 3, "ring")],
)
def test_equal_bytes_are_the_most_rounds_that_fit(
    algorithm: str, tau: int, graph: str, monkeypatch
) -> None:
    monkeypatch.setitem(NAMES, "secretive", Named(Secretive, "every tau-th round"))
    own = {} if tau == 1 else {"local_steps": tau, "sam_radius": 0.1}
    e = Experiment(
        dataset="digits",
        graph=graph,
        agents=4,
        batch=8,
        sigma=1.0,
        algorithm=algorithm,
        rounds=7,
        **own,
    )
    p = plan(e).public
    sent = train(replace(e, rounds=6)).summary["bytes_sent"]
    one = sent // (6 // tau)
    for limit, expected in (
        (6 * one, 7 * tau - 1),
        (6 * one - 1, 6 * tau - 1),
        (40.5 * one, 41 * tau - 1),
    ):
        assert most_rounds(p, limit / 1e6) == expected
    for rounds in (6 * tau, 6 * tau + tau):
        total = train(replace(e, rounds=rounds)).summary["bytes_sent"]
        assert most_rounds(p, total / 1e6) >= rounds
        assert most_rounds(p, (total - 1) / 1e6) < rounds


def test_rounds_that_send_ever_more_are_played_not_multiplied() -> None:
    for limit, expected in ((5050, 100), (5049, 99)):
        later = iter(range(5, 10_000))
        assert rounds_within(limit, [1, 2, 3, 4], later, period=1) == expected


def summary(
    seed: int, mean: float, worst: float, epsilon: object, rounds: int = 5
) -> dict:
    return {
        "seed": seed, "agents": 3, "rounds": rounds, "sigma": 1.0 + seed, "seconds": 2.0, "train_loss": None,
        "consensus_distance": 0.5, "bytes_sent": 100 + seed,
        "accuracy": {"mean": mean, "worst": worst, "best": 1.0, "average_model": mean},
        "epsilon": {"claimed_theorem1": None, "eavesdropper": epsilon, "neighbour": 2.0, "final_model": 1.0},
    }  # fmt: skip


def test_the_table_ranks_by_mean_and_keeps_the_worst_of_everything(capsys) -> None:
    def run(
        name: str, seed: int, found: dict | None, error: str | None = None
    ) -> FinishedRun:
        return FinishedRun(
            name, Experiment(algorithm="dpdl", rounds=5, seed=seed), found, error
        )

    table = tabulate([
        run("a", 0, summary(0, 0.5, 0.4, 3.0)), run("a", 1, summary(1, 0.7, 0.3, 4.0, rounds=4)),
        run("b", 0, summary(0, 0.9, 0.8, 3.0)), run("b", 1, summary(1, 0.7, 0.7, "unbounded")),
        run("c", 0, None, "It broke."),
    ])  # fmt: skip
    b, a, c = table["rows"]
    assert [(row["algorithm"], row["rank"], row["proven"]) for row in (b, a, c)] == [
        ("b", 1, False), ("a", 2, True), ("c", None, False)
    ]  # fmt: skip
    assert a["accuracy"] == {
        "mean": 0.6,
        "spread": pytest.approx(0.02**0.5),
        "worst": 0.3,
    }
    assert a["epsilon"] == {
        "claimed_theorem1": None,
        "eavesdropper": 4.0,
        "neighbour": 2.0,
        "final_model": 1.0,
    }
    assert b["epsilon"]["eavesdropper"] == "unbounded"
    assert (a["rounds"], a["bytes_sent"], a["sigma"], a["train_loss"]) == (
        4,
        101,
        1.5,
        None,
    )
    assert a["stopped"] == [{"seed": 1, "rounds": 4, "asked": 5}]
    assert c["failed"] == [{"seed": 0, "error": "It broke."}]
    assert c["accuracy"] == {"mean": None, "spread": None, "worst": None}
    lines = list(csv.DictReader(as_csv(table).splitlines()))
    assert [(line["algorithm"], line["accuracy_mean"], line["seeds"], line["failed"]) for line in lines] == [
        ("b", "0.8", "0 1", ""), ("a", "0.6", "0 1", ""), ("c", "", "", "0")
    ]  # fmt: skip
    json.dumps(table, allow_nan=False)
    show_table({**table, "equal": "sigma", "out": "c"}, Path("c/curves.png"))
    shown = capsys.readouterr().out
    assert re.search(r"1 +b .*not private", shown)
    assert re.search(r"2 +a +60.00 ± 14.14 +30.00 +4\* .* 4 +2 *\n", shown)
    assert "a, seed 1: stopped after round 4 of 5, its budget is spent." in shown
    assert "c, seed 0 failed: It broke." in shown


# ---------------------------------------------------------------- real processes
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
    code, out, _ = dpdl(monkeypatch, capsys, *words)
    first = json.loads(out)
    assert code == 0 and first["out"].startswith("runs/compare-")
    state = next(Path(first["out"]).glob("runs/*/state.safetensors"))
    written = state.stat().st_mtime_ns
    _, again, _ = dpdl(monkeypatch, capsys, *words)
    assert json.loads(again) == first and state.stat().st_mtime_ns == written
    _, other, _ = dpdl(monkeypatch, capsys, *words, "--lr", "0.3")
    assert json.loads(other)["out"] != first["out"]
