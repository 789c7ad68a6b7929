"""Commands that track, in processes of their own, before a door at which whoever sends something must knock."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType

from tests.commands import SOURCE

QUICK = [
    "--dataset",
    "digits",
    "--agents",
    "4",
    "--batch",
    "8",
    "--noise",
    "none",
    "--quiet",
    "--json",
]
SHORT = [*QUICK, "--rounds", "6", "--eval-every", "2"]
KEPT = ("PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH", "DPDL_CALIBRATIONS")
"""Variables of a person: where libraries see that they are tested, they are more silent than else."""
PATIENCE = 240.0


class Door:
    """A proxy that everything is sent through, and that counts who comes."""

    def __init__(self) -> None:
        self.knocks: list[bytes] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def _listen(self) -> None:
        while True:
            try:
                who, _ = self._socket.accept()
            except OSError:
                return
            with who:
                self.knocks.append(who.recv(200))

    def __enter__(self) -> Door:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()

    def environment(self, *packages: str) -> dict[str, str]:
        """Of a person who has said nothing to any tracker, but has tokens for other work."""
        address = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        words = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
        proxies = {name: address for word in words for name in (word, word.lower())}
        tokens = {"WANDB_API_KEY": "0" * 40, "HF_TOKEN": "hf_0"}
        path = os.pathsep.join([*packages, SOURCE])
        quiet = {
            "NO_PROXY": "",
            "no_proxy": "",
            "PYTHONWARNINGS": "default::UserWarning",
        }
        return {**kept, **proxies, **tokens, **quiet, "PYTHONPATH": path}


def dpdl(
    home: Path, environment: dict[str, str], *words: str
) -> subprocess.CompletedProcess[str]:
    """One command to its end."""
    return subprocess.run(
        [sys.executable, "-m", "dpdl", *words],
        cwd=home,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


STOPPED = """
import os, sys, time
from dataclasses import replace
from pathlib import Path
from dpdl.experiment.experiment import Experiment
from dpdl.studies.one_run import new_run

number, *trackers = sys.argv[1:]
options = dict(dataset="digits", agents=4, batch=8, noise="none", rounds=12)
e = Experiment(**options, eval_every=1, checkpoint_every=7)
run = Path("r")

def watch(t, metrics):
    if t == 9:
        while not all((run / name / "tracked.json").exists() for name in trackers):
            time.sleep(0.02)
        os.killpg(os.getpgrp(), int(number))

one = replace(new_run(e, run, "alone", False), formats=trackers)
one.perform(watch, warn=lambda said: print(said, file=sys.stderr))
"""


def stopped(
    home: Path, environment: dict[str, str], number: signal.Signals, *trackers: str
) -> tuple[int, str]:
    """A run of 12 rounds in the folder `r` that gets a signal in round 9, and what it said.

    As from a terminal, the processes that it started get the signal, too. It comes when all
    trackers know the run. The last checkpoint is that of round 7.
    """
    done = subprocess.run(
        [sys.executable, "-c", STOPPED, str(int(number)), *trackers],
        cwd=home,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        start_new_session=True,
        check=False,
    )
    assert done.stdout == "", done.stdout
    return done.returncode, done.stderr
