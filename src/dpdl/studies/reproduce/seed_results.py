"""What is kept of the run of one seed."""

from __future__ import annotations

from dpdl.folder.cell_results import SeedResult
from dpdl.folder.run_folder import RunFolder
from dpdl.studies.reproduce.curves import curve_of, percent


def seed_result(run: RunFolder, commit: str | None) -> SeedResult:
    """The numbers and the curve of a finished run; `commit` is that of the code that ran."""
    summary = run.summary()
    return SeedResult(
        accuracy=percent(summary.score.average_model),
        agents_mean=percent(summary.score.mean),
        agents_worst=percent(summary.score.worst),
        sigma=summary.sigma,
        epsilon=dict(summary.epsilon.items()),
        seconds=round(summary.seconds, 1),
        versions=summary.versions,
        commit=commit,
        curve=curve_of(run.metrics()),
    )
