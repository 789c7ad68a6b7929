from __future__ import annotations

import pytest
import torch

from dpdl import graph as graphs
from dpdl.algorithms.exact_diffusion import ExactDiffusion
from dpdl.errors import InputError
from dpdl.graph import Graph
from dpdl.net import Net
from tests.algorithms import tracking
from tests.reference.exact_diffusion import ExactDiffusionLoops

several = pytest.mark.parametrize("lazy", [True, False])


@several
@tracking.several_graphs
def test_product_equals_the_plain_loops(graph: Graph, lazy: bool) -> None:
    loops = tracking.reference(ExactDiffusionLoops, graph, lazy=lazy)
    algorithm = ExactDiffusion(lazy=lazy, **tracking.OPTIONS)
    for t, state in enumerate(tracking.play(algorithm, graph), 1):
        loops.round(t, tracking.samples_of(t))
        assert tracking.apart(state["x"], loops.x) < 1e-10
    assert t == tracking.ROUNDS


@several
def test_heterogeneous_quadratics_are_solved_exactly_where_d_psgd_keeps_a_bias(
    lazy: bool,
) -> None:
    world = tracking.Quadratics()
    state = world.settle(ExactDiffusion(lr=0.2, lazy=lazy), 50)
    assert world.distance(state["x"]) < 1e-4
    assert world.d_psgd(0.2, 400) > 0.1


def test_the_mean_of_the_models_moves_along_the_mean_of_the_noisy_gradients() -> None:
    """Old noise cancels: after T rounds the mean has T doses of it, not more."""
    rounds, eta = 30, 0.5
    net, grad = Net(graphs.ring(5)), tracking.only_noise()
    batches = [tracking.nothing()] * 5
    algorithm = ExactDiffusion(lr=eta)
    state = algorithm.init(torch.zeros(5, tracking.WIDE, dtype=torch.float64))
    moved = torch.zeros(tracking.WIDE, dtype=torch.float64)
    for t in range(1, rounds + 1):
        g = grad.own(state["x"], batches, net.selves, t).private
        moved -= eta * g.mean(dim=0)
        state, _ = algorithm.round(state, batches, net, grad, t)
    assert (state["x"].mean(dim=0) - moved).abs().max() < 1e-12


@several
def test_noise_that_is_left_in_a_disagreement_is_what_the_docstring_says(
    lazy: bool,
) -> None:
    graph, rounds, found = graphs.ring(5), 120, []
    net, grad = Net(graph), tracking.only_noise()
    algorithm = ExactDiffusion(lr=1.0, lazy=lazy)
    state = algorithm.init(torch.zeros(5, tracking.WIDE, dtype=torch.float64))
    for t in range(1, rounds + 1):
        state, _ = algorithm.round(state, [tracking.nothing()] * 5, net, grad, t)
        if t > 30:
            found.append(state["x"])
    values, vectors = torch.linalg.eigh(torch.from_numpy(graph.W.copy()))
    for value, vector in list(zip(values, vectors.T, strict=True))[:-1]:
        v = (1 + value) / 2 if lazy else value
        expected = 2 * v**2 / ((1 - v) * (1 + 3 * v))
        variance = torch.stack([vector @ x for x in found]).square().mean()
        assert variance / expected == pytest.approx(1, rel=0.1)


def test_d2_is_refused_where_mixing_alone_would_drift_apart() -> None:
    ExactDiffusion().check(graphs.ring(10))
    with pytest.raises(InputError, match=r"above -1/3; it is -0\.333"):
        ExactDiffusion(lazy=False).check(graphs.ring(10))
    ExactDiffusion(lazy=False).check(graphs.ring(5))


def test_one_record_moves_the_model_by_what_is_declared() -> None:
    algorithm = ExactDiffusion(lr=0.1)
    (declared,) = algorithm.releases(tracking.gradient())
    moved = tracking.movement(algorithm, 3, where=2)
    assert moved[0]["model"] == 0
    assert moved[1]["model"] == pytest.approx(declared.sensitivity)
    assert declared.sensitivity == pytest.approx(0.1 * tracking.C / tracking.B)


def test_one_row_leaves_for_every_neighbour_in_every_round() -> None:
    tap = tracking.taped(
        ExactDiffusion(lr=0.1), [[tracking.nothing()] * 5] * 2, tracking.only_noise()
    )
    for round in tap.rounds:
        assert set(round) == {"model"}
        assert [len(found.edges) for found in round["model"]] == [10]
