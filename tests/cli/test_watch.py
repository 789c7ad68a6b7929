"""`dpdl watch`."""

from __future__ import annotations

import http.client
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands import SOURCE, dpdl
from tests.folder.measured import RUN


@pytest.fixture(autouse=True)
def _with_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(RUN, "runs/one")


@pytest.fixture
def watching(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    words = [sys.executable, "-m", "dpdl", "watch", "--no-open"]
    env = {**os.environ, "PYTHONPATH": SOURCE, "PYTHONUNBUFFERED": "1"}
    pipe = subprocess.PIPE
    found = subprocess.Popen(
        words,
        cwd=tmp_path,
        env=env,
        stdout=pipe,
        stderr=pipe,
        text=True,
        # In the background of a script, a signal that is ignored would be inherited.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    yield found
    found.kill()
    found.wait()
    for end in (found.stdout, found.stderr):
        end.close()


def test_it_serves_the_runs_until_it_is_interrupted(
    watching: subprocess.Popen[str],
) -> None:
    assert watching.stdout.readline() == "Watching runs\n"
    url = watching.stdout.readline().removeprefix("Open http://").strip()
    place, _, path = url.partition("/")
    link = http.client.HTTPConnection(place, timeout=20)
    link.request("GET", f"/{path}")
    assert link.getresponse().status == 200
    link.close()
    watching.send_signal(signal.SIGINT)
    assert watching.wait(20) == 0
    assert watching.stdout.read().endswith("Closed.\n")
    assert watching.stderr.read() == ""


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["nowhere"], 2, "'nowhere' is not a folder; give a run folder"),
        (["runs/one/ledger.jsonl"], 2, "is not a folder"),
        (["other"], 2, "holds no run (experiment.json)"),
        (["--port", "70000"], 2, "--port must be 0 to 65535, not 70000"),
        (["--port", "x"], 2, "'x' is not a valid integer"),
        (["--remote", "0.0.0.0"], 3, "losses, clip shares and times are not protected"),
        (["--cert", "c.pem"], 2, "--cert and --key belong together"),
        (["--remote", "0.0.0.0", "--cert", "c", "--key", "k"], 2, "cannot be used"),
    ],
)
def test_what_is_wrong_is_one_sentence(
    monkeypatch, capsys, words: list[str], code: int, sentence: str
) -> None:
    Path("other").mkdir()
    Path("other/letter.txt").touch()
    found, out, err = dpdl(monkeypatch, capsys, "watch", *words)
    assert (found, out) == (code, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert sentence in err
