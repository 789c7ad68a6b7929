"""A process that cannot import data, plans or runs, and knows of a recording only."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import dpdl

BEFORE = """
import sys, types
for name in ("dpdl.tasks.data", "dpdl.tasks.partition", "dpdl.planning.plan",
             "dpdl.training.train", "dpdl.training.recording"):
    sys.modules[name] = None
sys.modules["dpdl"] = types.ModuleType("dpdl")
sys.modules["dpdl"].__path__ = [{package!r}]
from pathlib import Path
import torch
RECORDING = Path("recording")
"""


def run_alone(code: str, run: Path, folder: Path) -> None:
    """Run code with RECORDING, a copy of a run's recording and all there is in its folder."""
    shutil.copytree(run / "recording", folder / "recording")
    before = BEFORE.format(package=str(Path(dpdl.__file__).parent))
    done = subprocess.run(
        [sys.executable, "-c", before + code],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
