from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from dpdl.algorithms import NAMES

HOME = Path(__file__).parents[2]


def test_every_algorithm_has_the_same_bits_in_two_processes() -> None:
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    words = [sys.executable, *torchrun, "-m", "tests.contracts.on_gloo"]
    done = subprocess.run(
        words, cwd=HOME, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"process 0 compared {len(NAMES)} algorithms; differing: []" in done.stdout
