"""The command line as a person or a program uses it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch

from dpdl.folder.checkpoint import restore
from tests.commands import DIGITS, dpdl


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RANK", raising=False)


def without_time(summary: dict) -> dict:
    return {
        name: value
        for name, value in summary.items()
        if name not in ("seconds", "run_dir", "ledger_head")
    }


WRONG = [
    (["run", "--dataset", "mnsit"], "mnist"),
    (["run", "--dataset", "nothing.npz"], "nothing.npz"),
    (["run", "--dataset", "nowhere:load"], "nowhere"),
    (["run", *DIGITS, "--model", "nowhere:Model"], "nowhere"),
    (["run", *DIGITS, "--model", "collections:Counter"], "torch.nn.Module"),
    (["run", *DIGITS, "--model", "lenet"], "at least 16 x 16"),
    (["run", *DIGITS, "--graph", "rong"], "ring"),
    (["run", *DIGITS, "--graph", "bipartite"], "odd"),
    (["run", *DIGITS, "--algorithm", "dpld"], "Did you mean 'dpdl'"),
    (["run", *DIGITS, "--epsilon", "0"], "epsilon"),
    (["run", *DIGITS, "--epsilon", "nan"], "epsilon"),
    (["run", *DIGITS, "--agents", "five"], "valid integer"),
    (["run", "--dataset", "digits", "--agents", "900"], "at most 44 agents"),
    (["run", *DIGITS, "--threat", "neighbours:none"], "neighbours:K"),
    (["run", *DIGITS, "--budget", "1,2"], "one for each of 5 agents"),
    (["run", *DIGITS, "--budget", "-1"], "above 0"),
    (["run", *DIGITS, "--delta", "0"], "at least 1e-30 and below 1"),
    (
        ["run", *DIGITS, "--noise-split", "calibrated"],
        "noise_split is not an option of dpdl",
    ),
    (["privacy", "sigma", "--epsilon", "0"], "above 0"),
    (["privacy", "sigma", "--epsilon", "nan"], "above 0"),
    (["privacy", "epsilon", "--sigma", "0"], "above 0"),
    (
        ["privacy", "epsilon", "--sigma", "1", "--delta", "1"],
        "at least 1e-30 and below 1",
    ),
    (
        ["privacy", "epsilon", "--sigma", "1", "--batch", "7000"],
        "at most the 6000 records",
    ),
    (["privacy", "epsilon", "--sigma", "1", "--records", "10,x"], "whole numbers"),
    (["privacy", "epsilon", "--sigma", "1", "--threat", "everybody"], "eavesdropper"),
    (["privacy", "verify", "nowhere"], "nowhere"),
    (["run", *DIGITS, "--placement", "threads:0"], "threads:K"),
    (["run", *DIGITS, "--placement", "thread:2"], "threads:K"),
    (["run", *DIGITS, "--placement", "threads:9"], "at most one process per agent"),
    (["run", *DIGITS, "--algorithm", "dp-cgaa"], "dp-cga"),
    (["run", *DIGITS, "--algorithm", "pdsl"], "public validation records"),
    (
        ["run", *DIGITS, "--algorithm", "dp-netfleet", "--local-steps", "0"],
        "at least 1",
    ),
    (["run", *DIGITS, "--algorithm", "muffliato", "--gossip-steps", "0"], "at least 1"),
    (
        ["run", *DIGITS, "--algorithm", "dp-dpsgd", "--alpha", "2"],
        "alpha is not an option of dp-dpsgd",
    ),
    (["run", *DIGITS, "--algorithm", "d-psgd"], "d-psgd stands for noise 'none'"),
    (
        [
            "run",
            *DIGITS[:2],
            "--agents",
            "5",
            "--algorithm",
            "dp-dpsgd",
            "--noise",
            "theorem1",
        ],
        "Theorem 1 says nothing",
    ),
    (
        [
            "run",
            *DIGITS[:2],
            "--agents",
            "1",
            "--graph",
            "complete",
            "--algorithm",
            "dp-cga",
        ],
        "agent 0 has none",
    ),
    (
        ["run", *DIGITS, "--algorithm", "dp-dpsgd", "--compress", "sign"],
        "DPSGD sends none",
    ),
    (["run", *DIGITS, "--placement", "gloo"], "torchrun"),
    (["run", *DIGITS, "--out", "/proc/nothing"], "cannot be written"),
    (["run", *DIGITS, "--preset", "as-publisht"], "as-published"),
    (["run", "missing.toml"], "missing.toml"),
    (["run", "--epsillon", "1"], "epsilon"),
    (
        ["run", *DIGITS, "--partition", "shards", "--classes-per-agent", "1"],
        "at least 2 classes per agent",
    ),
    (["resume", "nowhere"], "holds no run"),
    (["graph", "ringg", "--agents", "5"], "ring"),
    (["graph", "ring"], "agents"),
    (["graph", "ring", "--agents", "5", "--weights", "uniformm"], "uniform"),
    (["data", "fetch", "mnits"], "mnist"),
    (["data", "describe", "--dataset", "digits", "--agents", "5000"], "at most"),
    (["rnu"], "Did you mean 'run'"),
]


@pytest.mark.parametrize(
    ("words", "hint"),
    WRONG,
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_input_gets_one_sentence_and_exit_code_2(
    monkeypatch, capsys, words: list[str], hint: str
) -> None:
    quiet = ["--quiet"] if words[0] in ("run", "resume") else []
    code, out, err = dpdl(monkeypatch, capsys, *words, *quiet)
    assert code == 2
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert hint in err
    assert "Traceback" not in err
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        ("0 1\n2 3\n", "not connected"),
        ("0 1\n1 zwei\n", "Line 2"),
    ],
)
def test_a_bad_graph_file_is_refused(
    monkeypatch, capsys, content: str, hint: str
) -> None:
    Path("my.edges").write_text(content)
    code, _, err = dpdl(
        monkeypatch,
        capsys,
        "run",
        "--dataset",
        "digits",
        "--graph",
        "my.edges",
        "--agents",
        "4",
        "--quiet",
    )
    assert code == 2
    assert hint in err


def test_a_matrix_that_is_not_doubly_stochastic_is_refused_with_its_row(
    monkeypatch, capsys
) -> None:
    np.savetxt(
        "w.csv",
        np.array([[0.5, 0.5, 0], [0.5, 0.2, 0.2], [0, 0.2, 0.8]]),
        delimiter=",",
    )
    code, _, err = dpdl(monkeypatch, capsys, "graph", "w.csv", "--weights", "given")
    assert code == 2
    assert "Row 1" in err
    assert "0.9" in err


def test_run_prints_one_json_object_and_the_same_seed_prints_it_again(
    monkeypatch, capsys
) -> None:
    words = ["run", *DIGITS, "--rounds", "6", "--json", "--seed", "3"]
    code, out, err = dpdl(monkeypatch, capsys, *words)
    assert code == 0
    first = json.loads(out)
    assert "round 6/6" in err
    again = json.loads(dpdl(monkeypatch, capsys, *words, "--quiet")[1])
    threads = json.loads(
        dpdl(monkeypatch, capsys, *words, "--quiet", "--placement", "threads:3")[1]
    )
    assert without_time(first) == without_time(again) == without_time(threads)
    assert len({first["run_dir"], again["run_dir"], threads["run_dir"]}) == 3
    for run in (first, again):
        folder = Path(run["run_dir"])
        assert json.loads((folder / "summary.json").read_text()) == run
        assert (folder / "training.png").stat().st_size > 5_000


def test_the_result_table_shows_what_matters(monkeypatch, capsys) -> None:
    code, out, _ = dpdl(
        monkeypatch, capsys, "run", *DIGITS, "--rounds", "3", "--quiet", "--out", "here"
    )
    assert code == 0
    flat = " ".join(out.split())
    for words in (
        "test accuracy",
        "worst / best agent",
        "claimed by Theorem 1",
        "epsilon proven, eavesdropper",
        "is not a guarantee",
        "here",
    ):
        assert words in flat


def test_a_toml_experiment_runs_with_overrides(monkeypatch, capsys) -> None:
    Path("e.toml").write_text(
        'dataset = "digits"\nagents = 4\nrounds = 50\nbatch = 8\ngraph = "complete"\n'
    )
    code, out, _ = dpdl(
        monkeypatch,
        capsys,
        "run",
        "e.toml",
        "--rounds",
        "2",
        "--json",
        "--quiet",
        "--out",
        "r",
    )
    summary = json.loads(out)
    assert code == 0
    assert (summary["rounds"], summary["graph"], summary["agents"]) == (
        2,
        "complete",
        4,
    )
    assert (
        json.loads(Path("r/experiment.json").read_text())["experiment"]["rounds"] == 2
    )


def test_a_users_own_model_and_data(monkeypatch, capsys) -> None:
    Path("mine_for_test.py").write_text(
        "import torch\nfrom torch import nn\n"
        "class Net(nn.Sequential):\n    def __init__(self):\n        super().__init__(nn.Linear(4, 2))\n"
        "def load():\n    g = torch.Generator().manual_seed(0)\n    x = torch.randn(200, 4, generator=g)\n"
        "    y = (x[:, 0] > 0).long()\n    return x[:160], y[:160], x[160:], y[160:]\n"
    )
    words = [
        "run",
        "--dataset",
        "mine_for_test:load",
        "--model",
        "mine_for_test:Net",
        "--agents",
        "3",
        "--rounds",
        "30",
    ]
    options = [
        "--batch",
        "16",
        "--sigma",
        "0.1",
        "--partition",
        "iid",
        "--json",
        "--quiet",
    ]
    code, out, err = dpdl(monkeypatch, capsys, *words, *options)
    assert code == 0, err
    assert json.loads(out)["accuracy"]["worst"] > 0.8
    code, _, err = dpdl(monkeypatch, capsys, *words, *options, "--model", "mlp")
    assert code == 0, err


def test_graph_prints_json_and_saves_a_picture(monkeypatch, capsys) -> None:
    code, out, _ = dpdl(monkeypatch, capsys, "graph", "ring", "--agents", "6", "--json")
    facts = json.loads(out)
    assert code == 0
    assert facts["agents"] == facts["edges"] == 6
    assert facts["degree"] == {"min": 2, "max": 2}
    assert facts["spectral_gap"] == pytest.approx(1 - 2 / 3)
    assert Path(facts["picture"]).exists()
    assert (
        "spectral gap"
        in dpdl(monkeypatch, capsys, "graph", "torus:3x3", "--agents", "9")[1]
    )


COMPLETE = ["--graph", "complete", "--agents", "10", "--alpha", "1.5"]
PLAN = [*COMPLETE, "--records", "6000", "--batch", "216", "--rounds", "1000"]


def test_privacy_plans_noise_that_cancels_between_neighbours(
    monkeypatch, capsys
) -> None:
    words = [
        "privacy",
        "sigma",
        "--algorithm",
        "decor",
        "--agents",
        "10",
        "--epsilon",
        "1",
        "--rounds",
        "100",
        "--json",
    ]
    found = []
    for more in (
        ["--correlation", "0"],
        ["--correlation", "3", "--threat", "neighbours:2"],
    ):
        code, out, _ = dpdl(monkeypatch, capsys, *words, *more)
        assert code == 0
        found.append(json.loads(out)["sigma"])
    alone, shared = found
    assert shared["eavesdropper"] == pytest.approx(
        0.1768**0.5 * alone["eavesdropper"], rel=1e-3
    )
    assert shared["neighbour"] == pytest.approx(
        0.2841**0.5 * alone["neighbour"], rel=1e-3
    )
    assert shared["neighbours:2"] == pytest.approx(alone["eavesdropper"], rel=1e-3)


def test_privacy_plans_noise_and_budget_as_json(monkeypatch, capsys) -> None:
    words = ["privacy", "sigma", *PLAN, "--epsilon", "0.5", "--algorithm", "dpdl"]
    code, out, _ = dpdl(monkeypatch, capsys, *words, "--json", "--plot", "e.png")
    found = json.loads(out)
    assert code == 0
    assert found["sigma"]["theorem1"] == pytest.approx(2.89, abs=0.005)
    assert found["sigma"]["eavesdropper"] == pytest.approx(46.25, abs=0.05)
    assert found["sigma_eff"]["eavesdropper"] == pytest.approx(8.09, abs=0.01)
    assert any("un-noised self-gradient" in note for note in found["notes"])
    assert Path("e.png").stat().st_size > 5_000
    words = [
        "privacy",
        "epsilon",
        *PLAN,
        "--sigma",
        "25.57",
        "--algorithm",
        "dpdl-sound",
        "--threat",
        "neighbours:3",
    ]
    code, out, _ = dpdl(monkeypatch, capsys, *words, "--json")
    found = json.loads(out)
    assert code == 0
    assert set(found["epsilon"]) == {
        "theorem1",
        "theorem1_appendix",
        "eavesdropper",
        "neighbour",
        "final_model",
        "neighbours:3",
    }
    assert found["epsilon"]["neighbour"] == pytest.approx(0.5, rel=2e-3)
    assert "an eavesdropper on all links" in dpdl(monkeypatch, capsys, *words)[1]


def test_privacy_verify_recomputes_and_notices_a_forged_report(
    monkeypatch, capsys
) -> None:
    assert (
        dpdl(
            monkeypatch,
            capsys,
            "run",
            *DIGITS,
            "--rounds",
            "2",
            "--sigma",
            "9",
            "--quiet",
            "--out",
            "r",
        )[0]
        == 0
    )
    code, out, _ = dpdl(monkeypatch, capsys, "privacy", "verify", "r", "--json")
    assert code == 0
    found = json.loads(out)
    assert found["agrees"] is True
    assert found["reported"] == found["recomputed"]
    summary = json.loads(Path("r/summary.json").read_text())
    summary["epsilon"]["eavesdropper"] *= 0.9
    Path("r/summary.json").write_text(json.dumps(summary))
    code, out, _ = dpdl(monkeypatch, capsys, "privacy", "verify", "r")
    assert code == 3
    assert "does NOT agree" in out


def test_a_budget_ends_a_run_with_exit_code_3(monkeypatch, capsys) -> None:
    words = [
        "run",
        *DIGITS,
        "--sigma",
        "4",
        "--algorithm",
        "dpdl-sound",
        "--rounds",
        "50",
        "--budget",
        "0.4",
        "--quiet",
    ]
    code, out, err = dpdl(monkeypatch, capsys, *words, "--out", "r")
    assert code == 3
    assert "test accuracy" in out
    assert "would exceed the budget of agent" in err
    assert json.loads(Path("r/summary.json").read_text())["rounds"] < 50
    assert "Traceback" not in err


@pytest.fixture
def no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No data set is here, and none can be kept: who needs one is told that."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DPDL_DATA", str(tmp_path / "file" / "below"))


def test_a_run_without_data_says_so(no_data, monkeypatch, capsys) -> None:
    words = ["run", "--dataset", "mnist", "--out", "q", "--quiet"]
    code, _, err = dpdl(monkeypatch, capsys, *words)
    assert code == 2 and "set DPDL_DATA" in err


def test_a_batch_larger_than_an_agents_data_is_refused_before_data_is_read(
    no_data, monkeypatch, capsys
) -> None:
    code, _, err = dpdl(
        monkeypatch,
        capsys,
        "run",
        "--dataset",
        "mnist",
        "--batch",
        "7000",
        "--out",
        "q",
    )
    assert code == 2 and "cannot give 10 agents at least 7000 each" in err
    assert not Path("q").exists()


@pytest.mark.parametrize(
    "noise",
    [["--sigma", "0.1"], ["--noise", "accountant", "--epsilon", "60"]],
    ids=" ".join,
)
def test_a_budget_below_one_round_is_refused_before_data_is_read(
    no_data, monkeypatch, capsys, noise: list[str]
) -> None:
    words = [
        "run",
        "--dataset",
        "mnist",
        "--agents",
        "5",
        "--algorithm",
        "dpdl-sound",
        "--rounds",
        "2",
        *noise,
    ]
    code, _, err = dpdl(monkeypatch, capsys, *words, "--budget", "0.001", "--out", "q")
    assert code == 3
    assert "one round with sigma = " in err
    assert not Path("q").exists()


def test_data_describe_counts_every_record_once(monkeypatch, capsys) -> None:
    code, out, _ = dpdl(
        monkeypatch,
        capsys,
        "data",
        "describe",
        "--dataset",
        "digits",
        "--agents",
        "4",
        "--json",
    )
    facts = json.loads(out)
    assert code == 0
    assert np.sum(facts["counts"]) == facts["records"] == 1437
    assert Path(facts["picture"]).exists()
    assert (
        "#9"
        in dpdl(
            monkeypatch,
            capsys,
            "data",
            "describe",
            "--dataset",
            "digits",
            "--agents",
            "4",
        )[1]
    )


def test_data_list_and_fetch(monkeypatch, capsys) -> None:
    code, out, _ = dpdl(monkeypatch, capsys, "data", "list", "--json")
    assert code == 0
    assert json.loads(out)["datasets"]["digits"] is True
    assert dpdl(monkeypatch, capsys, "data", "fetch", "digits")[0] == 0


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["run", "--help"],
        ["resume", "-h"],
        ["data", "describe", "-h"],
        ["--version"],
    ],
)
def test_help_answers(monkeypatch, capsys, words: list[str]) -> None:
    code, out, err = dpdl(monkeypatch, capsys, *words)
    assert code == 0
    assert out
    assert not err


# ---------------------------------------------------------------- real processes
LONG = [
    "run",
    *DIGITS,
    "--rounds",
    "40",
    "--checkpoint-every",
    "5",
    "--json",
    "--quiet",
    "--out",
]


@pytest.fixture
def start():
    """Starts processes, and ends those that a failed test leaves behind."""
    started: list[subprocess.Popen[str]] = []

    def start_one(
        *words: str, launcher: tuple[str, ...] = ("-m", "dpdl")
    ) -> subprocess.Popen[str]:
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        started.append(
            subprocess.Popen(
                [sys.executable, *launcher, *words], env=environment, **pipes
            )
        )
        return started[-1]

    yield start_one
    for process in started:
        process.terminate()
        process.communicate()


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    for _ in range(1200):
        if path.exists():
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    raise AssertionError(f"{path} did not appear")


def stopped(
    process: subprocess.Popen[str], folder: Path, sign: signal.Signals
) -> tuple[str, str]:
    """What a process wrote that gets a signal after its first checkpoint."""
    wait_for(folder / "state.safetensors", process)
    process.send_signal(sign)
    return process.communicate(timeout=60)


def test_a_killed_run_resumes_bit_identically_and_an_interrupted_one_says_how(
    start, monkeypatch, capsys, tmp_path: Path
) -> None:
    killed, interrupted = start(*LONG, "killed"), start(*LONG, "interrupted")
    with ThreadPoolExecutor() as pool:
        pool.submit(stopped, killed, tmp_path / "killed", signal.SIGKILL)
        out, err = stopped(interrupted, tmp_path / "interrupted", signal.SIGINT)
    assert (interrupted.returncode, out) == (130, "")
    assert "dpdl resume interrupted" in err
    code, out, _ = dpdl(monkeypatch, capsys, *LONG, "whole")
    assert code == 0
    summary = json.loads(out)
    expected = restore(tmp_path / "whole/state.safetensors")
    for name in ("killed", "interrupted"):
        state = tmp_path / name / "state.safetensors"
        assert restore(state).round < 40
        code, out, err = dpdl(monkeypatch, capsys, "resume", name, "--json", "--quiet")
        assert code == 0, err
        assert without_time(json.loads(out)) == without_time(summary)
        found = restore(state)
        assert all(
            torch.equal(found.state[key], expected.state[key]) for key in expected.state
        )


def test_two_gloo_processes_print_what_one_process_prints(
    start, monkeypatch, capsys
) -> None:
    words = ["run", *DIGITS, "--rounds", "6", "--json", "--quiet", "--out"]
    torchrun = (
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
        "-m",
        "dpdl",
    )
    both = start(*words, "gloo", "--placement", "gloo", launcher=torchrun)
    code, alone, _ = dpdl(monkeypatch, capsys, *words, "alone")
    assert code == 0
    out, err = both.communicate(timeout=180)
    assert both.returncode == 0, err
    assert without_time(json.loads(out)) == without_time(json.loads(alone))
    found, expected = (
        restore(Path(name) / "state.safetensors") for name in ("gloo", "alone")
    )
    assert all(
        torch.equal(found.state[key], expected.state[key]) for key in expected.state
    )


def test_a_gloo_process_that_dies_ends_the_run_with_advice_and_it_resumes_elsewhere(
    start, tmp_path: Path
) -> None:
    words = [
        "run",
        *DIGITS,
        "--rounds",
        "5000",
        "--checkpoint-every",
        "3",
        "--json",
        "--quiet",
        "--out",
        "g",
    ]
    torchrun = (
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
        "-m",
        "dpdl",
    )
    both = start(*words, "--placement", "gloo", launcher=torchrun)
    wait_for(tmp_path / "g/state.safetensors", both)
    children = [
        int(p)
        for p in Path(f"/proc/{both.pid}/task/{both.pid}/children").read_text().split()
    ]
    ranks = {p: Path(f"/proc/{p}/environ").read_bytes().split(b"\0") for p in children}
    os.kill(
        next(p for p, environment in ranks.items() if b"RANK=1" in environment),
        signal.SIGKILL,
    )
    _, err = both.communicate(timeout=120)
    assert both.returncode != 0
    assert "Process 1 of this run has gone away" in err
    assert "dpdl resume g" in err
    state = tmp_path / "g/state.safetensors"
    before = restore(state).round
    alone = start("resume", "g", "--quiet")
    while alone.poll() is None and restore(state).round == before:
        time.sleep(0.2)
    alone.send_signal(signal.SIGINT)
    _, err = alone.communicate(timeout=60)
    assert alone.returncode == 130, err
