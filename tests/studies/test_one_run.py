"""One run from the command line: trained, tracked and drawn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dpdl.folder.run_folder import RunFolder
from dpdl.studies.one_run import OneRun
from dpdl.tasks.data import Dataset
from tests.training.small import changed, planned


def test_a_run_is_watched_tracked_and_drawn(blobs: Dataset, tmp_path: Path) -> None:
    seen: list[tuple[int, bool]] = []
    plan = planned(blobs, changed(rounds=3, eval_every=2))
    one = OneRun(plan, tmp_path / "run", "alone", formats=["csv"])
    result = one.perform(lambda t, metrics: seen.append((t, metrics is not None)))
    assert seen == [(1, True), (2, True), (3, True)]
    table = (tmp_path / "run" / "metrics.csv").read_text().splitlines()
    assert len(table) == 1 + len(result.metrics) == 4
    assert RunFolder(one.out).summary() == result.summary
    assert not one.picture.exists()
    one.draw(result)
    assert one.picture == tmp_path / "run" / "training.png"
    assert one.picture.stat().st_size > 5_000


def test_a_finished_run_is_tracked_without_a_round(
    blobs: Dataset, tmp_path: Path
) -> None:
    plan, out = planned(blobs, changed(rounds=2)), tmp_path / "run"
    OneRun(plan, out, "alone").perform(lambda t, metrics: None)
    seen: list[int] = []
    again = OneRun(replan := replace(plan), out, "alone", ["csv"], again=True)
    assert again.plan is replan
    again.perform(lambda t, metrics: seen.append(t))
    assert seen == []
    assert (out / "metrics.csv").read_text().count("\n") == 3
