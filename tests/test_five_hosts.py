"""`examples/five_hosts.sh`: its network stands until the machines have ended, also after Ctrl-C.

`ip` and `torchrun` are stood in for, since namespaces need root. docs/machines.md says what was done with
the real ones.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.documents import HOME

SCRIPT = HOME / "examples" / "five_hosts.sh"
IP = """#!/bin/bash
echo "ip $*" >>"$HOME/told"
if [ "$1 $2" = "netns exec" ]; then exec "${@:4}"; fi
"""
MACHINE = """#!/bin/bash
trap 'sleep 0.5; echo saved >>"$HOME/told"; exit 1' INT
echo going >>"$HOME/told"
for _ in {1..600}; do [ -n "$QUICK" ] && exit 0; sleep 0.1; done
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with five hosts, and the commands in `bin`."""
    for name, content in (("ip", IP), ("torchrun", MACHINE)):
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, "utf-8")
        path.chmod(0o755)
    for k in range(1, 6):
        (tmp_path / f"host{k}").mkdir()
    return tmp_path


def begin(place: Path, path: str | None = None, **more: str) -> subprocess.Popen[str]:
    found = path or f"{place / 'bin'}:{os.environ['PATH']}"
    return subprocess.Popen(
        [shutil.which("bash") or "bash", str(SCRIPT), str(place), "run", "x.toml"],
        cwd=place,
        env={**os.environ, "PATH": found, "HOME": str(place), **more},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Whoever starts the tests in the background may ignore it, and that is inherited.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def ended(running: subprocess.Popen[str]) -> tuple[int, str]:
    """Exit code and standard error."""
    said = running.communicate(timeout=60)[1]
    return running.returncode, said


def told(place: Path) -> list[str]:
    return (place / "told").read_text().splitlines()


def test_the_network_goes_away_when_all_machines_have_ended(place: Path) -> None:
    assert ended(begin(place, QUICK="yes")) == (0, "")
    assert told(place).count("going") == 5
    assert told(place)[-1] == "ip link del dpdl-bridge"


def test_after_ctrl_c_the_machines_save_before_the_network_goes_away(
    place: Path,
) -> None:
    running = begin(place)
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if (place / "told").exists() and told(place).count("going") == 5:
            break
        time.sleep(0.05)
    os.killpg(running.pid, signal.SIGINT)
    assert ended(running)[0] != 0
    rest = told(place)[told(place).index("saved") :]
    assert rest[:5] == ["saved"] * 5
    assert rest[-1] == "ip link del dpdl-bridge"


def test_a_missing_folder_is_named(place: Path) -> None:
    (place / "host4").rmdir()
    code, said = ended(begin(place))
    assert code == 2 and said.startswith("error: No folder ")
    assert not (place / "told").exists()


def test_a_missing_launcher_is_named(place: Path) -> None:
    (place / "bin" / "torchrun").unlink()
    for name in ("realpath", "env"):
        (place / "bin" / name).symlink_to(str(shutil.which(name)))
    code, said = ended(begin(place, path=str(place / "bin")))
    assert code == 2 and said.startswith("error: No torchrun; ")
    assert not (place / "told").exists()
