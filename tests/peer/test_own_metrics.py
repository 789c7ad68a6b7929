from __future__ import annotations

import stat

import pytest
import torch

from dpdl.errors import RunFailed
from dpdl.peer.own_metrics import OwnMeasurement, OwnMetrics, reported
from tests.peer.mounts import disk_at


def one(round: int) -> OwnMeasurement:
    return OwnMeasurement(round, "accuracy", 0.5, train_loss=1.25)


def test_measurements_are_kept_in_a_file_that_only_the_owner_reads(tmp_path):
    path = tmp_path / "private" / "metrics.jsonl"
    metrics = OwnMetrics(path)
    metrics.begin(0)
    for t in (1, 5, 10):
        metrics.add(one(t))
    assert metrics.read() == [one(1), one(5), one(10)]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_rounds_that_are_run_again_are_measured_again(tmp_path):
    metrics = OwnMetrics(tmp_path / "private" / "metrics.jsonl")
    metrics.begin(0)
    metrics.add(one(1))
    metrics.add(one(5))
    metrics.begin(4)
    assert metrics.read() == [one(1)]


def test_a_full_disk_stops_the_run_and_loses_no_measurement(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    with disk_at(folder, 1) as disk:
        metrics = OwnMetrics(folder / "private" / "metrics.jsonl")
        metrics.begin(0)
        for t in range(1, 100):
            metrics.add(one(t))
        disk.fill()
        with pytest.raises(RunFailed, match=r"cannot be written: .*Make room and sta"):
            metrics.begin(98)
        assert len(metrics.read()) == 99
        disk.clear()
        metrics.begin(97)
        assert metrics.read() == [one(t) for t in range(1, 98)]


def test_a_line_that_a_crash_cut_off_is_left_out(tmp_path):
    path = tmp_path / "private" / "metrics.jsonl"
    metrics = OwnMetrics(path)
    metrics.begin(0)
    metrics.add(one(1))
    with path.open("a") as file:
        file.write('{"round": 2, "sc')
    assert metrics.read() == [one(1)]


def test_a_number_that_nobody_reported_is_none():
    values = {
        "train_loss": torch.tensor([2.0]),
        "clip_fraction": torch.tensor([float("nan")]),
    }
    assert reported(values, "train_loss") == 2.0
    assert reported(values, "clip_fraction") is None
    assert reported(values, "nothing") is None
