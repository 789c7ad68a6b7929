"""The training loop of one process, the same on every placement."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor

from dpdl.algorithms import Info, State
from dpdl.errors import Diverged, DpdlError, InputError
from dpdl.folder.checkpoint import Checkpoint
from dpdl.folder.ledger import LEDGER, Ledger
from dpdl.folder.metrics import Metrics
from dpdl.folder.run_folder import RunFolder
from dpdl.folder.states import States
from dpdl.folder.summary import Timing
from dpdl.net import Gate, Meter, Net, Observer
from dpdl.planning.public_plan import CENTRE, PublicPlan
from dpdl.planning.site import Site
from dpdl.planning.statement import Stated
from dpdl.training.centre import BEFORE, counted, released_centre, rounds_beside
from dpdl.training.control import Control
from dpdl.training.instruments import instruments_for, records_stay
from dpdl.training.interrupt import Interrupted
from dpdl.training.observe import (
    Examiner,
    agent_scores,
    consensus_distance,
    summed_up,
)
from dpdl.training.recording import FOLDER, Recorder, play_aside
from dpdl.training.recording_request import RecordingRequest
from dpdl.training.run_account import RunAccount
from dpdl.training.stopping import Stop, stalled
from dpdl.transport import Post

MEAN = "mean"
"""The name of the averaged models beside an algorithm's own state."""

Watch = Callable[[int, Metrics | None], None]
"""Called by process 0 after every round with its number and, when it was evaluated, its metrics.

Whoever raises `Stop` ends the run after this round.
"""

GO_ON, INTERRUPT, END = range(3)
"""What process 0 tells all others before a round."""


@dataclass(frozen=True)
class Job:
    """What all processes of a run are given."""

    plan: PublicPlan
    stated: Stated
    watch: Watch
    stop: threading.Event  # asks to stop after the round under way
    record: RecordingRequest | None = None
    until: int | None = None  # pause after this round; None: go to the end
    observers: tuple[Observer, ...] = ()  # of what leaves


@dataclass(frozen=True)
class Place:
    """What one process of a run has to itself."""

    post: Post
    site: Site
    folder: RunFolder | None  # process 0 only; None: nothing is written
    states: States | None  # where checkpoints are; None: there are none
    start: Checkpoint | None  # of the agents hosted here; None: from the beginning
    account: RunAccount | None = None  # process 0 only; None: no ledger of the data


