"""Tuning: draws, rungs, scores on held-out records, and what it says about privacy."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from dpdl.algorithms import DPSGD, NAMES, Named
from dpdl.experiment.experiment import Experiment, load
from dpdl.options import Range, option
from dpdl.studies.held_out import held_out
from dpdl.studies.search import Search, ask, field_of
from dpdl.studies.tuning import as_toml, composed
from dpdl.tasks import data as datasets
from dpdl.training.train import train
from tests.commands import dpdl

E = Experiment(dataset="digits", agents=3, batch=8, algorithm="dpdl-sound", rounds=200)


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RANK", raising=False)


WRONG = [
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


def test_trial_0_has_the_defaults_and_the_draws_do_not_depend_on_what_else_is_asked() -> (
    None
):
    s = ask(E, "clip,lr,momentum", 200, ranges=["lr=0.001:10"])
    assert s.values(0) == {"lr": 0.1, "clip": 1.0, "momentum": 0.7}
    drawn = [s.values(k) for k in range(1, 200)]
    assert len({one["lr"] for one in drawn}) > 190
    for name, one in s.ranges.items():
        assert all(one.low <= values[name] <= one.high for values in drawn)
    # Log-uniform: half of the draws of lr are below the geometric middle, and hardly any below the arithmetic one.
    assert 75 < sum(values["lr"] < 0.1 for values in drawn) < 125
    assert 75 < sum(values["momentum"] < 0.475 for values in drawn) < 125
    assert [ask(E, "momentum", 3).values(k)["momentum"] for k in range(1, 9)] == [
        v["momentum"] for v in drawn[:8]
    ]
    assert ask(replace(E, seed=1), "momentum", 3).values(1) != ask(
        E, "momentum", 3
    ).values(1)


@pytest.mark.parametrize(
    ("algorithm", "drawn"),
    [
        ("dpdl-sound", {"lr": 0.9858, "clip": 1.507, "momentum": 0.6796, "alpha": 3.884}),
        ("dpdl-sound", {"weight_decay": 0.002411, "lr_decay": 0.861}),
        ("dfedsam", {"local_steps": 3, "sam_radius": 0.006851}),
        ("muffliato", {"gossip_steps": 2}),
        ("dp-cga", {"margin": 0.1631}),
        ("ngm", {"data_share": 0.8474}),
        ("gut", {"tracking": 0.1602}),
    ],
)  # fmt: skip
def test_draws_are_those_of_earlier_versions(algorithm: str, drawn: dict) -> None:
    e = Experiment(dataset="digits", agents=3, batch=8, algorithm=algorithm, seed=5)
    assert ask(e, ",".join(drawn), 2).values(1) == drawn


def test_other_options_have_draws_of_their_own(monkeypatch) -> None:
    def batches(over: str) -> list[float]:
        return [ask(E, over, 2).values(k)["batch"] for k in range(1, 9)]

    alone = batches("batch")
    assert len(set(alone)) > 4
    assert all(16 <= batch <= 512 for batch in alone)
    assert batches("lr,batch,clip") == alone

    @dataclass(frozen=True)
    class More(DPSGD):
        aa: float = option(1.0, "an option that comes first", search=Range(0, 1))

    monkeypatch.setitem(NAMES, "more", Named(More, "it has one more"))
    assert batches("batch") == alone
    more = replace(E, algorithm="more")
    assert ask(more, "aa,lr", 2).values(1)["lr"] == ask(E, "lr", 2).values(1)["lr"]
    assert 0 < ask(more, "aa", 2).values(1)["aa"] < 1


def test_whole_numbers_are_drawn_whole_and_reach_both_ends(monkeypatch) -> None:
    e = replace(E, algorithm="dp-netfleet")
    s = Search(
        e, {"local_steps": field_of(e.algorithm, "local_steps").metadata["search"]}, 200
    )
    assert {s.values(k)["local_steps"] for k in range(1, 200)} == set(range(1, 9))


def test_halving_compares_at_a_ninth_a_third_and_the_end() -> None:
    assert Search(E, {}, 1, "halving").rungs() == [23, 67, 200]
    assert Search(replace(E, rounds=2), {}, 1, "halving").rungs() == [1, 2]
    assert (
        Search(E, {}, 1, "random").rungs() == Search(E, {}, 2, "grid").rungs() == [200]
    )


def test_a_grid_goes_from_end_to_end_in_equal_steps_or_equal_factors() -> None:
    def grid(over: str, trials: int, *ranges: str) -> list[float]:
        s = ask(
            replace(
                E, algorithm="dp-netfleet" if over == "local_steps" else E.algorithm
            ),
            over,
            trials,
            "grid",
            ranges,
        )
        return [s.values(k)[over] for k in range(trials)]

    assert grid("lr", 6, "lr=0.2:6.4") == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4]
    assert grid("momentum", 3, "momentum=0.5:0.9") == [0.5, 0.7, 0.9]
    assert grid("local_steps", 8) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert grid("local_steps", 2) == [1, 8]


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
    code, out, err = dpdl(monkeypatch, capsys, *words, "--trials", "3", "--json")
    assert code == 0, err
    result = json.loads(out)
    assert sorted(trial["values"]["lr"] for trial in result["trials"]) == [0.01, 0.1, 1]
    assert all(trial["rounds"] == 2 for trial in result["trials"])
    assert result["score"] == max(trial["score"] for trial in result["trials"])
    code, out, err = dpdl(monkeypatch, capsys, *words, "--trials", "5")
    assert (code, out) == (2, "")
    assert "was started with trials = 3, not 5" in err


def test_the_best_experiment_is_written_as_a_file_that_says_the_same() -> None:
    e = replace(E, lr=3e-5, graph='a "b"\\ü𝄞.txt', sigma=None, budget="1,2", delta=1e-7)
    Path("e.toml").write_text(as_toml(e), "utf-8")
    assert load(Path("e.toml"), None, {}) == e


def test_epsilons_add_up_only_when_the_noise_is_independent_and_all_are_bounded() -> (
    None
):
    secure = replace(E, randomness="secure")
    assert composed(secure, [1.0, 2.5]) == {"epsilon": 3.5, "delta": 2e-5}
    assert composed(E, [1.0, 2.5]) is None
    assert composed(secure, [1.0, "unbounded"]) is None
    assert composed(secure, [1.0, None]) is None


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
