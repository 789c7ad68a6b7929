"""A small pool: many runs, some of them at once, each in a process of its own.

Each run has a fresh interpreter, not a share of one: its number of cores is set before torch is imported, and what ends
one process (a crash, no memory, `kill -9`) ends one run.

A child is told on its standard input what to run, and that pipe stays open. When it closes, the child finishes its
round, saves its state and leaves. So one rule serves two cases: Ctrl-C, on which the parent closes the pipes, and the
sudden death of the parent, on which the operating system does. Children are sessions of their own, so that a Ctrl-C on
the terminal reaches the parent alone and asks every child once. A second one kills them; files are replaced as a whole,
so what was saved stays.

Nothing passes through temporary files: with a full disk a child still says what happened, on its standard output.
"""

from __future__ import annotations

import json
import math
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, final

from dpdl.errors import DpdlError, InputError
from dpdl.parallel import cores
from dpdl.privacy.threats import threat
from dpdl.run.experiment import Experiment, from_mapping
from dpdl.run.interrupt import Interrupted, interruptible

if TYPE_CHECKING:
    from dpdl.run.plan import Plan
    from dpdl.run.store import RunFolder
    from dpdl.run.train import Result
    from dpdl.tasks.data import Dataset

MARK = "\x1edpdl "
HELD_OUT = 10
Watch = Callable[[str, dict[str, Any]], None]
"""Called with a run's name and what is new: `{"going": True}`, `{"round": t}`, or an outcome's facts."""


@final
@dataclass(frozen=True)
class Errand:
    """One run to start, or to continue if its folder holds one."""

    folder: Path
    experiment: Experiment  # resolved
    until: int | None = None  # stop after this round, saved; None: go to the end
    held_out: bool = False  # test on a tenth of the training records, which is not trained on

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.name


class Outcome(NamedTuple):
    """How a run ended: `done`, `paused` (at `until`), `diverged`, `failed` or `interrupted`."""

    state: str
    facts: dict[str, Any]  # what else the child said, for instance `error`


def run_many(errands: Sequence[Errand], jobs: int, watch: Watch) -> dict[str, Outcome]:
    """All errands, `jobs` at a time, in order; how each ended. One that fails does not stop the others."""
    events: queue.Queue[tuple[str, str | None]] = queue.Queue()
    waiting, going, outcomes = deque(errands), dict[str, _Child](), dict[str, Outcome]()
    share = max(1, cores() // max(1, jobs))
    with interruptible() as stop:
        try:
            while going or (waiting and not stop.is_set()):
                while waiting and len(going) < jobs and not stop.is_set():
                    errand = waiting.popleft()
                    going[errand.name] = _Child(errand, share, events)
                    watch(errand.name, {"going": True})
                if stop.is_set():
                    for child in going.values():
                        child.ask_to_stop()
                with suppress(queue.Empty):
                    name, line = events.get(timeout=0.1)
                    if line is None:
                        outcomes[name] = going.pop(name).outcome(stop.is_set())
                        watch(name, {"state": outcomes[name].state, **outcomes[name].facts})
                    elif facts := going[name].hear(line):
                        watch(name, facts)
        finally:
            for child in going.values():
                child.kill()
    return outcomes | {errand.name: Outcome("interrupted", {}) for errand in waiting}


class _Child:
    """A process that runs one errand, seen from the parent."""

    def __init__(self, errand: Errand, share: int, events: queue.Queue[tuple[str, str | None]]) -> None:
        self._last: dict[str, Any] | None = None
        self._words = ""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "dpdl.run.many"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env={**os.environ, "DPDL_CORES": str(share)},
            start_new_session=True,
        )
        job: dict[str, Any] = {"folder": str(errand.folder), "experiment": errand.experiment.as_dict()}
        job |= {"until": errand.until, "held_out": errand.held_out}
        assert self._process.stdin
        with suppress(BrokenPipeError):  # it is gone already, which `outcome` tells
            self._process.stdin.write(json.dumps(job) + "\n")
            self._process.stdin.flush()
        threading.Thread(target=self._listen, args=(errand.name, events), daemon=True).start()

    def _listen(self, name: str, events: queue.Queue[tuple[str, str | None]]) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            events.put((name, line))
        self._process.wait()
        events.put((name, None))

    def hear(self, line: str) -> dict[str, Any] | None:
        """One line that it wrote: news of a round are given back, all else is kept."""
        if not line.startswith(MARK):
            self._words = line.strip() or self._words
            return None
        facts: dict[str, Any] = json.loads(line.removeprefix(MARK))
        if "state" not in facts:
            return facts
        self._last = facts
        return None

    def outcome(self, stopping: bool) -> Outcome:
        """How it ended, by its last word or by its exit code."""
        self.ask_to_stop()  # closes the pipe
        if self._last:
            return Outcome(self._last.pop("state"), self._last)
        if stopping:
            return Outcome("interrupted", {})
        code = self._process.returncode
        if code < 0:
            return Outcome("failed", {"error": f"Its process was killed by signal {-code}."})
        return Outcome("failed", {"error": f"Its process ended with exit code {code}: {self._words}"})

    def ask_to_stop(self) -> None:
        """Close its input, which it takes for Ctrl-C."""
        assert self._process.stdin
        with suppress(OSError):
            self._process.stdin.close()

    def kill(self) -> None:
        """End it now."""
        self._process.kill()
        self._process.wait()


