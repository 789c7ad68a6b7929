"""Ten minutes of kills and pauses, with every algorithm that peers may run.

    DPDL_SOAK_SECONDS   how long, 600 unless it is said
    DPDL_SOAK_SEED      of the times, the victims and the fail points
    DPDL_SOAK_OUT       a file for what was counted

Each run must end with the bits of one process, and the auditors at the receivers must have seen one
frame per slot. A whole soak strikes 500 times at least and has every algorithm; on a loaded machine
it takes longer until it has.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from dpdl import algorithms
from tests.fuzz.laboratory import memory
from tests.peer.storm import STRIKES

HOME = Path(__file__).parents[2]
SECONDS = float(os.environ.get("DPDL_SOAK_SECONDS", "600"))
SEED = int(os.environ.get("DPDL_SOAK_SEED", "1"))
OUT = os.environ.get("DPDL_SOAK_OUT")
LEAST = 500
"""Strikes of a whole soak."""
SIDE_BY_SIDE = 2
"""Groups that are struck at once: while peers of one wait, those of the other work."""
REFUSED = ("async-dpsgd", "epidemic", "pdsl")
"""Need a common seed, and common records: `dpdl.peer.proposal` refuses them."""
SERVED = sorted(
    name
    for name, entry in algorithms.NAMES.items()
    if not entry.fixed and name not in REFUSED
)


def storm(number: int, names: list[str], path: Path) -> subprocess.Popen[str]:
    """A process that strikes one group after the other."""
    whole = SECONDS >= 600
    least = LEAST / SIDE_BY_SIDE if whole else 0
    words = [path / str(number), f"{SEED}-{number}", SECONDS, int(least)]
    chosen = names[number::SIDE_BY_SIDE] if whole else names[number : number + 1]
    program = [sys.executable, "-m", "tests.peer.storm", *map(str, words), *chosen]
    return subprocess.Popen(program, cwd=HOME, stdout=subprocess.PIPE, text=True)


def told(process: subprocess.Popen[str]) -> list[dict[str, object]]:
    """What happened in its runs, once all of them have ended well."""
    out, _ = process.communicate()
    assert process.returncode == 0, "a run has not ended as it must: see above"
    return [json.loads(line) for line in out.splitlines()]


@pytest.mark.slow
def test_peers_weather_kills_and_pauses_with_every_algorithm(tmp_path, capsys):
    names = random.Random(SEED).sample(SERVED, len(SERVED))
    place = (memory() or tmp_path) / f"soak-{os.getpid()}"
    began = time.monotonic()
    storms = [storm(number, names, place) for number in range(SIDE_BY_SIDE)]
    try:
        runs = [run for one in storms for run in told(one)]
    finally:
        for one in storms:
            one.kill()
    counts: Counter[str] = Counter()
    for run in runs:
        counts.update(
            {name: run.get(name, 0) for name in (*STRIKES, "frames", "slots")}
        )
    struck, ran = (
        sum(counts[name] for name in STRIKES),
        {run["algorithm"] for run in runs},
    )
    about = {
        "seed": SEED,
        "seconds": round(time.monotonic() - began),
        "strikes": struck,
    }
    said = json.dumps({**about, **counts, "runs": len(runs), "algorithms": sorted(ran)})
    with capsys.disabled():
        print(f"\n{said}")
    if OUT:
        Path(OUT).write_text("\n".join([said, *map(json.dumps, runs)]) + "\n", "utf-8")
    if SECONDS >= 600:
        assert ran == set(SERVED)
        assert struck >= LEAST
