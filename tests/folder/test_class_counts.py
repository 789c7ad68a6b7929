"""Class counts are kept where an experimenter sees all agents anyway, and nowhere else."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from dpdl.errors import InputError
from dpdl.folder import class_counts
from dpdl.folder.class_counts import ClassCounts
from dpdl.folder.run_folder import RunFolder
from dpdl.planning.plan import Plan, plan
from dpdl.tasks.data import Dataset
from dpdl.training.class_counts import keep_class_counts
from tests.conftest import small_module
from tests.training.small import changed, train


def planned(blobs: Dataset, randomness: str) -> Plan:
    e = changed(randomness=randomness, algorithm="dpdl-sound")
    return plan(e, data=blobs, model=small_module())


@pytest.mark.parametrize(
    ("apart", "randomness", "kept"),
    [
        (False, "reproducible", True),
        (False, "secure", True),
        (True, "reproducible", True),
        (True, "secure", False),
    ],
)
def test_counts_stay_in_a_process_whose_records_are_to_be_protected(
    blobs: Dataset, tmp_path: Path, apart: bool, randomness: str, kept: bool
) -> None:
    run = RunFolder(tmp_path)
    keep_class_counts(run, planned(blobs, randomness), SimpleNamespace(apart=apart))
    assert run.partition_path.exists() == kept


def test_every_record_is_counted_once(blobs: Dataset) -> None:
    p = planned(blobs, "reproducible")
    found = ClassCounts.of_plan(p)
    assert [sum(row) for row in found.counts] == [len(part) for part in p.parts]
    totals = [sum(column) for column in zip(*found.counts, strict=True)]
    assert totals == [int((blobs.y == label).sum()) for label in range(3)]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    run, counts = RunFolder(tmp_path), ClassCounts("blobs", "iid", ((1, 2), (3, 4)))
    assert class_counts.read(run) is None
    class_counts.write(run, counts)
    assert class_counts.read(run) == counts


def test_a_run_that_is_resumed_keeps_its_counts(blobs: Dataset, tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    p = train(blobs, out=run.path).plan
    before = run.partition_path.stat().st_mtime_ns
    keep_class_counts(run, p, SimpleNamespace(apart=False))
    assert run.partition_path.stat().st_mtime_ns == before


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        "{}",
        '{"format": 2}',
        '{"format": 1, "dataset": "x", "partition": "y", "counts": []}',
        '{"format": 1, "dataset": "x", "partition": "y", "counts": [[1], [1, 2]]}',
        '{"format": 1, "dataset": "x", "partition": "y", "counts": [["a"]]}',
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, content: str) -> None:
    run = RunFolder(tmp_path)
    run.partition_path.write_text(content)
    with pytest.raises(InputError, match=r"partition\.json' is damaged"):
        class_counts.read(run)
