"""One data set divided among simulated agents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment, from_mapping
from dpdl.planning.division import FEWEST_RECORDS, Division, split
from dpdl.tasks.data import Dataset
from dpdl.tasks.targets import Numbers


def resolved(**values: Any) -> Experiment:
    shared = {"dataset": "digits", "partition": "iid", "batch": 4, "sigma": 1.0}
    return from_mapping(shared | values).resolved()


def test_every_record_has_one_agent_at_most(blobs: Dataset) -> None:
    parts = split(resolved(), blobs, 6)
    every = np.concatenate(parts)
    assert len(every) == len(np.unique(every)) == 600
    assert all(len(part) == 100 for part in parts)


def test_no_agent_gets_less_than_a_batch_or_ten(blobs: Dataset) -> None:
    e = resolved(partition="dirichlet-class", alpha_d=0.5)
    assert min(map(len, split(e, blobs, 10))) >= FEWEST_RECORDS
    e = resolved(partition="dirichlet-class", alpha_d=1.0, batch=40)
    assert min(map(len, split(e, blobs, 10))) >= 40


def test_public_records_belong_to_nobody(blobs: Dataset) -> None:
    e = resolved(algorithm="pdsl", validation=90)
    held = np.concatenate(split(e, blobs, 3))
    assert len(held) == 510
    other = resolved(algorithm="pdsl", validation=90, seed=1)
    assert set(held) != set(np.concatenate(split(other, blobs, 3)))


def test_agents_share_the_tables_and_have_rows_of_their_own(blobs: Dataset) -> None:
    source = Division(blobs, split(resolved(), blobs, 3))
    records = source.records([0, 2])
    assert records[0].x is records[2].x is blobs.x
    assert len(records[0]) == 200
    assert source.tests([0, 2])[2].y is blobs.y_test
    assert source.common_test
    assert source.hashes([0]) == {}
    assert source.fingerprint == blobs.fingerprint()
    assert source.name == "blobs"


def test_records_without_classes_are_divided_by_number() -> None:
    x = torch.randn(60, 2)
    data = Dataset("mine", x[:50], x[:50], x[50:], x[50:], predicts=Numbers(2))
    assert [len(part) for part in split(resolved(), data, 2)] == [25, 25]
    quantity = split(resolved(partition="quantity"), data, 2)
    assert sum(map(len, quantity)) == 50
    for rule in ("dirichlet-class", "dirichlet-agent", "shards"):
        with pytest.raises(InputError, match=f"{rule} is by classes.*iid or quantity"):
            split(resolved(partition=rule), data, 2)
