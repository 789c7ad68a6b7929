"""How long commands take to answer: each is a fresh process.

What is asked for is an answer that needs no torch: a help page, a list, or the refusal of what is
wrong. The one exception is a plan of noise, which needs the accounting library.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from dpdl.bench.checkouts import THIS, refuse_no_checkout
from dpdl.bench.repeats import interleaved
from dpdl.folder.bench_results import Startup

HELP, PLAN = "--help", "privacy sigma --epsilon 1"
HELPS = (
    HELP,
    "demo --help",
    "run --help",
    "resume --help",
    "compare --help",
    "tune --help",
    "reproduce --help",
    "privacy --help",
    "privacy sigma --help",
    "privacy epsilon --help",
    "privacy verify --help",
    "privacy statement --help",
    "attack --help",
    "audit --help",
    "theory --help",
    "graph --help",
    "watch --help",
    "report --help",
    "export --help",
    "data --help",
    "data list --help",
    "data fetch --help",
    "data describe --help",
    "bench --help",
    "bench gradients --help",
    "bench noise --help",
    "bench rounds --help",
    "bench startup --help",
    "bench peers --help",
    "bench against --help",
)
"""Every command's help."""
LISTS = ("data list", "reproduce status")
"""What is answered from tables and files."""
REFUSALS = (
    "run --unknown",
    "run --agents 0",
    "run --agents many",
    "run --dataset mnits",
    "run --dataset nowhere.npz",
    "run --dataset nowhere:load",
    "run --model lennet",
    "run --graph rong",
    "run --algorithm dpld",
    "run --placement nowhere",
    "run --track paper",
    "run --record some",
    "run nowhere.toml",
    "resume nowhere",
    "compare --algorithms dpld",
    "compare nowhere.toml --algorithms dpdl",
    "tune --over nothing",
    "tune nowhere.toml --over lr",
    "reproduce acc-nothing",
    "privacy sigma --epsilon 0",
    "privacy epsilon --sigma 1 --graph rong",
    "privacy verify nowhere",
    "privacy statement nowhere",
    "attack nowhere",
    "attack nowhere --method guess",
    "audit nowhere",
    "audit --algorithm dpld",
    "theory nowhere",
    "graph rong --agents 5",
    "watch nowhere",
    "report nowhere",
    "export nowhere",
    "data fetch mnits",
    "data describe --dataset mnits",
    "bench gradients --repeats 0",
    "bench rounds --graphs rong",
    "bench startup --repeats 0",
    "bench peers --rounds 0",
    "bench against nowhere",
)
"""What is refused with exit code 2."""
COMMANDS = (*HELPS, *LISTS, *REFUSALS, PLAN)


def processor_seconds() -> float:
    """What all ended child processes have used of the processor: right on a busy machine, too."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure_startup(
    repeats: int,
    old: Path | None = None,
    commands: tuple[str, ...] = COMMANDS,
    clock: Callable[[], float] = time.perf_counter,
) -> Startup:
    """Median seconds of every command, here and in an older checkout if one is given.

    A command that is not answered as it should be is not stopped for: a checkout may be older
    than it.
    """
    if old is not None:
        refuse_no_checkout(old)
    with tempfile.TemporaryDirectory() as place:
        ways = {name: _start(name, THIS, place) for name in (HELP, PLAN, *commands)}
        if old is not None:
            ways |= {f"old {name}": _start(name, old, place) for name in commands}
        found = interleaved(ways, repeats, clock)
    here = {name: found[name] for name in commands}
    before = None if old is None else {name: found[f"old {name}"] for name in commands}
    return Startup(found[HELP], found[PLAN], here, before)


def _start(command: str, checkout: Path, place: str) -> Callable[[], object]:
    words = [sys.executable, "-m", "dpdl", *command.split()]
    env = {**os.environ, "PYTHONPATH": os.path.realpath(checkout / "src")}
    return lambda: subprocess.run(
        words, cwd=place, env=env, capture_output=True, check=False
    )
