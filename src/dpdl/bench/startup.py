"""How long commands take to answer: each is a fresh process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

from dpdl.bench.repeats import interleaved

COMMANDS = {
    "help": ("--help",),
    "plan": ("privacy", "sigma", "--epsilon", "1"),
}


def measure(repeats: int) -> dict[str, float]:
    """Median seconds of every command."""
    ways = {name: _start(words) for name, words in COMMANDS.items()}
    return interleaved(ways, repeats)


def _start(words: tuple[str, ...]) -> Callable[[], object]:
    command = [sys.executable, "-m", "dpdl", *words]
    return lambda: subprocess.run(command, capture_output=True, check=True)
