"""The training loop of one process, the same on every placement."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from dpdl.algorithms import Info, State
from dpdl.errors import InputError, RunFailed
from dpdl.net import Net
from dpdl.run.checkpoint import Checkpoint
from dpdl.run.control import Control
from dpdl.run.interrupt import Interrupted
from dpdl.run.ledger import LEDGER, Ledger
from dpdl.run.observe import Examiner, Gate, Meter, described
from dpdl.run.plan import Plan
from dpdl.run.record import FOLDER, Recorder, Wish, play_aside
from dpdl.run.states import States
from dpdl.run.store import RunFolder
from dpdl.run.summary import epsilon_so_far
from dpdl.run.view import view
from dpdl.transport import Transport

MEAN = "mean"
"""The name of the averaged models beside an algorithm's own state."""

Watch = Callable[[int, dict[str, Any] | None], None]
"""Called by process 0 after every round with its number and, when it was evaluated, its metrics."""


@dataclass(frozen=True)
class Job:
    """What all processes of a run are given."""

    plan: Plan
    watch: Watch
    stop: threading.Event
    record: Wish | None = None


@dataclass(frozen=True)
class Place:
    """What one process of a run has to itself."""

    transport: Transport
    folder: RunFolder | None  # process 0 only; None: nothing is written
    states: States | None  # where checkpoints are; None: there are none
    start: Checkpoint | None  # of the agents hosted here; None: from the beginning


