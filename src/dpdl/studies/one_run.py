"""One run from the command line: train, track its metrics for other programs, draw its curves."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from dpdl.experiment.experiment import Experiment
from dpdl.extras import PLOTS, is_installed
from dpdl.folder.data_ledger_reader import LedgerReader
from dpdl.folder.export import Tracker
from dpdl.folder.ledger_note import LedgerNote
from dpdl.folder.lock import refuse_difference
from dpdl.folder.run_folder import RunFolder
from dpdl.folder.tracked import Warn
from dpdl.planning.plan import Plan, plan
from dpdl.privacy.threats import threat
from dpdl.trackers import TRACKERS, Trackers, disclosure
from dpdl.trackers.base import Environment, Outcome
from dpdl.training.interrupt import Interrupted
from dpdl.training.launch import launch
from dpdl.training.loop import Watch
from dpdl.training.recording_request import RecordingRequest
from dpdl.training.result import Result
from dpdl.training.stopping import together
from dpdl.training.train import replan


@final
@dataclass(frozen=True)
class OneRun:
    """What is run, and where."""

    plan: Plan
    out: Path
    placement: str
    formats: Sequence[str] = ()  # of metrics for other programs
    again: bool = False  # whether it goes on with what is in `out`
    ledger: Path | None = None  # of the data; None: the one it has, if any
    trackers: Trackers = field(default_factory=lambda: TRACKERS)

    @property
    def picture(self) -> Path | None:
        """Where the curves are drawn; None: there is nothing to draw with."""
        return RunFolder(self.out).curves_path if is_installed(PLOTS) else None

    def disclosures(self, environment: Environment = os.environ) -> list[str]:
        """Of every tracker that sends metrics away, a sentence that says so, on process 0."""
        if environment.get("RANK", "0") != "0":
            return []
        asked = [name for name in self.formats if name in self.trackers]
        places = {name: self.trackers[name].destination(environment) for name in asked}
        return [disclosure(name, at) for name, at in places.items() if at.sends]

    def perform(
        self,
        watch: Watch,
        record: RecordingRequest | None = None,
        warn: Warn = warnings.warn,
    ) -> Result | None:
        """Train; the result on process 0, None elsewhere.

        Trackers hear how it ended, also when it fails; `warn` hears of trackers that fail.
        """
        tracker = Tracker(self.out, self.formats, warn, trackers=self.trackers)
        try:
            result = launch(
                self.plan,
                out=self.out,
                placement=self.placement,
                watch=together(tracker, watch),
                again=self.again,
                record=record,
                ledger=self.ledger,
            )
        except BaseException as failure:
            tracker.close(_outcome(failure))
            raise
        if not isinstance(result, Result):  # another process speaks
            return None
        tracker.finish()
        return result

    def spending(self) -> str | None:
        """What the ledger of the data says afterwards; None: the run is in none."""
        note = LedgerNote.of(self.out)
        if note is None:
            return None
        with LedgerReader.open(self.ledger or note.path) as ledger:
            now, where = ledger.epsilon(), ledger.folder
        return (
            f"Ledger {where}: epsilon {now.spent:.4g} of {now.budget:g} is spent, delta = "
            f"{now.delta:g}; {now.reserved:.4g} with what is reserved."
        )

    def draw(self, result: Result) -> None:
        """Draw the curves of the result, if that can be done."""
        if self.picture is None:
            return
        from dpdl.pages.training_curves import draw_training, words_of

        listener = threat(self.plan.experiment.threat)
        about = words_of(result.summary, listener)
        draw_training(result.metrics, self.picture, about)


def _outcome(failure: BaseException) -> Outcome:
    stopped = isinstance(failure, Interrupted | KeyboardInterrupt)
    return Outcome.INTERRUPTED if stopped else Outcome.FAILED


def new_run(e: Experiment, out: Path, placement: str, progress: bool) -> OneRun:
    """A run that begins; `out` must not hold one."""
    return OneRun(plan(e, progress=progress), out, placement)


def same_run(e: Experiment, out: Path, placement: str, progress: bool) -> OneRun:
    """The run of an experiment in `out`: it goes on if it is there, and begins if it is not.

    A run of another experiment is refused, with the option that differs.
    """
    folder = RunFolder(out)
    if not folder.started:
        return new_run(e, out, placement, progress)
    before, now = folder.experiment().resolved(), e.resolved()
    refuse_difference(out, before.as_dict(), now.as_dict())
    p = replan(out, progress=progress)
    return OneRun(p, out, placement, again=True)
