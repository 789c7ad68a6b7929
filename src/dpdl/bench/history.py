"""The history of benchmarks: one line for every one that was run, with the machine it ran on."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpdl import __version__
from dpdl.folder.files import refusing

HISTORY = Path("benchmarks/history.jsonl")
"""In a checkout, relative to where the command runs."""


def record(kind: str, facts: Mapping[str, Any], file: Path | None = None) -> None:
    """Add a line; without a file, only if this is a checkout that has a history."""
    path = file or (HISTORY if HISTORY.parent.is_dir() else None)
    if path is None:
        return
    line = json.dumps({**_when_and_where(kind), **facts}, allow_nan=False)
    with refusing("History", path), path.open("a", encoding="utf-8") as history:
        history.write(line + "\n")


def _when_and_where(kind: str) -> dict[str, Any]:
    import torch

    return {
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "bench": kind,
        "processor": _processor(),
        "versions": {
            "dpdl": __version__,
            "python": platform.python_version(),
            "torch": torch.__version__,
        },
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor()
    named = (line for line in lines if line.startswith("model name"))
    found = (line.split(":", 1)[1].strip() for line in named)
    return next(found, platform.machine())
