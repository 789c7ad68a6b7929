"""Bytes of rounds are those that a run really sends."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import pytest

from dpdl.algorithms import name_of
from dpdl.algorithms.dfedsam import DFedSAM
from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.planning.plan import plan
from dpdl.planning.traffic import bytes_of_rounds, most_rounds, rounds_within
from dpdl.tasks.data import Dataset
from dpdl.training import train as training
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


@dataclass(frozen=True)
class Secretive(DFedSAM):
    """Does not say that it exchanges models in some rounds only, so its rounds must be played."""

    period = 1


@pytest.mark.parametrize(
    ("algorithm", "tau", "graph"),
    [
        ("dpdl-sound", 1, "star"),
        ("dfedsam", 3, "ring"),
        (name_of(Secretive), 3, "ring"),
    ],
)
def test_equal_bytes_are_the_most_rounds_that_fit(
    algorithm: str, tau: int, graph: str
) -> None:
    own = {} if tau == 1 else {"local_steps": tau, "sam_radius": 0.1}
    e = Experiment(
        dataset="digits",
        graph=graph,
        agents=4,
        batch=8,
        sigma=1.0,
        algorithm=algorithm,
        rounds=7,
        **own,
    )
    p = plan(e).public
    sent = training.train(replace(e, rounds=6)).summary.bytes_sent
    one = sent // (6 // tau)
    for limit, expected in (
        (6 * one, 7 * tau - 1),
        (6 * one - 1, 6 * tau - 1),
        (40.5 * one, 41 * tau - 1),
    ):
        assert most_rounds(p, limit / 1e6) == expected
    for rounds in (6 * tau, 6 * tau + tau):
        total = training.train(replace(e, rounds=rounds)).summary.bytes_sent
        assert most_rounds(p, total / 1e6) >= rounds
        assert most_rounds(p, (total - 1) / 1e6) < rounds


def test_rounds_that_send_ever_more_are_played_not_multiplied() -> None:
    for limit, expected in ((5050, 100), (5049, 99)):
        later = iter(range(5, 10_000))
        assert rounds_within(limit, [1, 2, 3, 4], later, period=1) == expected
