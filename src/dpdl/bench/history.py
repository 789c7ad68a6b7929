"""The history of benchmarks: one line for each that was run, with the machine it ran on."""

from __future__ import annotations

import json
import platform
import time
from pathlib import Path

from dpdl import __version__
from dpdl.folder.bench_results import HistoryLine
from dpdl.folder.files import refusing
from dpdl.records import Record

HISTORY = Path("benchmarks/history.jsonl")
"""In a checkout, relative to where the command runs."""


def record(bench: str, measured: Record, file: Path | None = None) -> None:
    """Add a line; without a file, only if this is a checkout that has a history."""
    path = file or (HISTORY if HISTORY.parent.is_dir() else None)
    if path is None:
        return
    line = json.dumps(history_line(bench, measured).to_json(), allow_nan=False)
    with refusing("History", path), path.open("a", encoding="utf-8") as history:
        history.write(line + "\n")


def history_line(bench: str, measured: Record) -> HistoryLine:
    """What was measured here and now."""
    import torch

    versions = {
        "dpdl": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
    }
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return HistoryLine(when, bench, processor(), versions, measured.to_json())


def processor(file: Path = Path("/proc/cpuinfo")) -> str:
    """The name of the processor; of its family where the system does not name it."""
    try:
        lines = file.read_text("utf-8").splitlines()
    except OSError:
        return platform.processor()
    named = (line for line in lines if line.startswith("model name"))
    found = (line.split(":", 1)[1].strip() for line in named)
    return next(found, platform.machine())
