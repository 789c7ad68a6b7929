"""A process that measures or rehearses takes its sites with it, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from dpdl.peer.site_process import last_words, when_alone

PARENT = """
import sys, time
from pathlib import Path
from dpdl.peer.home import Home
from dpdl.peer.run_folder import PeerRun
from dpdl.peer.site_process import start_site

home = Home.open(Path(sys.argv[1]))
run = PeerRun(home.find_run(sys.argv[2]))
with open(sys.argv[3], "wb") as log:
    child = start_site(home, run, log, cores=1)
print(child.pid, flush=True)
time.sleep(600)
"""


def is_there(pid: int) -> bool:
    """Whether a process runs; one that has ended may still have a number."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def until(condition, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_site_stops_when_who_started_it_was_killed(group, tmp_path) -> None:
    sites = group(2, graph="complete")
    log = tmp_path / "site.log"
    words = [sites.home(0).path, sites.manifest.hash[:12], log]
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, *map(str, words)],
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        assert parent.stdout
        child = int(parent.stdout.readline())
        until(lambda: "Waiting for the approval" in log.read_text())
        assert is_there(child)
        parent.kill()
    until(lambda: not is_there(child))
    assert last_words(log).startswith("error: Stopped; everything is saved")


def test_somebody_who_is_there_stops_nothing() -> None:
    reading, writing = os.pipe()
    stopped = threading.Event()
    thread = when_alone(stopped.set, reading)
    os.write(writing, b"a word")
    assert not stopped.wait(0.1)
    os.close(writing)
    assert stopped.wait(10)
    thread.join()
    os.close(reading)


def test_the_last_words_of_a_process_are_one_line(tmp_path) -> None:
    (tmp_path / "a.log").write_bytes(b"first\n\xff second\n\n")
    assert last_words(tmp_path / "a.log") == "\ufffd second"
    (tmp_path / "a.log").write_bytes(b"")
    assert last_words(tmp_path / "a.log") == "it said nothing"


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_benchmark_that_is_ended_leaves_no_process(
    number: signal.Signals, tmp_path: Path
) -> None:
    words = ["bench", "peers", "--rounds", "1000", "--repeats", "1"]
    own = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-m", "dpdl", *words],
        env=own,
        start_new_session=True,
        stderr=subprocess.DEVNULL,
    ) as parent:
        until(lambda: len(sites_below(tmp_path)) == 4)
        parent.send_signal(number)
        parent.wait(60)
    until(lambda: not sites_below(tmp_path))
    if number != signal.SIGKILL:  # which lets nobody tidy up
        assert not list(tmp_path.iterdir())


def sites_below(folder: Path) -> list[int]:
    """The processes of sites whose home is in a folder."""
    found = []
    for one in Path("/proc").glob("[0-9]*"):
        try:
            command = (one / "cmdline").read_bytes()
        except OSError:
            continue
        if str(folder).encode() in command and b"--until-eof" in command:
            found.append(int(one.name))
    return [pid for pid in found if is_there(pid)]
