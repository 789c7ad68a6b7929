"""How long commands take to answer: each is a fresh process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

from dpdl.bench.repeats import interleaved
from dpdl.errors import RunFailed
from dpdl.folder.bench_results import Startup

COMMANDS = {
    "help": ("--help",),
    "plan": ("privacy", "sigma", "--epsilon", "1"),
}


def measure_startup(repeats: int) -> Startup:
    """Median seconds of every command."""
    ways = {name: _start(arguments) for name, arguments in COMMANDS.items()}
    return Startup(**interleaved(ways, repeats))


def _start(arguments: tuple[str, ...]) -> Callable[[], object]:
    command = [sys.executable, "-m", "dpdl", *arguments]

    def start() -> None:
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode:
            raise RunFailed(
                f"dpdl {' '.join(arguments)} ended with exit code {done.returncode}."
            )

    return start
