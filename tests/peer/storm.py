"""Kills and pauses of peers, run after run: `tests/peer/test_soak.py` starts some of these at once.

    python -m tests.peer.storm FOLDER SEED SECONDS LEAST ALGORITHM...

goes through the algorithms again and again until the time is over, all have been there, and there
were so many strikes. Every run must end with the bits of one process; what it had to bear is a line
of JSON.
"""

from __future__ import annotations

import json
import random
import shutil
import signal
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

from dpdl.peer.auditing import audit_run
from tests.peer.group import Fault, Group, make_group, said_twice

SITES = 3
ROUNDS = 14
PATIENCE = 900.0
"""Seconds that a run may take."""
POINTS = [
    f"{point}:{when}"
    for point in ("secret", "begin", "outbox", "publish", "fetch")
    for when in ("before", "after")
]
STRIKES = ("kills", "pauses", "fail points")
KILLED = -signal.SIGKILL


@dataclass
class Storm:
    """Kills and pauses the sites of a group until they have ended."""

    group: Group
    dice: random.Random
    counts: Counter[str] = field(default_factory=Counter)
    marks: dict[int, tuple[int, ...]] = field(default_factory=dict)
    frozen: dict[int, float] = field(default_factory=dict)  # until when
    doomed: set[int] = field(default_factory=set)  # who will die at a fail point

    def rage(self) -> None:
        """Strike whoever runs until all have ended."""
        end = time.monotonic() + PATIENCE
        for number in range(SITES):
            self.start(number)
        while self.group.processes:
            assert time.monotonic() < end, [self.group.log(k) for k in range(SITES)]
            self.tend()
            if self.group.processes:
                self.strike(self.dice.choice(list(self.group.processes)))
            time.sleep(self.dice.uniform(0.0, 0.05))

    def tend(self) -> None:
        """Start again who has died at a fail point, and wake who has been frozen for long enough."""
        for number in [
            k for k, until in self.frozen.items() if until < time.monotonic()
        ]:
            del self.frozen[number]
            self.signal(number, signal.SIGCONT)
        for number in list(self.group.processes):
            code = self.group.finished(number)
            if code == KILLED:
                self.counts["fail points"] += 1
                self.start(number)
            else:
                assert code in (None, 0), self.group.log(number)

    def start(self, number: int) -> None:
        self.frozen.pop(number, None)
        self.doomed.discard(number)
        self.marks[number] = self.progress(number)
        self.group.start(number, self.fault(number))

    def fault(self, number: int) -> Fault | None:
        if self.dice.random() < 0.7:
            return None
        self.doomed.add(number)
        return self.dice.choice(POINTS), self.dice.randint(1, 4)

    def progress(self, number: int) -> tuple[int, ...]:
        """The last exchange of which a site has received something."""
        file = self.group.path / f"seen-{number}.txt"
        lines = file.read_text().splitlines() if file.exists() else []
        return max((tuple(json.loads(line)[:3]) for line in lines[-20:]), default=())

    def strike(self, number: int) -> None:
        """Freeze anybody; kill who has come further since its start, and a few others.

        If everybody were killed at once, no three would ever be there for a whole exchange.
        """
        if number in self.frozen:
            return
        further = self.progress(number) > self.marks[number]
        if self.dice.random() < (0.4 if further else 0.02):
            if self.signal(number, signal.SIGSTOP):
                self.frozen[number] = time.monotonic() + self.dice.uniform(0.02, 0.4)
                self.counts["pauses"] += 1
        elif (further and number not in self.doomed) or self.dice.random() < 0.005:
            self.group.kill(number)
            self.counts["kills"] += 1
            self.start(number)

    def signal(self, number: int, what: int) -> bool:
        """Whether there was still somebody to send it to."""
        with suppress(ProcessLookupError, KeyError):
            self.group.send(number, what)
            return True
        return False


def weathered(path: Path, algorithm: str, dice: random.Random) -> Counter[str]:
    """One run in the storm; what happened in it."""
    graph = dice.choice(["ring", "complete"])
    path.mkdir(parents=True)
    options = {"alpha": 0.1} if algorithm == "dpdl" else {}
    sites = make_group(
        path, SITES, algorithm=algorithm, graph=graph, rounds=ROUNDS, **options
    )
    storm = Storm(sites, dice)
    try:
        storm.rage()
    finally:
        sites.close()
    assert (sites.models() == sites.reference()).all(), algorithm
    seen = sites.seen()
    assert said_twice(seen) == [], algorithm
    for number in range(SITES):
        found = audit_run(sites.home(number), sites.run(number))
        assert (found.problems, found.violations) == ((), 0), algorithm
    slots = {one.slot for one in seen}
    assert {slot[1] for slot in slots} == set(range(1, ROUNDS + 1)), algorithm
    storm.counts.update(frames=len(seen), slots=len(slots))
    return storm.counts


def main(folder: str, seed: str, seconds: str, least: str, *algorithms: str) -> None:
    """Run after run, until there was enough."""
    dice = random.Random(f"storm {seed}")
    end, total, ran = time.monotonic() + float(seconds), 0, 0
    for algorithm in cycle(algorithms):
        enough = ran >= len(algorithms) and total >= int(least)
        if time.monotonic() > end and enough:
            return
        began, path = time.monotonic(), Path(folder) / str(ran)
        found = weathered(path, algorithm, dice)
        total, ran = total + sum(found[name] for name in STRIKES), ran + 1
        line = {"algorithm": algorithm, **found}
        print(json.dumps({**line, "seconds": time.monotonic() - began}), flush=True)
        shutil.rmtree(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