class Loop:
    """One process of a run: the agents it hosts, and where they stand."""

    def __init__(self, job: Job, here: Place) -> None:
        p, start, folder = job.plan, here.start, here.folder
        repeatable = here.site.randomness.repeatable
        _check_rule(job, here)
        self.job = job
        self.folder = folder
        self._post = here.post
        self._site = here.site
        self.metrics = folder.metrics() if folder else []
        self._meter = Meter(len(p.graph))
        self._recorder = _recorder(job, here)
        recorders = [self._recorder] if self._recorder else []
        observers: list[Observer] = [Gate(p.releases), self._meter, *recorders]
        observers += job.observers
        self._net = Net(p.graph, here.post, observers)
        self._control = Control(here.post)
        self._instruments = instruments_for(
            here.post, self._net.place, here.states, repeatable
        )
        agents = self._net.agents
        self._done = start.round if start else 0
        self._account = here.account
        self._ledger = Ledger(folder.path / LEDGER, p, repeatable) if folder else None
        opened = self._ledger.open(self._done) if self._ledger else self._done
        self.stated = job.stated
        left = self._ledger.centres if self._ledger else 0
        self._count_centres(self._control.share(left))
        self.charged = self._control.share(opened)  # rounds that count for privacy
        self.end = self._last_round()
        self._opened = time.perf_counter()
        self._began = self._opened - (start.seconds if start else 0.0)
        self._evaluating = 0.0
        self._broken = (
            start.totals[:, 1].clone()
            if start
            else torch.zeros(len(agents), dtype=torch.int64)
        )
        if start:
            self._meter.bytes[agents] = start.totals[:, 0]
            state = {name: rows.clone() for name, rows in start.state.items()}
        else:
            state = dict(p.algorithm.init(p.task.initial.repeat(len(agents), 1)))
        self._mean = state.pop(MEAN, None)  # of the last models, if that was asked for
        self._centres = state.pop(CENTRE, None)  # of features, once they are released
        self._look_from(self._centres)
        self._state: State = state
        self._info: Info | None = None  # of the last round
        self._ending = self._rule()  # why the run ends before its last round
        self.ended: str | None = None  # the same, when it has
        self.paused_after: int | None = None  # a round before the end

    def _last_round(self) -> int:
        """Where the run ends: after all its rounds, or when an agent's budget is spent."""
        e, allowed = self.job.plan.experiment, self.job.plan.allowance
        if allowed is None:
            return e.rounds
        affordable = rounds_beside(self.stated, allowed)
        return min(e.rounds, self._done + max(0, affordable - self.charged))

    def run(self, until: int | None = None) -> Tensor | None:
        """The rounds that are left; the models of all agents on process 0 (None elsewhere).

        With `until`, the run pauses after that round if it is not the last one. Its state is saved
        then, and `paused_after` says where it stands.
        """
        e = self.job.plan.experiment
        self._release_centre()
        last = self.end if until is None else max(self._done, min(until, self.end))
        for t in range(self._done + 1, last + 1):
            self._post.begin(t)
            if not self._pay(t):
                last = t - 1
                self._end_early(last)
                break
            info = self._info = self._round(t)
            self._average(t)
            self._broken += info.values["broken_gradients"].long()
            due = t == 1 or t % e.eval_every == 0 or t == self.end
            found = self._measure(info, t) if due else None
            if t % e.checkpoint_every == 0 or t == last:
                self._save(t)
            self._tell(t, found)
        self.paused_after = last if last < self.end else None
        return self._finite_models(last)

    def _tell(self, t: int, found: Metrics | None) -> None:
        """Process 0 tells who watches, and hears whether to end the run."""
        if self._post.rank:
            return
        if found is not None:
            self._ending = self._rule()
        try:
            self.job.watch(t, found)
        except Stop as wish:
            self._ending = str(wish) or "a callback asked for it"

    def _rule(self) -> str | None:
        """What the experiment's rule says about the metrics so far, which process 0 has."""
        return stalled(self.metrics, self.job.plan.experiment.stop_after_stalled)

    def _end_early(self, t: int) -> None:
        """Make round t, which is over, the last one: evaluated and saved."""
        self.end = t
        if self._info is not None:  # otherwise it was resumed, and had ended before
            if self._control.agree(not self.metrics or self.metrics[-1].round < t):
                self._measure(self._info, t)
            self._save(t)
        self.ended = self._ending

    @property
    def ledger_head(self) -> str | None:
        """The hash of the ledger's last line; None where no ledger is kept."""
        return self._ledger.head if self._ledger else None

    def _average(self, t: int) -> None:
        """Enter the models of a late round into their mean, which costs no privacy."""
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
        algorithm, site, recorder = self.job.plan.algorithm, self._site, self._recorder
        batches = site.batches(self._net.agents, t)
        if recorder and t in recorder.request.rounds:
            for size in recorder.request.batches:
                play_aside(site, self._state, recorder, size, t)
        recorded = recorder is not None and t in recorder.request.around()
        with recorder.round(t) if recorder and recorded else nullcontext():
            self._state, info = algorithm.round(
                self._state, batches, self._net, site.grad, t
            )
        return info

    def _release_centre(self) -> None:
        """Release the centre of features before the first round, if there is to be one."""
        known = self.job.plan.privacy.centre is None or self._centres is not None
        if known or self._done >= self.end:
            return
        self._post.begin(BEFORE)
        if not self._pay_centre():
            return
        self._centres = released_centre(self._site, self._net)
        self._look_from(self._centres)

    def _look_from(self, centres: Tensor | None) -> None:
        """Train and test on features around these centres."""
        if centres is not None:
            self._site = self._site.with_centres(self._net.agents, centres)
        self._examiner = Examiner.of(self._site)

    def _pay_centre(self) -> bool:
        """Process 0 enters the centre in the ledgers, or makes all stop; all others wait for it.

        False: no round is affordable beside it.
        """
        count = self._control.share(self._ledger.centres if self._ledger else 0) + 1
        self._count_centres(count)
        self.end = self._last_round()  # refused if it has left too often for a budget
        if self._done >= self.end:
            return False
        refusal = None
        if self.folder:
            self.folder.reopen()
        try:
            if self._account:
                self._account.debit_centre()
        except DpdlError as failure:
            refusal = failure
        if self._ledger and refusal is None:
            self._ledger.debit_centre()
        if self._control.share(INTERRUPT if refusal else GO_ON) == INTERRUPT:
            raise refusal or Interrupted("Interrupted before the first round.")
        return True

    def _count_centres(self, count: int) -> None:
        """Say what is proven where a crash made the centre leave more often than once."""
        self.stated = counted(self.stated, count, self._site.randomness.repeatable)

    def _pay(self, t: int) -> bool:
        """Process 0 enters round t in the ledgers, or makes all stop; all others wait for it.

        False: the run has ended before round t.
        """
        choice = END if self._ending else GO_ON
        if self.job.stop.is_set():
            choice = INTERRUPT
        refusal = self._debit(t) if choice == GO_ON else None
        choice = self._control.share(INTERRUPT if refusal else choice)
        if choice == END:
            return False
        if choice == INTERRUPT:
            if t > 1:
                self._save(t - 1)
            raise refusal or Interrupted(
                f"Interrupted after round {t - 1} of {self.job.plan.experiment.rounds}"
                f"{self._advice()}"
            )
        self.charged += 1
        return True

    def _debit(self, t: int) -> DpdlError | None:
        """Pay for round t, first from the budget of the data; why it may not leave, if so."""
        if self.folder:
            self.folder.reopen()
        try:
            if self._account:
                self._account.debit(t)
        except DpdlError as refusal:
            return refusal
        if self._ledger:
            self._ledger.debit(t)
        return None

    def timing(self) -> Timing:
        """Seconds of this process, and how many of them went into evaluation."""
        return Timing(time.perf_counter() - self._opened, self._evaluating)

    def _measure(self, info: Info, t: int) -> Metrics | None:
        began = time.perf_counter()
        try:
            return self._measured(info, t)
        finally:
            self._evaluating += time.perf_counter() - began

    def _measured(self, info: Info, t: int) -> Metrics | None:
        x, models = self._models(), self._finite_models(t)
        scores = self._instruments.scores(self._examiner, x, models)
        average = self._instruments.score_of_average(self._examiner, models)
        values = self._instruments.diagnostics(info.values)
        broken = self._instruments.broken(self._broken)
        sent = self._control.gather(int(self._meter.bytes[self._net.agents].sum()))
        if models is None or scores is None or average is None or values is None:
            return None
        reports = summed_up(values)
        found = Metrics(
            round=t,
            train_loss=reports.train_loss,
            score=agent_scores(self.job.plan.task.score, scores, average),
            consensus_distance=consensus_distance(models),
            diagnostics=reports.diagnostics,
            epsilon=self.stated.epsilon(self.charged),
            bytes_sent=sum(sent),
            broken_gradients=broken,
            seconds=round(time.perf_counter() - self._began, 3),
        )
        self.metrics.append(found)
        if self.folder:
            self.folder.append(found)
        return found

    def _save(self, t: int) -> None:
        rows = dict(self._state)
        if self._mean is not None:
            rows[MEAN] = self._mean
        if self._centres is not None:
            rows[CENTRE] = self._centres
        diverged = self._control.gather(
            not all(of.isfinite().all() for of in rows.values())
        )
        if self._control.agree(any(diverged)):
            raise _diverged(t)
        agents = self._net.agents
        totals = torch.stack([self._meter.bytes[agents], self._broken], dim=1)
        self._instruments.save(
            Checkpoint(
                t,
                time.perf_counter() - self._began,
                rows,
                totals,
                tuple(agents.tolist()),
            )
        )

    def _finite_models(self, t: int) -> Tensor | None:
        """All models, on process 0."""
        models = self._instruments.models(self._models())
        if models is not None and not models.isfinite().all():
            raise _diverged(t)
        return models

    def _advice(self) -> str:
        return (
            f"; its state is saved, continue with: dpdl resume {self.folder.path}"
            if self.folder
            else ""
        )


def _diverged(t: int) -> Diverged:
    return Diverged(
        f"Training diverged: the models are no longer finite in round {t}; choose a smaller lr."
    )


def _check_rule(job: Job, here: Place) -> None:
    """Refuse to stop by a loss that nobody has."""
    if job.plan.experiment.stop_after_stalled is None:
        return
    if records_stay(here.post, here.site.randomness.repeatable):
        raise InputError(
            "stop_after_stalled looks at the mean training loss, which nobody has in a secure run "
            "of several processes; leave it out."
        )


def _recorder(job: Job, here: Place) -> Recorder | None:
    if job.record is None:
        return None
    if here.post.size > 1 or here.folder is None:
        raise InputError(
            "A recording needs a run folder and placement 'alone', where all messages pass one "
            "exit."
        )
    recorder = Recorder(here.folder.path / FOLDER, job.record)
    recorder.start(job.plan)
    return recorder
