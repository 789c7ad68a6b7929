"""`examples/slurm.sh` trains, goes on after a fault, and gives up where trying again is no use.

Slurm's commands are stood in for: `scontrol` names this machine, `srun` starts one task for each of two
nodes, as processes of this one. All else is what runs on a cluster.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.documents import HOME

SCRIPT = HOME / "examples" / "slurm.sh"
SRUN = r"""#!/usr/bin/env bash
# the first attempt loses a process once a checkpoint is there, if FAULT is set
"$@" & one=$!
"$@" & two=$!
if [ -n "${FAULT:-}" ] && [ ! -e lost ]; then
    until [ -e run/state.safetensors ]; do sleep 0.1; done
    touch lost
    pkill -9 -P "$two"
fi
wait "$one"; first=$?
wait "$two"; second=$?
exit $((first > second ? first : second))
"""
EXPERIMENT = """dataset = "digits"
agents = 4
rounds = {rounds}
eval_every = {rounds}
checkpoint_every = 1
batch = 20
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    """A folder with Slurm's commands in `bin`."""
    commands = {
        "srun": SRUN,
        "scontrol": "#!/bin/sh\necho localhost\n",
        "torchrun": f'#!/bin/sh\nexec {sys.executable} -m torch.distributed.run "$@"\n',
    }
    (tmp_path / "bin").mkdir()
    for name, content in commands.items():
        path = tmp_path / "bin" / name
        path.write_text(content, "utf-8")
        path.chmod(path.stat().st_mode | stat.S_IEXEC)
    return tmp_path


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("localhost", 0))
        return int(found.getsockname()[1])


def sbatch(cluster: Path, experiment: str, **more: str) -> subprocess.CompletedProcess:
    (cluster / "asked.toml").write_text(experiment, "utf-8")
    slurm = {
        "SLURM_JOB_NODELIST": "n[1-2]",
        "SLURM_NNODES": "2",
        "SLURM_JOB_ID": "7",
        "PORT": str(free_port()),
        "DPDL_CORES": "1",
        "PATH": f"{cluster / 'bin'}:{os.environ['PATH']}",
    }
    return subprocess.run(
        ["bash", str(SCRIPT), "asked.toml", "run"],
        cwd=cluster,
        env={**os.environ, **slurm, **more},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.slow
def test_a_job_that_loses_a_process_goes_on_from_its_checkpoint(cluster):
    done = sbatch(cluster, EXPERIMENT.format(rounds=400), FAULT="yes")
    assert done.returncode == 0, done.stderr
    assert (cluster / "lost").exists()
    assert "What was saved is intact" in done.stderr
    assert json.loads((cluster / "run/summary.json").read_text())["rounds"] == 400


@pytest.mark.slow
def test_wrong_input_is_not_tried_again(cluster):
    done = sbatch(cluster, EXPERIMENT.format(rounds=0))
    assert done.returncode == 2
    assert done.stderr.count("error: ") == 1
    assert not (cluster / "run").exists()
