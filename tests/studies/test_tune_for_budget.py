"""Tuning for a budget: what the accountant says about rounds and batches, and how trials draw them."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dpdl.cli.tune import show, show_plan
from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment, load
from dpdl.planning.plan import plan
from dpdl.planning.privacy_model import PrivacyModel
from dpdl.privacy.accounting import Step, calibrate
from dpdl.privacy.threats import Threat
from dpdl.studies.folders import search_folder
from dpdl.studies.held_out import held_out
from dpdl.studies.pool import PoolWatch
from dpdl.studies.pool_messages import Ending, EndState, PooledRun, Standing
from dpdl.studies.schedule import Schedule, schedules
from dpdl.studies.search import Search, ask
from dpdl.studies.tuning import tune
from dpdl.tasks import data as datasets
from dpdl.training.train import train
from tests.commands import dpdl

E = Experiment(
    dataset="digits", agents=3, partition="iid", batch=32, algorithm="dp-dpsgd", rounds=8, epsilon=60.0, delta=1e-5,
    records="exact",
)  # fmt: skip
RECORDS = 1437 // 3


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RANK", raising=False)


def quick(model: PrivacyModel, epsilon: float, threat: Threat) -> float:
    """An accountant that answers at once: sigma^2 = 0.3 + 100 q^2 T.

    So n falls to a limit, as it really does.
    """
    rate = model.batch / min(model.records)
    return math.sqrt(0.3 + 100 * rate**2 * model.rounds) * 60 / epsilon


planned = partial(schedules, sigma_of=quick)


class Scored:
    """A pool that runs nothing: a function of its experiment is the score of a trial."""

    def __init__(self, score: Callable[[Experiment], float]) -> None:
        self._score = score
        self.ran: list[PooledRun] = []

    def __call__(
        self, runs: Sequence[PooledRun], jobs: int, watch: PoolWatch
    ) -> dict[str, Ending]:
        self.ran += runs
        endings = {}
        for run in runs:
            reached = Standing(run.until or 0, self._score(run.experiment), 1.0, 1.0)
            endings[run.name] = Ending(EndState.DONE, reached)
            watch(run.name, endings[run.name])
        return endings


def tuned(s: Search, out: str, pool: Scored, planner=planned) -> dict[str, Any]:
    return tune(
        s,
        Path(out),
        jobs=None,
        watch=lambda name, news: None,
        planner=planner,
        pool=pool,
    )


def never(*_: object) -> None:
    pytest.fail("asked again")


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


# ------------------------------------------------------------------------ the plan
def test_the_numbers_are_the_accountants() -> None:
    found = {(one.rounds, one.batch): one for one in schedules(E, factors=(1.0, 4.0))}
    assert set(found) == {(8, 32), (32, 32), (8, 128)}
    for (rounds, batch), one in found.items():
        assert one.sigma == calibrate(60.0, 1e-5, Step(1.0, batch, RECORDS), rounds)
        assert one.noise == one.sigma / (batch * math.sqrt(rounds))
        assert one.work == rounds * batch / (8 * 32)


@pytest.mark.parametrize("algorithm", ["dpdl", "dpdl-sound"])
def test_sigma_is_the_one_that_a_run_will_have(algorithm: str) -> None:
    e = replace(
        E,
        algorithm=algorithm,
        agents=5,
        alpha=20.0,
        rounds=2,
        partition="dirichlet-class",
        threat="neighbours:1",
    )
    for one in schedules(e, factors=(1.0, 4.0)):
        run = plan(replace(e, rounds=one.rounds, batch=one.batch))
        assert one.sigma == run.grad.noise_multiplier
        # The model is so small that the proof of `dpdl` asks for more noise than the budget.
        if algorithm == "dpdl":
            assert one.sigma > 20 * 5 * 3**-1.5 * one.batch / (4 * math.sqrt(5000))


@pytest.mark.parametrize("epsilon", [0.5, 8.0])
def test_noise_falls_with_rounds_and_batch_to_that_of_one_release_of_all_records(
    epsilon: float,
) -> None:
    def noise(rounds: int, batch: int) -> float:
        return calibrate(epsilon, 1e-5, Step(1.0, batch, 300), rounds) / (
            batch * math.sqrt(rounds)
        )

    limit = noise(1, 300)
    assert noise(30, 300) == pytest.approx(limit, rel=5e-4)
    few, many, large = noise(5, 60), noise(50, 60), noise(5, 150)
    assert few > many > limit
    assert few > large > limit


def test_candidates_are_the_smallest_batches_near_the_least_noise_within_the_work() -> (
    None
):
    for work in (0.5, 1.0, 4.0, 16.0):
        found = planned(E, work)
        every = {
            (rounds, batch)
            for rounds in (2, 4, 8, 16, 32)
            for batch in (8, 16, 32, 64, 128)
        }
        assert {(one.rounds, one.batch) for one in found} == {
            p for p in every if p[0] * p[1] <= work * 8 * 32
        }
        assert [one.work for one in found] == sorted(one.work for one in found)
        near = [
            one
            for one in found
            if one.noise <= 1.25 * min(other.noise for other in found)
        ]
        chosen = {(one.rounds, one.batch) for one in found if one.candidate}
        assert chosen == {
            (T, min(one.batch for one in near if one.rounds == T))
            for T in {one.rounds for one in near}
        }
    assert 3 < len(chosen) < len(near)
    assert planned(E) == planned(E, 4.0)


def test_fewer_rounds_and_records_than_one_are_not_tried() -> None:
    tiny = planned(replace(E, rounds=1, batch=2), 16.0)
    assert {one.rounds for one in tiny} == {1, 2, 4}
    assert {one.batch for one in tiny} == {1, 2, 4, 8}


def test_the_smallest_agent_limits_the_batch_and_nobody_loses_records() -> None:
    def batches(**options: Any) -> set[int]:
        return {one.batch for one in planned(replace(E, **options), 16.0)}

    assert RECORDS == 479
    assert batches(batch=215) == {54, 108, 215, 430}
    assert batches(batch=216) == {54, 108, 216}  # 432 are more than nine tenths
    assert batches(batch=479) == {120, 240, 479}  # nobody asked for less
    assert batches(partition="quantity") == {32}  # another batch is another partition
    # Drawn again until all agents have a batch: with seed 3 the first draw will do, with seed 0 only for less.
    again = {"partition": "dirichlet-class", "agents": 10, "alpha_d": 0.1, "batch": 40}
    assert batches(**again, seed=3) == {10, 20, 40}
    assert batches(**again, seed=0) == {40}


def test_a_named_data_set_is_not_read(tmp_path: Path, monkeypatch) -> None:
    """There is none here, and none can be fetched."""
    monkeypatch.setenv("DPDL_DATA", str(tmp_path / "empty"))
    monkeypatch.setenv("DPDL_MIRROR", "http://127.0.0.1:9")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InputError, match="could not be fetched"):
        datasets.load("mnist")
    e = replace(E, dataset="mnist", agents=10, batch=216, partition="dirichlet-agent")
    for one in planned(e):
        rate = one.batch / 6000
        assert one.sigma == math.sqrt(0.3 + 100 * rate**2 * one.rounds)


# ------------------------------------------------------------------------ trials
def search(
    e: Experiment, trials: int, over: str = "lr", ranges: Sequence[str] = ()
) -> Search:
    s = ask(e, over, trials, ranges=ranges, work=4.0)
    return replace(s, plan=tuple(planned(e, 4.0)))


def test_trial_0_is_as_given_and_the_others_do_not_depend_on_how_many_there_are() -> (
    None
):
    s = search(E, 100)
    assert s.values(0) == {"lr": 0.1, "rounds": 8, "batch": 32}
    drawn = [s.values(k) for k in range(1, 100)]
    assert {(v["rounds"], v["batch"]) for v in drawn} == {
        (c.rounds, c.batch) for c in s.plan if c.candidate
    }
    fewer, other, more = (
        search(E, 3),
        search(replace(E, seed=1), 3),
        search(E, 3, "lr,clip"),
    )
    assert [fewer.values(k) for k in range(1, 100)] == drawn
    pairs = [(v["rounds"], v["batch"]) for v in drawn]
    assert [
        (v["rounds"], v["batch"]) for v in map(other.values, range(1, 100))
    ] != pairs
    assert [(v["rounds"], v["batch"]) for v in map(more.values, range(1, 100))] == pairs
    assert [s.rungs(k) for k in range(1, 100)] == [[v["rounds"]] for v in drawn]


def test_lr_times_rounds_is_what_was_drawn_for_the_rounds_of_the_experiment() -> None:
    plain = ask(E, "lr", 50, ranges=["lr=0.3:3"])
    budget = search(E, 50, ranges=["lr=0.3:3"])
    assert {budget.values(k)["rounds"] for k in range(50)} > {8}
    for k in range(50):
        values = budget.values(k)
        assert values["lr"] * values["rounds"] == pytest.approx(
            plain.values(k)["lr"] * 8, rel=1e-3
        )
    usual = search(replace(E, lr=0.7), 50, "clip")
    for k in range(50):
        values = usual.values(k)
        assert values["lr"] * values["rounds"] == pytest.approx(0.7 * 8, rel=1e-3)
        assert values["clip"] == ask(E, "clip", 50).values(k)["clip"]


def test_the_score_decides_whatever_the_rounds() -> None:
    for sign in (1, -1):
        pool = Scored(lambda e, sign=sign: 0.5 + sign * e.rounds / 1000)
        result = tuned(ask(E, "lr", 30, work=4.0), f"t{sign}", pool)
        tried = {(one.experiment.rounds, one.experiment.batch) for one in pool.ran}
        assert tried == {(8, 32)} | {
            (c["rounds"], c["batch"]) for c in result["plan"] if c["candidate"]
        }
        assert all(one.until == one.experiment.rounds for one in pool.ran)
        rounds = [one.experiment.rounds for one in pool.ran]
        assert result["best"]["rounds"] == (max(rounds) if sign == 1 else min(rounds))
        scores = [row["score"] for row in result["trials"]]
        assert scores == sorted(scores, reverse=True)
        assert all(row["rounds"] == row["values"]["rounds"] for row in result["trials"])
        best = load(Path(f"t{sign}/best.toml"), None, {})
        assert {name: getattr(best, name) for name in result["best"]} == result["best"]
        assert result["plan"] == [one._asdict() for one in planned(E)]


def test_a_started_folder_keeps_its_plan_and_takes_more_trials() -> None:
    pool = Scored(lambda e: e.lr / 1000)
    first = tuned(ask(E, "lr", 3, work=4.0), "t", pool)
    second = tuned(ask(E, "lr", 5, work=4.0), "t", pool, planner=never)
    assert second["plan"] == first["plan"]
    assert [one.name for one in pool.ran] == [f"trial{k}" for k in range(5)]
    assert all(row in second["trials"] for row in first["trials"])


def test_a_folder_of_another_search_is_refused() -> None:
    pool = Scored(lambda e: 0.5)
    budget, plain = ask(E, "lr", 1, work=4.0), ask(E, "lr", 1)
    tuned(budget, "b", pool)
    tuned(plain, "p", pool)
    for s, out, hint in (
        (budget, "p", "for_budget = False, not True"),
        (plain, "b", "for_budget = True, not False"),
        (ask(E, "lr", 1, work=2.0), "b", "work = 4.0, not 2.0"),
        (ask(E, "clip", 1, work=4.0), "b", "over = "),
    ):
        with pytest.raises(InputError, match=hint):
            tuned(s, out, pool)
    # A folder from before this option was known goes on.
    about = json.loads(Path("p/tune.json").read_text())
    del about["asked"]["for_budget"]
    Path("p/tune.json").write_text(json.dumps(about))
    tuned(plain, "p", pool)


def test_requests_that_differ_in_work_have_folders_of_their_own() -> None:
    folders = [search_folder(ask(E, "lr", 1, work=work)) for work in (4.0, 2.0, 4.0)]
    assert folders[0] == folders[2] != folders[1]
    assert search_folder(ask(E, "lr", 1)) not in folders


# ------------------------------------------------------------------------ what a person sees
def test_the_plan_alone_runs_and_writes_nothing(monkeypatch, capsys) -> None:
    asked = words(E, "--plan-only", "--work", "0.125")
    code, out, err = dpdl(monkeypatch, capsys, *asked, "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found == {
        "plan": [one._asdict() for one in schedules(E, 0.125)],
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
    pool = Scored(lambda e: 0.5 + e.batch / 1000)
    result = tuned(ask(E, "lr", 4, work=4.0), "t", pool)
    show_plan(result["plan"], E)
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


WRONG = [
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


@pytest.mark.parametrize(("options", "more", "code", "hint"), WRONG, ids=str)
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


# ------------------------------------------------------------------------ as a user would
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


def test_a_schedule_is_plain_in_json() -> None:
    one = Schedule(2, 3, 1.5, 0.25, 1.0, True)
    assert Schedule(**json.loads(json.dumps(one._asdict()))) == one
