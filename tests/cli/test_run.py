"""`dpdl run` and `dpdl resume`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

from dpdl import __version__
from dpdl.folder.checkpoint import restore
from dpdl.folder.ledger_lines import START, line_hash
from tests.cli.stored import same, stored
from tests.commands import DIGITS, dpdl
from tests.folder.measured import RUN


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


def with_schedule(facts: str) -> str:
    """Facts of a run from before there was a schedule, with the one that it had."""
    assert facts.count('"lr_decay":') == 1
    return facts.replace('"lr_decay":', '"lr_schedule": "steps", "lr_decay":')


def of_this_version(ledger: bytes) -> bytes:
    """A ledger as this version writes it: its own number, options that are new, and the hashes."""
    head, found = START, b""
    for line in map(json.loads, ledger.splitlines()):
        if "version" in line:
            line["version"] = __version__
            old = json.dumps(line["options"])
            line["options"] = json.loads(with_schedule(old))
        content = json.dumps({**line, "prev": head}).encode()
        head, found = line_hash(content), found + content + b"\n"
    return found


def test_files_and_json_are_as_they_were_before_there_were_records(
    monkeypatch, capsys
) -> None:
    words = ["run", "--dataset", "digits", "--model", "mlp", "--agents", "3"]
    words += ["--batch", "8", "--rounds", "4", "--sigma", "1", "--algorithm", "dpdl"]
    words += ["--eval-every", "2", "--out", "run", "--json", "--quiet"]
    code, out, _ = dpdl(monkeypatch, capsys, *words)
    assert code == 0
    found, expected = json.loads(out), stored("run")
    assert list(found) == list(expected)
    for name in ("seconds", "versions", "ledger_head"):
        assert type(found.pop(name)) is type(expected.pop(name))
    assert same(found, expected)
    ledger = of_this_version((RUN / "ledger.jsonl").read_bytes())
    assert Path("run/ledger.jsonl").read_bytes() == ledger
    facts = with_schedule((RUN / "experiment.json").read_text())
    facts = facts.replace('"version": "0.2.0"', f'"version": "{__version__}"')
    expected = json.dumps(json.loads(facts), indent=2)
    assert Path("run/experiment.json").read_text().rstrip("\n") == expected
    counts = (RUN / "partition.json").read_bytes()
    assert Path("run/partition.json").read_bytes() == counts


def test_metrics_are_as_they_were_before_there_were_records(
    monkeypatch, capsys
) -> None:
    words = ["run", "--dataset", "digits", "--model", "mlp", "--agents", "3"]
    words += ["--batch", "8", "--rounds", "2", "--sigma", "1", "--algorithm", "dpdl"]
    words += ["--eval-every", "2", "--out", "run", "--quiet"]
    assert dpdl(monkeypatch, capsys, *words)[0] == 0
    rows = Path("run/metrics.jsonl").read_text().splitlines()
    lines = (RUN / "metrics.jsonl").read_text().splitlines()
    for now, before in zip(map(json.loads, rows), map(json.loads, lines), strict=False):
        assert before.keys() <= now.keys()  # later versions measure more
        for name in before.keys() - {"seconds"}:
            found, was = now[name], before[name]
            if isinstance(was, dict):
                found = {key: found[key] for key in was}
            assert same(found, was), name


def test_a_command_with_resume_goes_on_with_its_own_run(monkeypatch, capsys) -> None:
    words = ["run", *DIGITS, "--rounds", "2", "--quiet", "--out", "here"]
    assert dpdl(monkeypatch, capsys, *words, "--resume")[0] == 0
    assert dpdl(monkeypatch, capsys, *words, "--resume", "--json")[0] == 0
    code, _, err = dpdl(monkeypatch, capsys, *words)
    assert code == 2
    assert "--resume" in err and "dpdl resume here" in err and "another --out" in err
    code, _, err = dpdl(monkeypatch, capsys, *words, "--resume", "--lr", "0.7")
    assert code == 2 and "lr = " in err and "not 0.7" in err
    code, _, err = dpdl(monkeypatch, capsys, "run", *DIGITS, "--resume")
    assert code == 2 and "name it by --out" in err
