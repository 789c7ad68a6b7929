"""`dpdl tune`: wrong input, what a person sees, and searches as a user starts them."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dpdl.cli.tune import show, show_plan
from dpdl.experiment.experiment import Experiment, load
from dpdl.privacy.epsilon import UNBOUNDED, UNKNOWN, Epsilon
from dpdl.studies.held_out import held_out
from dpdl.studies.schedule import schedules
from dpdl.studies.search import make_search
from dpdl.studies.search_records import Composed
from dpdl.tasks import data as datasets
from dpdl.training.train import train
from tests.commands import dpdl
from tests.studies.scored import E, Scored, tuned


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RANK", raising=False)


WRONG = [
    ([], "one or more options"),
    (["--over", "lr", "--trials", "0"], "trials must be"),
    (["--over", ","], "one or more options"),
    (["--over", "lrr"], "Did you mean 'lr'"),
    (["--over", "sigma"], "option of --over"),
    (["--over", "margin"], "margin is not an option of dpdl"),
    (["--over", "lr", "--range", "clip=1:2"], "--over does not name"),
    (["--over", "lr", "--range", "lrr=1:2"], "Did you mean 'lr'"),
    (["--over", "lr", "--range", "lr=0.2:0.1"], "low must be below high"),
    (["--over", "lr", "--range", "lr=0.1:0.1"], "low must be below high"),
    (["--over", "lr", "--range", "lr=0:0.1"], "lr must be a finite number above 0"),
    (["--over", "lr", "--range", "lr=0.1"], "option=low:high"),
    (["--over", "lr", "--range", "lr=a:b"], "option=low:high"),
    (["--over", "momentum", "--range", "momentum=0:1"], "below 1"),
    (["--over", "weight_decay", "--range", "weight_decay=0:1"], "orders of magnitude"),
    (["--over", "lr", "--search", "gird"], "Did you mean 'grid'"),
    (["--over", "lr,clip", "--search", "grid"], "exactly one option"),
    (["--over", "lr", "--search", "grid", "--trials", "1"], "at least 2 trials"),
    (
        [
            "--over",
            "local_steps",
            "--algorithm",
            "dp-netfleet",
            "--search",
            "grid",
            "--trials",
            "9",
        ],
        "only 8 different",
    ),
    (["--over", "lr", "--jobs", "0"], "jobs"),
    (["--over", "batch,lr", "--for-budget", "--epsilon", "8"], "leave batch out"),
    (["--over", "lr", "--agents", "900"], "at most"),
]


@pytest.mark.parametrize(
    ("words", "hint"),
    WRONG,
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_input_gets_one_sentence_before_anything_is_written(
    monkeypatch, capsys, words, hint
) -> None:
    code, out, err = dpdl(
        monkeypatch,
        capsys,
        "tune",
        "--dataset",
        "digits",
        *words,
        "--out",
        "t",
        "--quiet",
    )
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert hint in err
    assert list(Path().iterdir()) == []


def test_a_grid_runs_all_its_trials_and_its_folder_refuses_another_number_of_them(
    monkeypatch, capsys
) -> None:
    words = [
        "tune",
        "--dataset",
        "digits",
        "--agents",
        "3",
        "--batch",
        "8",
        "--algorithm",
        "dp-dpsgd",
        "--rounds",
        "2",
    ]
    words += [
        "--epsilon",
        "60",
        "--over",
        "lr",
        "--range",
        "lr=0.01:1",
        "--search",
        "grid",
        "--out",
        "t",
        "--quiet",
    ]
    code, out, err = dpdl(monkeypatch, capsys, *words, "--trials", "2", "--json")
    assert code == 0, err
    result = json.loads(out)
    assert sorted(trial["values"]["lr"] for trial in result["trials"]) == [0.01, 1]
    assert all(trial["rounds"] == 2 for trial in result["trials"])
    assert result["score"] == max(trial["score"] for trial in result["trials"])
    code, out, err = dpdl(monkeypatch, capsys, *words, "--trials", "5")
    assert (code, out) == (2, "")
    assert "was started with trials = 2, not 5" in err


def test_halving_resumes_the_best_with_the_noise_of_all_rounds(
    monkeypatch, capsys
) -> None:
    words = [
        "tune",
        "--dataset",
        "digits",
        "--agents",
        "3",
        "--batch",
        "8",
        "--algorithm",
        "dpdl-sound",
    ]
    words += [
        "--rounds",
        "3",
        "--epsilon",
        "60",
        "--over",
        "lr",
        "--range",
        "lr=0.0001:0.001",
        "--trials",
        "2",
    ]
    words += ["--search", "halving", "--out", "t"]
    code, out, err = dpdl(monkeypatch, capsys, *words)
    assert code == 0, err
    assert "the epsilon of a run does not account for it" in " ".join(out.split())
    assert "--set dpdl-sound.lr=" in out
    code, out, err = dpdl(monkeypatch, capsys, *words, "--json")
    assert (code, err) == (0, "")  # nothing was run again
    result = json.loads(out)
    assert "held-out records without any noise" in result["warning"]
    assert result["composed"] is None
    first, second = result["trials"]
    assert (first["rounds"], second["rounds"]) == (3, 1)
    assert (result["best"], result["score"]) == (first["values"], first["score"])
    best = load(Path("t/best.toml"), None, {})
    assert best.lr == result["best"]["lr"]
    data = held_out(datasets.load("digits"), 0)
    whole = train(best, data=data)
    assert whole.summary["accuracy"]["mean"] == first["score"]
    for trial in (0, 1):
        ledger = json.loads(
            Path(f"t/trials/trial{trial}/ledger.jsonl").read_text().splitlines()[0]
        )
        assert ledger["sigma"] == whole.plan.grad.noise_multiplier
    assert first["epsilon"] == pytest.approx(60, rel=1e-3)
    assert second["epsilon"] < 59
    assert second["epsilon_all_rounds"] == pytest.approx(60, rel=1e-3)
    code, _, err = dpdl(monkeypatch, capsys, *words, "--batch", "9")
    assert code == 2
    assert "batch = 8, not 9" in err


# ------------------------------------------------------------------ for a budget
def words(e: Experiment, *more: str) -> list[str]:
    asked = {
        name: value
        for name, value in e.as_dict().items()
        if name in e.options or value != getattr(Experiment(), name)
    }
    options = [
        part
        for name, value in asked.items()
        for part in (f"--{name.replace('_', '-')}", str(value))
    ]
    return ["tune", "--for-budget", *options, "--quiet", *more]


def test_the_plan_alone_runs_and_writes_nothing(monkeypatch, capsys) -> None:
    asked = words(E, "--plan-only", "--work", "0.125")
    code, out, err = dpdl(monkeypatch, capsys, *asked, "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found == {
        "plan": [one.to_json() for one in schedules(E, 0.125)],
        "epsilon": 60.0,
        "delta": 1e-5,
        "threat": "eavesdropper",
    }
    pairs = {(row["rounds"], row["batch"]) for row in found["plan"]}
    assert pairs == {(2, 8), (4, 8), (2, 16)}
    assert set(found["plan"][0]) == {
        "rounds",
        "batch",
        "sigma",
        "noise",
        "work",
        "candidate",
    }
    code, out, _ = dpdl(monkeypatch, capsys, *asked)
    assert code == 0
    assert out.count(" * ") == sum(row["candidate"] for row in found["plan"])
    assert list(Path().iterdir()) == []


def test_both_tables_are_shown(capsys) -> None:
    pool = Scored(lambda run: 0.5 + run.experiment.batch / 1000)
    result = tuned(make_search(E, "lr", 4, work=4.0), "t", pool)
    assert result.plan
    show_plan(result.plan, E)
    assert "Noise at epsilon 60" in capsys.readouterr().out
    show(result)
    out = capsys.readouterr().out
    assert "best of 4 trials" in out
    header = next(line for line in out.splitlines() if "score" in line)
    assert [word for word in header.split() if word.isalpha()] == [
        "trial",
        "lr",
        "batch",
        "rounds",
        "score",
        "epsilon",
    ]
    best = load(Path("t/best.toml"), None, {})
    assert (
        f"--set dp-dpsgd.rounds={best.rounds} --set dp-dpsgd.batch={best.batch}" in out
    )


WRONG_BUDGET = [
    ({"epsilon": None}, [], 2, "give an epsilon"),
    ({"noise": "theorem1", "algorithm": "dpdl"}, [], 2, "noise 'accountant'"),
    ({"noise": "none", "epsilon": None}, [], 2, "not noise 'none'"),
    ({"sigma": 1.0}, [], 2, "not sigma 1"),
    ({"algorithm": "d-psgd"}, [], 2, "noise 'accountant'"),
    ({"clip_unit": "chunks"}, [], 3, "No noise multiplier proves epsilon = 60"),
    ({"sampling": "fixed"}, [], 2, "replace-one"),
    ({"agents": 900}, [], 2, "at most"),
    (
        {"algorithm": "gut", "agents": 4, "tracking": 1.0},
        [],
        2,
        "give a tracking below 1",
    ),
    ({}, ["--search", "halving"], 2, "search 'random', not 'halving'"),
    ({}, ["--search", "grid"], 2, "search 'random', not 'grid'"),
    ({}, ["--work", "0"], 2, "work must be a finite number above 0, not 0.0"),
    ({}, ["--work", "-1"], 2, "work must be a finite number above 0"),
    ({}, ["--work", "nan"], 2, "work must be a finite number above 0"),
    ({}, ["--work", "inf"], 2, "work must be a finite number above 0"),
    ({}, ["--work", "0.06"], 2, "work must be at least 0.0625"),
    ({}, ["--over", ","], 2, "one or more options"),
    ({}, ["--over", "rounds"], 2, "option of --over"),
    ({}, ["--over", "clip", "--range", "lr=1:2"], 2, "--over does not name"),
]


@pytest.mark.parametrize(("options", "more", "code", "hint"), WRONG_BUDGET, ids=str)
@pytest.mark.parametrize("end", ["--plan-only", "--json"])
def test_wrong_input_gets_one_sentence(
    monkeypatch, capsys, options, more, code, hint, end
) -> None:
    found, out, err = dpdl(
        monkeypatch, capsys, *words(replace(E, **options), *more, end, "--out", "t")
    )
    assert (found, out) == (code, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert hint in err
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(
    ("more", "hint"),
    [
        ([], "one or more options"),
        (["--over", "lr", "--work", "2"], "--work is for --for-budget"),
        (["--over", "lr", "--plan-only"], "--plan-only is for --for-budget"),
    ],
)
def test_without_a_budget_its_options_are_refused(
    monkeypatch, capsys, more, hint
) -> None:
    code, out, err = dpdl(
        monkeypatch, capsys, "tune", "--dataset", "digits", *more, "--out", "t"
    )
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert hint in err
    assert list(Path().iterdir()) == []


def test_a_killed_search_goes_on_and_its_best_file_runs(monkeypatch, capsys) -> None:
    e = replace(E, rounds=4)
    command = words(
        e, "--trials", "2", "--work", "0.0625", "--jobs", "1", "--out", "t", "--json"
    )
    Path("t").mkdir()
    Path("t/.lock").touch()  # killed before, while the accountant was asked
    started = subprocess.Popen([sys.executable, "-m", "dpdl", *command])
    while not Path("t/trials.jsonl").exists():
        assert started.poll() is None
        time.sleep(0.05)
    started.kill()
    started.wait()
    before = Path("t/trials/trial0/summary.json").read_text()
    code, out, err = dpdl(monkeypatch, capsys, *command)
    while (
        "another process" in err
    ):  # a trial that was just being started holds the lock until its program is loaded
        time.sleep(0.5)
        code, out, err = dpdl(monkeypatch, capsys, *command)
    assert code == 0, err
    assert Path("t/trials/trial0/summary.json").read_text() == before
    result = json.loads(out)
    assert {
        (row["values"]["rounds"], row["values"]["batch"]) for row in result["trials"]
    } == {(4, 32), (1, 8)}
    data = held_out(datasets.load("digits"), 0)
    second = next(row for row in result["trials"] if row["trial"] == 1)
    assert (
        train(replace(e, **second["values"]), data=data).summary["accuracy"]["mean"]
        == second["score"]
    )
    assert all(59 < row["epsilon"] <= 60 for row in result["trials"])
    code, out, err = dpdl(
        monkeypatch, capsys, "run", "t/best.toml", "--json", "--quiet", "--out", "r"
    )
    assert code == 0, err
    summary = json.loads(out)
    assert summary["rounds"] == result["best"]["rounds"]
    assert 59 < summary["epsilon"]["eavesdropper"] <= 60
    assert (
        json.loads(Path("r/experiment.json").read_text())["experiment"]["batch"]
        == result["best"]["batch"]
    )


# ------------------------------------------------------------------ what is shown
def shown(capsys, e: Experiment, pool: Scored, **changes) -> str:
    result = tuned(make_search(e, "lr,clip", 3), "t", pool)
    show(replace(result, **changes))
    return " ".join(capsys.readouterr().out.split())


def test_a_trial_that_diverged_is_shown_as_such(capsys) -> None:
    def score(run) -> float | None:
        return None if run.name == "trial1" else 0.25

    out = shown(capsys, E, Scored(score))
    assert "dp-dpsgd: best of 3 trials, by held-out accuracy" in out
    assert "25.00%" in out
    assert "diverged" in out
    assert "Run the best: dpdl run t/best.toml" in out


def test_what_is_proven_for_all_trials_is_said(capsys) -> None:
    pool = Scored(lambda run: 0.5)
    assert "Nothing is proven for all trials together." in shown(capsys, E, pool)
    both = Composed(Epsilon(27.123456), 3e-5)
    out = shown(capsys, E, pool, composed=both)
    assert "all trials together are (27.12, 3e-05)-differentially private" in out
    assert "against eavesdropper, by basic composition" in out


def test_an_epsilon_is_a_number_unbounded_or_a_dash(capsys) -> None:
    result = tuned(make_search(E, "lr", 3), "t", Scored(lambda run: 0.5))
    epsilons = (Epsilon(8.0), UNBOUNDED, UNKNOWN)
    pairs = zip(result.trials, epsilons, strict=True)
    trials = tuple(replace(one, epsilon=epsilon) for one, epsilon in pairs)
    show(replace(result, trials=trials))
    lines = capsys.readouterr().out.splitlines()
    last = [line.split("│")[-2].strip() for line in lines if "50.00%" in line]
    assert last == ["8", "unbounded", "-"]


def test_the_bare_command_is_refused_in_one_sentence(monkeypatch, capsys) -> None:
    code, out, err = dpdl(monkeypatch, capsys, "tune")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "over must be one or more options" in err


def test_the_score_is_shown_by_its_name(capsys) -> None:
    x, y = np.zeros((60, 3), np.float32), np.linspace(0, 1, 60, dtype=np.float32)
    np.savez("own.npz", x=x, y=y, x_test=x[:9], y_test=y[:9])
    e = Experiment(
        dataset="own.npz",
        predict="numbers",
        model="mlp",
        partition="iid",
        agents=3,
        batch=8,
        rounds=2,
        sigma=1.0,
    )
    out = shown(capsys, e, Scored(lambda run: 0.12345))
    assert "best of 3 trials, by held-out squared error" in out
    assert " 0.1235 " in out or " 0.1234 " in out
    assert (
        json.loads(Path("t/result.json").read_text())["score_name"] == "squared_error"
    )
