"""`examples/hospitals/run` ends by itself, with five audits and five equal models, whoever is killed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.documents import HOME

SITES = ("mercy", "st-olav", "charite", "vita", "anna")
SCRIPT = HOME / "examples" / "hospitals" / "run"
PATIENCE = 900


def started(work: Path, port: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(SCRIPT), str(work)],
        env={**os.environ, "DPDL_FIRST_PORT": str(port)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def ended_well(script: subprocess.Popen[str], work: Path) -> str:
    """What the script has printed, after all that must be true at its end."""
    said, _ = script.communicate(timeout=PATIENCE)
    assert script.returncode == 0, said
    assert said.count("audit: ok") == len(SITES)
    assert said.count(" 0 violations of neighbours") == len(SITES)
    assert said.count("own score") == len(SITES)
    models = [work / f"model-{site}" / "model.safetensors" for site in SITES]
    assert len({file.read_bytes() for file in models}) == 1
    assert "an eavesdropper" in (work / "model-mercy" / "README.md").read_text("utf-8")
    return said


@pytest.mark.slow
def test_five_hospitals_end_with_five_audits_and_equal_models(tmp_path: Path) -> None:
    work = tmp_path / "hospitals"
    said = ended_well(started(work, 23443), work)
    assert "killed" not in said
    sizes = {file.stat().st_size for file in (work / "records").glob("*[zv]")}
    assert len(sizes) == len(SITES), "every site has a file of its own"


@pytest.mark.slow
def test_any_hospital_can_be_killed_at_any_time(tmp_path: Path) -> None:
    """They end with equal models, and nobody has ever said two things for one exchange."""
    work = tmp_path / "hospitals"
    script = started(work, 24443)
    dice = random.Random(5)
    killed = 0
    for site in dice.sample(SITES * 2, 2 * len(SITES)):
        pid = process_of(work / site, script)
        time.sleep(dice.uniform(0, 1.5))
        if pid is None:
            break
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:  # it has just ended
            continue
        killed += 1
        forget(work / site, pid)
    said = ended_well(script, work)
    assert killed >= len(SITES)
    assert said.count("was killed, and is started again") == killed


def process_of(home: Path, script: subprocess.Popen[str]) -> int | None:
    """The process of a site, once it runs; None: all is over."""
    while script.poll() is None:
        for file in home.glob("runs/*/private/status.json"):
            try:
                return int(json.loads(file.read_bytes())["pid"])
            except FileNotFoundError:
                break
        time.sleep(0.05)
    return None


def forget(home: Path, pid: int) -> None:
    """Remove what the killed process said of itself: the next one says it anew."""
    for file in home.glob("runs/*/private/status.json"):
        if json.loads(file.read_bytes())["pid"] == pid:
            file.unlink(missing_ok=True)
