"""Bytes of rounds are those that a run really sends."""

from __future__ import annotations

import itertools

import pytest

from dpdl.errors import InputError
from dpdl.planning.traffic import bytes_of_rounds, most_rounds
from dpdl.tasks.data import Dataset
from tests.training.small import changed, planned, train


@pytest.mark.parametrize(
    "algorithm", ["dpdl", "dp-dpsgd", "muffliato", "dp-netfleet", "async-dpsgd"]
)
def test_a_run_sends_what_was_counted(algorithm: str, blobs: Dataset) -> None:
    e = changed(algorithm=algorithm, rounds=4)
    counted = sum(itertools.islice(bytes_of_rounds(planned(blobs, e).public), 4))
    assert train(blobs, e).summary.bytes_sent == counted > 0


def test_as_many_rounds_as_fit_and_no_more(blobs: Dataset) -> None:
    p = planned(blobs).public
    first = next(bytes_of_rounds(p))
    assert most_rounds(p, 3 * first / 1e6) == 3
    assert most_rounds(p, (3 * first - 1) / 1e6) == 2
    with pytest.raises(InputError):
        most_rounds(p, (first - 1) / 1e6)
