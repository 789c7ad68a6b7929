from __future__ import annotations

import numpy as np
import pytest
import torch

from dpdl import graph as graphs
from dpdl.algorithms.epidemic import Epidemic
from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.graph import Graph
from dpdl.planning.plan import plan as plan_of
from tests.algorithms import tracking
from tests.reference.epidemic import EpidemicLoops


@tracking.several_graphs
def test_product_equals_the_plain_loops(graph: Graph) -> None:
    loops = tracking.reference(EpidemicLoops, graph)
    algorithm = Epidemic(fanout=1, seed=3, **tracking.OPTIONS)
    for t, state in enumerate(tracking.play(algorithm, graph), 1):
        now = algorithm.meetings(graph, t)
        met = [(i, j) for i, j in now.edges.tolist() if i < j]
        loops.meet(t, tracking.samples_of(t), met)
        assert tracking.apart(state["x"], loops.x) < 1e-10
    assert t == tracking.ROUNDS


@pytest.mark.parametrize("fanout", [1, 2, 9])
def test_everybody_talks_to_some_neighbours_and_the_weights_keep_the_mean(
    fanout: int,
) -> None:
    graph, algorithm = (
        graphs.build("erdos-renyi:0.6", 9, "sinkhorn", 1),
        Epidemic(fanout=fanout),
    )
    for t in range(1, 6):
        now = algorithm.meetings(graph, t)
        assert np.array_equal(now.W, now.W.T)
        assert np.allclose(now.W.sum(axis=1), 1, atol=1e-14) and now.W.min() >= 0
        assert not ((now.W > 0) & (graph.W == 0)).any()
        talked = (now.W > 0).sum(axis=1) - 1
        assert (talked >= np.minimum(fanout, graph.degrees)).all()
    assert fanout < 9 or (talked == graph.degrees).all()


def test_on_a_complete_graph_all_pairs_meet_sooner_or_later_and_no_two_rounds_are_alike() -> (
    None
):
    graph, algorithm = graphs.complete(6), Epidemic(fanout=1, seed=5)
    rounds = [algorithm.meetings(graph, t).W > 0 for t in range(1, 41)]
    assert np.logical_or.reduce(rounds).all()
    assert len({r.tobytes() for r in rounds}) > 30


def test_meetings_depend_on_the_seed_and_on_nothing_that_is_private() -> None:
    graph = graphs.complete(8)
    one, again, other = (Epidemic(seed=s).meetings(graph, 1).W for s in (1, 1, 2))
    assert np.array_equal(one, again) and not np.array_equal(one, other)


def test_one_record_moves_the_step_by_what_is_declared() -> None:
    algorithm = Epidemic(lr=0.1)
    (declared,) = algorithm.releases(tracking.gradient())
    moved = tracking.movement(algorithm, 3, where=2)
    assert moved[0]["step"] == 0
    assert moved[1]["step"] == pytest.approx(declared.sensitivity)


def test_every_round_leaves_on_another_graph() -> None:
    tap = tracking.taped(
        Epidemic(lr=0.1, fanout=1),
        [[tracking.nothing()] * 5] * 6,
        tracking.only_noise(),
    )
    edges = [torch.cat([f.edges for f in r["step"]]).tolist() for r in tap.rounds]
    assert all(0 < len(found) <= 10 for found in edges)
    assert any(found != edges[0] for found in edges)


def test_secure_randomness_is_refused() -> None:
    words = {"dataset": "digits", "agents": 5, "batch": 8, "sigma": 4.0}
    with pytest.raises(InputError, match="who talks to whom is drawn from the seed"):
        plan_of(Experiment(algorithm="epidemic", randomness="secure", **words))
