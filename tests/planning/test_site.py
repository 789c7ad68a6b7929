"""What one process has to itself: records, batches, and nobody else's."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dpdl.privacy.noise import Reproducible
from dpdl.tasks.data import Dataset
from tests.training.small import planned


def test_a_site_has_the_records_of_its_agents_only(blobs: Dataset) -> None:
    site = planned(blobs).site([1, 3])
    assert set(site.records) == {1, 3}
    with pytest.raises(KeyError):
        site.batches(torch.tensor([2]), 1)


def test_batches_are_drawn_from_the_agents_own_records(blobs: Dataset) -> None:
    p = planned(blobs)
    site = p.site([1, 3])
    for t in range(1, 6):
        assert set(site.drawn(3, t)) <= set(p.parts[3])
        (batch,) = site.batches(torch.tensor([3]), t)
        rows = torch.from_numpy(site.drawn(3, t))
        assert torch.equal(batch.y, blobs.y[rows])


def test_a_batch_is_the_same_wherever_its_agent_is_hosted(blobs: Dataset) -> None:
    p = planned(blobs)
    here, everybody = p.site([2]), p.everybody
    for t in (1, 2, 7):
        one, all_ = (s.batches(torch.tensor([2]), t)[0] for s in (here, everybody))
        assert all(torch.equal(a, b) for a, b in zip(one, all_, strict=True))


def test_rounds_and_agents_have_batches_of_their_own(blobs: Dataset) -> None:
    site = planned(blobs).everybody
    drawn = [tuple(site.drawn(agent, t)) for agent in (0, 1) for t in (1, 2)]
    assert len(set(drawn)) == 4


def test_another_mechanism_and_randomness_leave_the_records(blobs: Dataset) -> None:
    site = planned(blobs).everybody
    larger = site.altered(site.plan.mechanism.with_batch(64), Reproducible(9))
    assert larger.records is site.records
    assert np.mean([len(larger.drawn(0, t)) for t in range(1, 40)]) > 32
    assert site.plan.mechanism.batch_size == 8


def test_a_site_does_not_show_records(blobs: Dataset) -> None:
    site = planned(blobs).everybody
    assert "tensor" not in repr(site)
    assert repr(site.records[0]) == "AgentRecords(private)"
    assert repr(site.tests[0]) == "EvaluationRecords(private)"
