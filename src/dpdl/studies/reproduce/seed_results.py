"""What is kept of the run of one seed."""

from __future__ import annotations

from dpdl.folder.cell_results import SeedResult
from dpdl.folder.run_folder import RunFolder
from dpdl.privacy.epsilon import Epsilon
from dpdl.studies.reproduce.curves import curve_of


def seed_result(run: RunFolder, commit: str | None) -> SeedResult:
    """The numbers and the curve of a finished run; `commit` is that of the code that ran."""
    summary = run.summary()
    accuracy = summary["accuracy"]
    epsilons = summary["epsilon"].items()
    return SeedResult(
        accuracy=percent(accuracy["average_model"]),
        agents_mean=percent(accuracy["mean"]),
        agents_worst=percent(accuracy["worst"]),
        sigma=summary["sigma"],
        epsilon={threat: Epsilon.from_json(value) for threat, value in epsilons},
        seconds=round(summary["seconds"], 1),
        versions=summary["versions"],
        commit=commit,
        curve=curve_of(run.metrics()),
    )


def percent(share: float) -> float:
    """A share of 1 in percent, with two digits after the point."""
    return round(100 * share, 2)
