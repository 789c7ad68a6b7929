"""One run from the command line: train, track its metrics for other programs, draw its curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from dpdl.experiment.experiment import Experiment
from dpdl.extras import PLOTS, is_installed
from dpdl.folder.export import Tracker
from dpdl.folder.lock import refuse_difference
from dpdl.folder.run_folder import RunFolder
from dpdl.planning.plan import Plan, plan
from dpdl.privacy.threats import threat
from dpdl.training.loop import Watch
from dpdl.training.recording_request import RecordingRequest
from dpdl.training.stopping import together
from dpdl.training.train import Result, launch, replan


@final
@dataclass(frozen=True)
class OneRun:
    """What is run, and where."""

    plan: Plan
    out: Path
    placement: str
    formats: Sequence[str] = ()  # of metrics for other programs
    again: bool = False  # whether it goes on with what is in `out`

    @property
    def picture(self) -> Path | None:
        """Where the curves are drawn; None: there is nothing to draw with."""
        return RunFolder(self.out).curves_path if is_installed(PLOTS) else None

    def perform(
        self, watch: Watch, record: RecordingRequest | None = None
    ) -> Result | None:
        """Train; the result on process 0, None elsewhere."""
        tracker = Tracker(self.out, self.formats)

        result = launch(
            self.plan,
            out=self.out,
            placement=self.placement,
            watch=together(tracker, watch),
            again=self.again,
            record=record,
        )
        if not isinstance(result, Result):  # another process speaks
            return None
        tracker.finish()
        return result

    def draw(self, result: Result) -> None:
        """Draw the curves of the result, if that can be done."""
        if self.picture is None:
            return
        from dpdl.report.training_curves import draw_training, words_of

        listener = threat(self.plan.experiment.threat)
        about = words_of(result.summary, listener)
        draw_training(result.metrics, self.picture, about)


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
