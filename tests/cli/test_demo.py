"""`dpdl demo`: what it refuses, and the whole of it for those who have the time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dpdl.tasks.data import is_here
from tests.commands import SOURCE, dpdl

WITHOUT_MNIST = {"DPDL_DATA": "/dev/null/nowhere", "DPDL_MIRROR": "http://127.0.0.1:9"}


def test_a_place_for_something_else_is_refused_before_anything_is_fetched(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for name, why in (("full", "holds something else"), ("file", "must be a folder")):
        code, out, err = dpdl(monkeypatch, capsys, "demo", "--out", name)
        assert (code, out) == (2, "")
        assert why in err
        assert len(err.strip().splitlines()) == 1


def demo(home: Path, *words: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "dpdl", "demo", *words],
        cwd=home,
        env={**os.environ, "PYTHONPATH": SOURCE, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_without_mnist_it_is_left_by_ctrl_c_and_goes_on_on_digits(tmp_path) -> None:
    first = demo(tmp_path, **WITHOUT_MNIST)
    run = tmp_path / "runs" / "demo" / "digits-open" / "metrics.jsonl"
    while not run.exists():
        assert first.poll() is None, first.communicate()[1]
        time.sleep(0.1)
    first.send_signal(signal.SIGINT)
    _, err = first.communicate(timeout=120)
    assert first.returncode == 130
    assert "the same command goes on from there" in err.splitlines()[-1]
    out, err = demo(tmp_path, "--json", **WITHOUT_MNIST).communicate(timeout=600)
    found = json.loads(out)
    assert found["dataset"] == "digits"
    assert "MNIST is not here" in found["notes"][0]
    assert found["parts"][0]["attack"]["ssim"] > 0.9
    assert found["parts"][2]["epsilon"]["eavesdropper"] <= 4.0
    again = demo(tmp_path, "--quiet", **WITHOUT_MNIST)
    out, err = again.communicate(timeout=120)
    assert (again.returncode, err) == (0, "")
    assert "protection" in out


@pytest.mark.slow
@pytest.mark.skipif(not is_here("mnist"), reason="MNIST was not fetched")
def test_on_mnist_the_story_is_the_one_of_the_readme(tmp_path) -> None:
    telling = demo(tmp_path, "--json")
    out, err = telling.communicate(timeout=1800)
    assert telling.returncode == 0, err
    told = json.loads(out)
    open_, paper, proven = told["parts"]
    assert open_["attack"]["ssim"] > 0.7
    assert told["control"]["attack"]["ssim"] > 0.5
    assert paper["attack"]["ssim"] < 0.1
    assert proven["attack"]["ssim"] < 0.1
    assert proven["accuracy"] > paper["accuracy"]
    assert max(proven["epsilon"][key] for key in KEYS) <= 0.5
    assert paper["certified"] > paper["epsilon"]["claimed_theorem1"] == 0.5
    assert min(paper["epsilon"][key] for key in KEYS) > 100


KEYS = ("eavesdropper", "neighbour", "final_model")
