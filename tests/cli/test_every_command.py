"""Every command refuses wrong input in one sentence, and answers to a request for help."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dpdl.cli import COMMANDS, GROUPS
from tests.commands import DIGITS, dpdl


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RANK", raising=False)


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


@pytest.mark.parametrize("words", [[], ["privacy"], ["data"], ["bench"]])
def test_a_group_alone_shows_its_help(monkeypatch, capsys, words: list[str]) -> None:
    code, out, err = dpdl(monkeypatch, capsys, *words)
    assert code == 0
    assert out.startswith(f"Usage: {' '.join(['dpdl', *words])} [OPTIONS] COMMAND")
    assert not err


def test_the_help_shows_every_command_once_in_its_group(monkeypatch, capsys) -> None:
    out = dpdl(monkeypatch, capsys, "--help")[1]
    shown = [line.split()[0] for line in out.splitlines() if line.startswith("  ")]
    for name in COMMANDS:
        assert shown.count(name) == 1, name
    titles = [line[:-1] for line in out.splitlines() if line[:1].isupper()]
    assert [title for title in titles if title in GROUPS] == list(GROUPS)


def test_a_reader_that_has_read_enough_is_no_failure() -> None:
    command = subprocess.Popen(
        [sys.executable, "-m", "dpdl", "--help"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with command:
        command.stdout.close()
        complaint = command.stderr.read()
    assert (command.returncode, complaint) == (0, b"")
