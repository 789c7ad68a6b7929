"""A run that is recorded for an attack: trained, gone on with, or found finished."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.folder.lock import refuse_difference
from dpdl.folder.run_folder import RunFolder
from dpdl.planning.plan import Plan, plan
from dpdl.training.launch import launch
from dpdl.training.loop import Watch
from dpdl.training.recording_request import RecordingRequest, recording_request_in
from dpdl.training.train import replan

TrainingWatch = Callable[[Plan], AbstractContextManager[Watch]]
"""Opened when a run is trained."""


def train_recorded(
    e: Experiment,
    record: RecordingRequest,
    path: Path,
    watch: TrainingWatch,
    *,
    progress: bool = False,
    stop: threading.Event | None = None,
) -> None:
    """Train in `path` as far as that is not done yet; another run there is refused.

    With `progress`, data sets are fetched with a bar.
    """
    folder = RunFolder(path)
    again = folder.started
    if again:
        _refuse_other(e, record, folder)
    if folder.finished:
        return
    p = replan(path, progress=progress) if again else plan(e, progress=progress)
    with watch(p) as heard:
        launch(
            p,
            out=path,
            placement="alone",
            watch=heard,
            again=again,
            record=record,
            stop=stop,
        )


def _refuse_other(e: Experiment, record: RecordingRequest, folder: RunFolder) -> None:
    """Refuse a folder whose run is another one, or recorded less."""
    refuse_difference(
        folder.path, folder.experiment().as_dict(), e.resolved().as_dict()
    )
    recorded = recording_request_in(folder.path)
    missing = set(record.batches) - set(recorded.batches if recorded else ())
    if missing:
        sizes = ", ".join(map(str, sorted(missing)))
        raise InputError(
            f"Run {str(folder.path)!r} did not record batches of {sizes}; choose "
            "another --out."
        )
