"""How records are divided is kept for a page, where somebody may see all agents."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn

from dpdl.folder import class_counts
from dpdl.folder.run_folder import RunFolder
from dpdl.planning.plan import plan
from dpdl.tasks.data import Dataset
from dpdl.tasks.targets import Numbers
from dpdl.training.class_counts import keep_class_counts
from dpdl.training.train import train as train_any
from dpdl.transport import Alone, Post
from dpdl.transport.threads import run_threads
from tests.sites import write_sites
from tests.training.small import changed, planned, train


def test_a_run_in_one_process_keeps_them(blobs: Dataset, tmp_path: Path) -> None:
    train(blobs, out=tmp_path / "run")
    kept = class_counts.read(RunFolder(tmp_path / "run"))
    assert kept
    sizes = [len(part) for part in planned(blobs).parts]
    assert [sum(row) for row in kept.counts] == sizes


def test_secure_processes_apart_keep_none(blobs: Dataset, tmp_path: Path) -> None:
    e = changed(randomness="secure", rounds=2)
    train(blobs, e, out=tmp_path / "run", placement=lambda w: run_threads(2, w, True))
    assert class_counts.read(RunFolder(tmp_path / "run")) is None


def test_they_are_written_once(blobs: Dataset, tmp_path: Path) -> None:
    train(blobs, out=tmp_path / "run")
    folder = RunFolder(tmp_path / "run")
    before = folder.partition_path.stat().st_mtime_ns
    keep_class_counts(folder, planned(blobs), Post(Alone()))
    assert folder.partition_path.stat().st_mtime_ns == before


def test_records_at_sites_and_without_classes_have_none(tmp_path: Path) -> None:
    shared = {"algorithm": "dp-dpsgd", "rounds": 1, "batch": 8}
    sites = write_sites(tmp_path, (40, 40, 40, 40, 40))
    e = changed(partition="dirichlet-class", sites=sites, **shared)
    train_any(e, out=tmp_path / "sites")
    assert class_counts.read(RunFolder(tmp_path / "sites")) is None
    x = torch.randn(120, 2)
    data = Dataset("mine", x[:100], x[:100], x[100:], x[100:], predicts=Numbers(2))
    e = changed(dataset="mine", partition="iid", **shared)
    train_any(e, data=data, model=nn.Linear(2, 2), out=tmp_path / "numbers")
    assert class_counts.read(RunFolder(tmp_path / "numbers")) is None
    assert plan(e, data=data, model=nn.Linear(2, 2)).public.form.outputs == 2
