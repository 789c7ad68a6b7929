from __future__ import annotations

import pytest
import torch

from dpdl import graph as graphs
from dpdl.algorithms.admm import ADMM
from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.graph import Graph
from tests.algorithms import tracking
from tests.reference.admm import ADMMLoops


@tracking.several_graphs
@pytest.mark.parametrize("kappa", [0.5, 0.2])
def test_product_solves_for_the_least_of_every_round(
    graph: Graph, kappa: float
) -> None:
    loops = tracking.reference(ADMMLoops, graph, kappa=kappa)
    algorithm = ADMM(penalty=kappa, **tracking.OPTIONS)
    for t, state in enumerate(tracking.play(algorithm, graph), 1):
        loops.round(t, tracking.samples_of(t))
        assert tracking.apart(state["x"], loops.x) < 1e-10
        multipliers = [
            sum(row for (a, _), row in loops.links.items() if a == i)
            for i in range(tracking.AGENTS)
        ]
        assert tracking.apart(state["y"], multipliers) < 1e-10
    assert t == tracking.ROUNDS


@tracking.several_graphs
def test_multipliers_sum_up_to_zero(graph: Graph) -> None:
    for state in tracking.play(ADMM(**tracking.OPTIONS), graph):
        assert state["y"].sum(dim=0).abs().max() < 1e-11
        assert state["y"].norm() > 0.01


def test_heterogeneous_quadratics_are_solved_exactly_and_multipliers_are_the_gradients() -> (
    None
):
    world = tracking.Quadratics()
    state = world.settle(ADMM(lr=0.2), 50)
    assert world.distance(state["x"]) < 1e-4
    assert world.d_psgd(0.2, 400) > 0.1
    assert torch.allclose(state["y"], -world.gradients(state["x"]), atol=1e-3)


@pytest.mark.parametrize("kappa", [0.5, 0.05])
def test_mixing_alone_brings_all_models_together(kappa: float) -> None:
    """On a ring of four agents the smallest eigenvalue of W is -1/3; on two with equal weights it is 0."""
    for graph in (graphs.ring(4), graphs.path(2), graphs.star(4)):
        W = torch.from_numpy(graph.W.copy())
        x = torch.arange(1.0, len(graph) + 1).double()[:, None]
        mean, y = x.mean(), torch.zeros_like(x)
        for _ in range(4000):
            apart = kappa * (x - W @ x)
            y = y + apart
            x = x - y - apart
        assert (x - mean).abs().max() < 1e-6


def test_one_record_moves_the_model_of_the_next_round_by_what_is_declared() -> None:
    algorithm = ADMM(lr=0.1)
    (declared,) = algorithm.releases(tracking.gradient())
    moved = tracking.movement(algorithm, 3, where=2)
    assert moved[0]["model"] == moved[1]["model"] == 0
    assert moved[2]["model"] == pytest.approx(declared.sensitivity)


def test_a_penalty_for_which_nothing_is_known_is_refused() -> None:
    with pytest.raises(InputError, match=r"above 0 and at most 0\.5"):
        Experiment(algorithm="dp-admm", penalty=0.6)
