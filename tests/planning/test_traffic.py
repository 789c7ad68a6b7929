"""Bytes of rounds are counted, and a limit in bytes is the most rounds that fit."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from dpdl.algorithms import NAMES, Named
from dpdl.algorithms.dfedsam import DFedSAM
from dpdl.experiment.experiment import Experiment
from dpdl.planning.plan import plan
from dpdl.planning.traffic import most_rounds, rounds_within
from dpdl.training.train import train


@dataclass(frozen=True)
class Secretive(DFedSAM):
    """Does not say that it exchanges models in some rounds only, so its rounds must be played."""

    period = 1


@pytest.mark.parametrize(
    ("algorithm", "tau", "graph"),
    [("dpdl-sound", 1, "star"), ("dfedsam", 3, "ring"), ("secretive", 3, "ring")],
)
def test_equal_bytes_are_the_most_rounds_that_fit(
    algorithm: str, tau: int, graph: str, monkeypatch
) -> None:
    monkeypatch.setitem(NAMES, "secretive", Named(Secretive, "every tau-th round"))
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
    sent = train(replace(e, rounds=6)).summary["bytes_sent"]
    one = sent // (6 // tau)
    for limit, expected in (
        (6 * one, 7 * tau - 1),
        (6 * one - 1, 6 * tau - 1),
        (40.5 * one, 41 * tau - 1),
    ):
        assert most_rounds(p, limit / 1e6) == expected
    for rounds in (6 * tau, 6 * tau + tau):
        total = train(replace(e, rounds=rounds)).summary["bytes_sent"]
        assert most_rounds(p, total / 1e6) >= rounds
        assert most_rounds(p, (total - 1) / 1e6) < rounds


def test_rounds_that_send_ever_more_are_played_not_multiplied() -> None:
    for limit, expected in ((5050, 100), (5049, 99)):
        later = iter(range(5, 10_000))
        assert rounds_within(limit, [1, 2, 3, 4], later, period=1) == expected