class Loop:
    """One process of a run: the agents it hosts, and where they stand."""

    def __init__(self, job: Job, here: Place) -> None:
        p, start, transport, folder = job.plan, here.start, here.transport, here.folder
        self.job = job
        self.folder = folder
        self._rank = transport.rank
        self.metrics = folder.metrics() if folder else []
        self._meter = Meter(len(p.graph))
        gate = Gate(p.algorithm.releases(p.grad))
        self._recorder = _recorder(job, transport, folder)
        self._net = Net(p.graph, transport, [gate, self._meter, *([self._recorder] if self._recorder else [])])
        self._view = view(transport, self._net.place, here.states, p.grad.randomness.repeatable)
        self._control = Control(transport)
        self._examiner = Examiner(p.task, p.data)
        agents = self._net.agents
        self._done = start.round if start else 0
        self._ledger = Ledger(folder.path / LEDGER, p) if folder else None
        opened = self._ledger.open(self._done) if self._ledger else self._done
        self.billed = self._control.share(opened)  # rounds that were paid for
        self.end = self._last_round()
        self._opened = time.perf_counter()
        self._began = self._opened - (start.seconds if start else 0.0)
        self._evaluating = 0.0
        self._broken = start.totals[:, 1].clone() if start else torch.zeros(len(agents), dtype=torch.int64)
        if start:
            self._meter.bytes[agents] = start.totals[:, 0]
            state = {name: rows.clone() for name, rows in start.state.items()}
        else:
            state = dict(p.algorithm.init(p.task.initial.repeat(len(agents), 1)))
        self._mean = state.pop(MEAN, None)  # of the last models, if that was asked for
        self._state: State = state

    def _last_round(self) -> int:
        """Where the run ends: after all its rounds, or when an agent's budget is spent."""
        p = self.job.plan
        if p.allowance is None:
            return p.experiment.rounds
        return min(p.experiment.rounds, self._done + max(0, p.allowance.rounds - self.billed))

    def run(self) -> Tensor | None:
        """All rounds that are left; the models of all agents on process 0 (None elsewhere)."""
        e = self.job.plan.experiment
        for t in range(self._done + 1, self.end + 1):
            self._pay(t)
            info = self._round(t)
            self._average(t)
            self._broken += info.values["broken_gradients"].long()
            due = t == 1 or t % e.eval_every == 0 or t == self.end
            found = self._measure(info, t) if due else None
            if t % e.checkpoint_every == 0 or t == self.end:
                self._save(t)
            if self._rank == 0:
                self.job.watch(t, found)
        return self._finite_models(self.end)

    @property
    def ledger_head(self) -> str | None:
        """The hash of the ledger's last line; None where no ledger is kept."""
        return self._ledger.head if self._ledger else None

    def _average(self, t: int) -> None:
        """Enter the models of a late round into their mean: it is made of what was sent, and costs no privacy."""
        count = t - self.end + math.floor(self.job.plan.experiment.average * self.end)
        x = self._state["x"]
        if count < 1:
            self._mean = None  # of a run that ended earlier, before it was extended
        elif count == 1:
            self._mean = x.clone()
        elif self._mean is not None:
            self._mean += (x - self._mean) / count

    def _models(self) -> Tensor:
        return self._state["x"] if self._mean is None else self._mean

    def _round(self, t: int) -> Info:
        """One round of the algorithm, recorded if that was asked for."""
        p = self.job.plan
        batches = p.batches(self._net.agents, t)
        recorder = self._recorder
        if recorder and t in recorder.wish.rounds:
            for size in recorder.wish.batches:
                play_aside(p, self._state, recorder, size, t)
        with recorder.round(t) if recorder and t in recorder.wish.around() else nullcontext():
            self._state, info = p.algorithm.round(self._state, batches, self._net, p.grad, t)
        return info

    def _pay(self, t: int) -> None:
        """Process 0 enters round t in the ledger, or asks all to stop; nobody goes on before it has."""
        stopping = self.job.stop.is_set()
        if self._ledger and not stopping:
            self._ledger.debit(t)
        if self._control.agree(stopping):
            if t > 1:
                self._save(t - 1)
            raise Interrupted(f"Interrupted after round {t - 1} of {self.job.plan.experiment.rounds}{self._advice()}")
        self.billed += 1

    def timing(self) -> dict[str, float]:
        """Seconds of this process, and how many of them went into evaluation."""
        return {"seconds": time.perf_counter() - self._opened, "evaluation": self._evaluating}

    def _measure(self, info: Info, t: int) -> dict[str, Any] | None:
        began = time.perf_counter()
        try:
            return self._measured(info, t)
        finally:
            self._evaluating += time.perf_counter() - began

    def _measured(self, info: Info, t: int) -> dict[str, Any] | None:
        x, models = self._models(), self._finite_models(t)
        accuracy = self._view.accuracy(self._examiner, x, models)
        values = self._view.diagnostics(info.values)
        broken = self._view.broken(self._broken)
        sent = self._control.gather(int(self._meter.bytes[self._net.agents].sum()))
        if models is None or accuracy is None or values is None:
            return None
        average = float(self._examiner.accuracy(models.mean(dim=0, keepdim=True)))
        spent = epsilon_so_far(self.job.plan, self.billed)
        seconds = time.perf_counter() - self._began
        so_far = {"epsilon": spent, "bytes_sent": sum(sent), "broken_gradients": broken, "seconds": round(seconds, 3)}
        found = {"round": t, **described(models, accuracy, average, values), **so_far}
        self.metrics.append(found)
        if self.folder:
            self.folder.append(found)
        return found

    def _save(self, t: int) -> None:
        rows = self._state if self._mean is None else {**self._state, MEAN: self._mean}
        diverged = self._control.gather(not all(of.isfinite().all() for of in rows.values()))
        if self._control.agree(any(diverged)):
            raise _diverged(t)
        agents = self._net.agents
        totals = torch.stack([self._meter.bytes[agents], self._broken], dim=1)
        self._view.save(Checkpoint(t, time.perf_counter() - self._began, rows, totals, tuple(agents.tolist())))

    def _finite_models(self, t: int) -> Tensor | None:
        """All models, on process 0."""
        models = self._view.models(self._models())
        if models is not None and not models.isfinite().all():
            raise _diverged(t)
        return models

    def _advice(self) -> str:
        return f"; its state is saved, continue with: dpdl resume {self.folder.path}" if self.folder else ""


def _diverged(t: int) -> RunFailed:
    return RunFailed(f"Training diverged: the models are no longer finite in round {t}; choose a smaller lr.")


def _recorder(job: Job, transport: Transport, folder: RunFolder | None) -> Recorder | None:
    if job.record is None:
        return None
    if transport.size > 1 or folder is None:
        raise InputError("A recording needs a run folder and placement 'alone', where all messages pass one exit.")
    recorder = Recorder(folder.path / FOLDER, job.record)
    recorder.start(job.plan)
    return recorder