def at_once(jobs: int | None, runs: int) -> int:
    """How many runs go on at the same time: as asked for, or one for every core."""
    if jobs is not None and jobs < 1:
        raise InputError(f"jobs must be a whole number of at least 1, not {jobs}.")
    return max(1, min(jobs or cores(), runs))


# ------------------------------------------------------------------------ the child
def main() -> None:
    """Run the errand that standard input names."""
    job = json.loads(sys.stdin.readline())
    threading.Thread(target=_stop_when_alone, daemon=True).start()
    errand = Errand(Path(job["folder"]), from_mapping(job["experiment"]), job["until"], job["held_out"])
    try:
        facts = _perform(errand)
    except (KeyboardInterrupt, Interrupted):
        facts = {"state": "interrupted"}
    except DpdlError as failure:
        state = "diverged" if str(failure).startswith("Training diverged") else "failed"
        facts = {"state": state, "error": str(failure)}
    _say(facts)


def _stop_when_alone() -> None:
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGINT)


def _say(facts: Mapping[str, Any]) -> None:
    """One line for the parent; a parent that is gone must not keep the state from being saved."""
    with suppress(OSError):
        sys.stdout.write(f"\n{MARK}{json.dumps(facts, allow_nan=False)}\n")
        sys.stdout.flush()


def _perform(errand: Errand) -> dict[str, Any]:
    from dpdl.run.plan import plan
    from dpdl.run.store import RunFolder
    from dpdl.run.train import launch, replan
    from dpdl.tasks import data as datasets

    folder, e = RunFolder(errand.folder), errand.experiment
    data = held_out(datasets.load(e.dataset), e.seed) if errand.held_out else None
    again = (folder.path / "experiment.json").exists()
    p = replan(folder.path, data=data) if again else plan(e, data=data)
    if _reached(errand, folder):
        return _paused(p, folder)
    try:
        result = launch(p, out=folder.path, placement="alone", watch=_watch(errand), again=again)
    except Interrupted:
        if _reached(errand, folder):
            return _paused(p, folder)
        raise
    assert result
    return _done(result, threat(e.threat).key)


def _watch(errand: Errand) -> Callable[[int, dict[str, Any] | None], None]:
    """Tell the parent once a second; at the round to stop after, ask for it as a person would."""
    told = time.monotonic()

    def watch(t: int, metrics: dict[str, Any] | None) -> None:
        nonlocal told
        if t == errand.until and t < errand.experiment.rounds:
            signal.raise_signal(signal.SIGINT)
        if time.monotonic() - told >= 1:
            told = time.monotonic()
            _say({"round": t})

    return watch


def _reached(errand: Errand, folder: RunFolder) -> bool:
    if errand.until is None or errand.until >= errand.experiment.rounds:
        return False
    last = folder.last()
    return last is not None and last.round >= errand.until


def _paused(p: Plan, folder: RunFolder) -> dict[str, Any]:
    from dpdl.run.ledger import recompute
    from dpdl.run.observe import Examiner

    last = folder.last()
    assert last
    score = float(Examiner(p.task, p.data).accuracy(last.state["x"]).mean())
    listener = threat(p.experiment.threat)
    spent = recompute(folder.path / "ledger.jsonl")[listener.key]
    to_the_end = max(spent, p.question.worst(p.grad.noise_multiplier, listener))
    epsilons = {"epsilon": _word(spent), "epsilon_all_rounds": _word(to_the_end)}
    return {"state": "paused", "round": last.round, "accuracy": score, **epsilons}


def _word(value: float) -> float | str:
    return value if math.isfinite(value) else "unbounded"


def _done(result: Result, key: str) -> dict[str, Any]:
    s = result.summary
    facts = {"round": s["rounds"], "accuracy": s["accuracy"]["mean"], "seconds": s["seconds"]}
    epsilons = {"epsilon": s["epsilon"][key], "epsilon_all_rounds": s["epsilon"][key]}
    return {"state": "done", **facts, **epsilons, "stopped": result.stopped}


def held_out(data: Dataset, seed: int) -> Dataset:
    """A data set whose test records are a tenth of the training records, by the key (seed, "tune-held-out").

    Its training records are the others; the real test records are in neither.
    """
    import numpy as np
    import torch

    from dpdl.keys import generator
    from dpdl.tasks.data import Dataset

    order = generator(seed, "tune-held-out").permutation(len(data.y))
    count = max(1, len(order) // HELD_OUT)
    test, train = (torch.from_numpy(np.sort(part)) for part in (order[:count], order[count:]))
    x, y = data.x, data.y
    return Dataset(data.name, x[train], y[train], x[test], y[test], data.classes, mean=data.mean, std=data.std)


if __name__ == "__main__":
    main()
