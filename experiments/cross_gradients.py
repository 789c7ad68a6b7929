"""Where does calibration by cosine help? A resumable sweep: docs/cross-gradients.md.

    python experiments/cross_gradients.py sweep [--seconds S]    # settings that are missing
    python experiments/cross_gradients.py probe                  # cosines with and without noise

Every setting of `compared.py` trains up to six algorithms at one proven epsilon. The search for a
step climbs until both sides of the best are no better on held-out training records, with seed 0,
and every algorithm also tries what is best for others. The test records score the chosen step
only, with three seeds. Results are appended to results/study, one line per setting and algorithm,
of which the last counts: whoever stops it loses one setting, and the same command goes on.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from blind import Probed
from compared import (
    ALPHA,
    BETA,
    ROUNDS,
    algorithms,
    experiment,
    given,
    length,
    outcome,
    ran,
    settings,
)

import dpdl
from dpdl.folder.calibration_study import (
    CosineLine,
    StudyLine,
    StudySetting,
    study_lines,
)
from dpdl.records import Record

HOME = Path(__file__).parents[1] / "results" / "study"
SWEEP, PROBE = HOME / "cross-gradients.jsonl", HOME / "cosines.jsonl"
SEEDS = 3
START = {0.5: -1, 2.0: 0}
"""The first power of two that is tried, by epsilon; 1 for all others."""
DIVERGED = -1.0
MOST = 8
"""Powers that may lie between the start and the best."""


# ------------------------------------------------------------------ the sweep
def climb(score: Callable[[int], float], start: int) -> int:
    """The power whose score is best, from `start` on: both sides of it are no better."""
    best = start if score(start) >= score(start + 1) else start + 1
    way = -1 if best == start else 1
    while abs(best - start) < MOST and (
        score(best + way) > score(best) or score(best) == DIVERGED
    ):
        best += way
    return best


class Search:
    """The steps that one algorithm has tried in a setting, by powers of two."""

    def __init__(self, s: StudySetting, name: str, line: StudyLine | None) -> None:
        self.setting, self.name, self.line = s, name, line
        known = line.held_out if line else {}
        self.tried = {int(power): score for power, score in known.items()}
        self.runs: dict[int, dpdl.Result | None] = {}
        self.best = line.step if line else 0

    def score(self, power: int) -> float:
        """On held-out records, with seed 0."""
        if power not in self.tried:
            run = self.runs[power] = ran(self.setting, self.name, power, 0)
            self.tried[power] = round(run.summary.score.mean, 4) if run else DIVERGED
        return self.tried[power]

    def cross(self, powers: set[int]) -> bool:
        """Try these too; whether one was better, and was climbed from."""
        top = max(sorted(powers), key=self.score)
        if self.score(top) <= self.score(self.best):
            return False
        self.best = climb(self.score, top)
        return True

    def result(self) -> StudyLine:
        """What is kept: the test scores of the best step, with all seeds."""
        s, name, best = self.setting, self.name, self.best
        tried = {str(k): self.tried[k] for k in sorted(self.tried)}
        if self.line and self.line.step == best:
            return replace(self.line, held_out=tried)
        runs = {0: self.runs[best]} if best in self.runs else {}
        seeds = []
        for seed in range(SEEDS):
            run = runs[seed] if seed in runs else ran(s, name, best, seed)
            seeds.append(outcome(s, name, seed, run))
        return StudyLine(s, name, best, tried, tuple(seeds))


def measured(s: StudySetting, done: Mapping[str, StudyLine]) -> list[StudyLine]:
    """What is missing of a setting.

    A search starts where the one before has ended. Then every algorithm tries the best steps of all
    others, and climbs on from one that is better than its own, until none is: accuracy may have
    several peaks over the steps.
    """
    power, searches = START.get(s.epsilon or math.inf, 1), []
    for name in algorithms(s):
        search = Search(s, name, done.get(name))
        if search.line is None:
            search.best = climb(search.score, power)
        power = search.best
        searches.append(search)
    while any(one.cross({other.best for other in searches}) for one in searches):
        pass
    return [one.result() for one in searches]


def finished(s: StudySetting, lines: Mapping[str, StudyLine]) -> bool:
    """Whether all algorithms are there, and each has tried the best steps of all."""
    if not set(algorithms(s)) <= lines.keys():
        return False
    best = {str(one.step) for one in lines.values()}
    return all(best <= one.held_out.keys() for one in lines.values())


def sweep(seconds: float) -> bool:
    """Measure what is missing for so long; whether nothing is left."""
    end, done = time.monotonic() + seconds, study_lines(SWEEP) if SWEEP.exists() else {}
    for s in settings():
        known = done.get(s, {})
        if not finished(s, known):
            if time.monotonic() > end:
                return False
            write(SWEEP, measured(s, known))
    return True


def write(path: Path, lines: Sequence[Record]) -> None:
    """Append all of them in one piece: whoever stops the sweep leaves no half line."""
    text = "".join(json.dumps(one.to_json()) + "\n" for one in lines)
    with path.open("ab", buffering=0) as file:
        file.write(text.encode())


# ------------------------------------------------------------------ the probe
def probe() -> None:
    """Cosines of neighbours with and without noise, on the way of `dpdl-sound`; all anew."""
    PROBE.unlink(missing_ok=True)
    tasks = (("digits-linear", 16), ("mnist-linear", 16), ("mnist-linear", 128))
    tasks += (("mnist-mlp", 16), ("mnist-mlp", 128))
    sigmas = (0.05, 0.2, 0.5, 1, 2, 4, 8)
    for (task, batch), alpha, sigma in itertools.product(tasks, (0.25, 10.0), sigmas):
        s = StudySetting(task, "ring", 10, alpha, batch, None, ROUNDS)
        write(PROBE, probed(s, sigma))


def probed(s: StudySetting, sigma: float) -> list[CosineLine]:
    """One line per evaluated round."""
    lr = 0.5 / length("dpdl-sound", s)
    e = replace(
        experiment(s, "dpdl-sound", 0.5, 0, {"sigma": sigma}),
        algorithm=Probed(lr=lr, momentum=BETA, alpha=ALPHA),
    )
    r = dpdl.train(e, **given(s), progress=False)
    names = itertools.product(("clean", "noisy"), ("cosine", "coefficient", "square"))
    keys = ["_".join(name) for name in names]
    at = (s.task, s.alpha_d, s.batch, sigma, r.models.shape[1])
    return [
        CosineLine(*at, one.round, *(float(f"{one.diagnostics[k]:.5g}") for k in keys))
        for one in r.metrics
    ]


def main() -> None:
    """Do what the command line says, on one core."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("sweep", "probe"))
    parser.add_argument("--seconds", type=float, default=math.inf)
    chosen = parser.parse_args()
    os.environ.setdefault("DPDL_CORES", "1")
    torch.set_num_threads(1)
    if chosen.what == "probe":
        probe()
    elif not sweep(chosen.seconds):
        print("There is more to measure; the same command goes on.")


if __name__ == "__main__":
    main()
