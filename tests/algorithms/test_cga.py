from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor

from dpdl import graph as graphs
from dpdl.algorithms.cga import CGA, multipliers_of
from dpdl.algorithms.disclosure import CrossGradients
from dpdl.errors import InputError, RunFailed
from dpdl.net import Gate, Meter
from dpdl.privacy.threats import EAVESDROPPER
from tests.algorithms.crosses import (
    GRAD,
    SETTINGS,
    SMALL,
    batches_of,
    play,
    seeded_noise,
)
from tests.conftest import small_module
from tests.places import on_threads
from tests.reference.cga import Aggregation, direction


def rows_of(M: np.ndarray) -> list[Tensor]:
    return [torch.tensor(row, dtype=torch.float64) for row in M]


def solve(
    M: np.ndarray, g: np.ndarray, margin: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """The multipliers, and the direction they give."""
    M, g = np.asarray(M, dtype=float), np.asarray(g, dtype=float)
    v = multipliers_of(rows_of(M), torch.from_numpy(g), margin)
    return v, g + M.T @ v


@pytest.mark.parametrize(("margin", "qp"), [(0.0, "vector"), (0.5, "tensor")])
@pytest.mark.parametrize("name", ["ring", "complete", "star", "erdos-renyi:0.5"])
def test_product_equals_plain_loops(name: str, margin: float, qp: str) -> None:
    graph = graphs.build(name, 6, "sinkhorn", 1)
    sizes = SMALL.sizes if qp == "tensor" else None
    reference = Aggregation(
        graph.W,
        small_module(),
        **SETTINGS,
        noise=seeded_noise,
        decay=0.01,
        margin=margin,
        sizes=sizes,
    )
    reference.start(SMALL.initial)
    for t in range(1, 5):
        reference.round(t, [list(zip(b.x, b.y, strict=True)) for b in batches_of(6, t)])
    state = play(
        CGA(lr=0.1, momentum=0.7, margin=margin, qp=qp, weight_decay=0.01), graph, 4
    )
    assert (state["x"] - torch.stack(reference.x)).abs().max() < 1e-10
    assert (state["m"] - torch.stack(reference.m)).abs().max() < 1e-10
    assert state["x"].std(dim=0).max() > 1e-6


@st.composite
def problems(draw) -> tuple[np.ndarray, np.ndarray, float]:
    """Up to five rows of up to six small whole numbers, so that many are equal, opposite, collinear or zero."""
    rows, columns = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    entries = st.lists(st.integers(-2, 2), min_size=columns, max_size=columns)
    M = np.array([draw(entries) for _ in range(rows)], dtype=float)
    g = np.array(draw(entries), dtype=float)
    scales = np.array([10.0 ** draw(st.integers(-6, 6)) for _ in range(rows)])
    return M * scales[:, None], g, draw(st.sampled_from([0.0, 0.5]))


@settings(max_examples=300, deadline=None)
@given(problems())
def test_the_direction_is_the_shortest_of_all_that_are_allowed(problem) -> None:
    M, g, margin = problem
    v, z = solve(M, g, margin)
    size = np.linalg.norm(g) + margin * np.linalg.norm(M, axis=1).sum()
    assert (v >= margin).all()
    assert np.linalg.norm(z - direction(M, g, margin)) <= 1e-5 * size


CANCELLING = np.array(
    [[-1.0, -2, 0, -1], [0, -2, -1, 1], [1, 1, -2, -2], [-1, -1, 2, 2]]
)


@settings(max_examples=300, deadline=None)
@example((CANCELLING, np.array([1.0, -1, -1, 1]), 0.0))
@given(problems())
def test_the_direction_meets_the_conditions_of_an_optimum(problem) -> None:
    """Where the multiplier is above the margin the product with the row is zero, elsewhere it is not negative."""
    M, g, margin = problem
    v, z = solve(M, g, margin)
    lengths = np.linalg.norm(M, axis=1)
    size = np.linalg.norm(g) + margin * lengths.sum()
    product = np.divide(M @ z, lengths, out=np.zeros(len(M)), where=lengths > 0)
    assert (product >= -1e-5 * size).all()
    assert (np.abs((v - margin) * lengths * product) <= 1e-5 * size**2).all()


@pytest.mark.parametrize("seed", range(5))
def test_a_general_solver_finds_nothing_better(seed: int) -> None:
    draw = np.random.default_rng(seed)
    M, g, margin = (
        draw.standard_normal((4, 9)) - 0.3,
        draw.standard_normal(9) + 0.3,
        0.2 * (seed % 2),
    )
    found = scipy.optimize.minimize(
        lambda v: 0.5 * np.sum((g + M.T @ v) ** 2),
        np.full(4, margin + 1),
        jac=lambda v: M @ (g + M.T @ v),
        bounds=[(margin, None)] * 4,
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    v, z = solve(M, g, margin)
    assert np.abs(v - found.x).max() < 1e-5
    assert 0.5 * z @ z <= found.fun + 1e-12


@pytest.mark.parametrize("seed", range(5))
def test_with_margin_zero_no_gradient_conflicts_with_the_direction(seed: int) -> None:
    draw = np.random.default_rng(seed)
    M, g = draw.standard_normal((6, 30)) - 0.5, draw.standard_normal(30) + 0.5
    assert (M @ g < 0).any()
    _, z = solve(M, g)
    assert (M @ z >= -1e-9).all()
    assert g @ z == pytest.approx(z @ z)
    assert 0 < np.linalg.norm(z) < np.linalg.norm(g)


def test_gradients_that_agree_leave_the_own_gradient_alone() -> None:
    M, g = np.array([[1.0, 0.2], [0.1, 1.0]]), np.array([1.0, 1.0])
    v, z = solve(M, g)
    assert v.tolist() == [0, 0]
    assert z.tolist() == g.tolist()
    v, z = solve(M, g, margin=0.5)
    assert v.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("margin", [0.0, 0.5])
def test_one_neighbour_has_a_closed_form(margin: float) -> None:
    draw = np.random.default_rng(0)
    for _ in range(20):
        m, g = draw.standard_normal(7), draw.standard_normal(7)
        (v,), _ = solve(m[None], g, margin)
        assert v == pytest.approx(max(margin, -(m @ g) / (m @ m)), abs=1e-9)


def test_degenerate_gradients() -> None:
    none = np.zeros((0, 3))
    assert solve(none, np.ones(3))[1].tolist() == [1, 1, 1]
    assert solve(np.zeros((2, 3)), np.ones(3), 0.5)[0].tolist() == [0.5, 0.5]
    assert solve(np.ones((2, 3)), np.zeros(3))[0].tolist() == [0, 0]
    assert solve(np.ones((2, 3)), np.zeros(3), 0.5)[0].tolist() == [0.5, 0.5]
    assert (
        np.abs(solve(-np.ones((3, 4)), np.ones(4))[1]).max() < 1e-9
    )  # all say the opposite: stand still
    v, z = solve(np.array([[-1.0, 0.0]] * 4), np.array([1.0, 1.0]))  # equal rows share
    assert v.sum() == pytest.approx(1)
    assert np.abs(z - [0, 1]).max() < 1e-9


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e-20, 1e20, 1e150, 1e300])
@pytest.mark.parametrize("margin", [0.0, 0.5])
def test_multipliers_do_not_depend_on_the_scale_of_all_gradients(
    scale: float, margin: float
) -> None:
    draw = np.random.default_rng(0)
    M, g = draw.standard_normal((3, 8)), draw.standard_normal(8)
    assert (
        np.abs(solve(M * scale, g * scale, margin)[0] - solve(M, g, margin)[0]).max()
        < 1e-9
    )


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e308, 1e-320])
@pytest.mark.parametrize("margin", [0.0, 0.5])
def test_a_row_without_a_length_keeps_the_margin(bad: float, margin: float) -> None:
    M, g = np.array([[-1.0, 0.5], [bad, -bad]]), np.array([1.0, 1.0])
    v = multipliers_of(rows_of(M), torch.from_numpy(g), margin)
    assert v[1] == margin or bad == 1e308
    assert np.isfinite(v).all()
    assert multipliers_of(
        rows_of(M[:1]), torch.full((2,), np.nan, dtype=torch.float64), margin
    ).tolist() == [margin]


def test_a_solver_that_gives_up_fails_the_run_with_a_sentence(monkeypatch) -> None:
    def give_up(*_args, **_options):
        raise RuntimeError("Maximum number of iterations reached.")

    monkeypatch.setattr(scipy.optimize, "nnls", give_up)
    with pytest.raises(RunFailed, match="2 neighbours' gradients in 200 steps"):
        solve(np.eye(2), -np.ones(2))


def test_a_margin_needs_neighbours() -> None:
    alone = graphs.complete(1)
    with pytest.raises(InputError, match="agent 0 has none"):
        CGA(lr=0.1, momentum=0.7, margin=0.5).check(alone)
    CGA(lr=0.1, momentum=0.7, margin=0.0).check(alone)
    CGA(lr=0.1, momentum=0.7, margin=0.5).check(graphs.ring(3))
    state = play(CGA(lr=0.1, momentum=0.7, margin=0.0), alone, 2)
    reference = Aggregation(alone.W, small_module(), **SETTINGS, noise=seeded_noise)
    reference.start(SMALL.initial)
    for t in (1, 2):
        reference.round(t, [list(zip(b.x, b.y, strict=True)) for b in batches_of(1, t)])
    assert (state["x"] - torch.stack(reference.x)).abs().max() < 1e-10


@pytest.mark.parametrize("processes", [2, 3])
@pytest.mark.parametrize("qp", ["vector", "tensor"])
def test_bits_do_not_depend_on_the_placement(processes: int, qp: str) -> None:
    graph = graphs.build("erdos-renyi:0.5", 6, "sinkhorn", 1)
    algorithm = CGA(lr=0.1, momentum=0.7, margin=0.1, qp=qp)
    alone = play(algorithm, graph, 3)
    together = on_threads(processes, lambda post: play(algorithm, graph, 3, post))[0]
    assert all(torch.equal(together[key], alone[key]) for key in alone)


def test_two_rows_per_neighbour_leave_and_both_are_declared() -> None:
    algorithm, meter = CGA(lr=0.1, momentum=0.7), Meter(5)
    play(algorithm, graphs.ring(5), 3, seen=[Gate(algorithm.releases(GRAD)), meter])
    assert meter.bytes.tolist() == [3 * 2 * 2 * 8 * SMALL.size] * 5


def test_every_agent_pays_for_as_many_releases_as_it_has_neighbours_and_itself() -> (
    None
):
    algorithm, star = (
        CGA(lr=0.1, momentum=0.7),
        graphs.build("star", 5, "metropolis", 0),
    )
    assert algorithm.disclosure == CrossGradients()
    assert [algorithm.disclosure.exposure(star, i, EAVESDROPPER) for i in range(5)] == [
        5,
        2,
        2,
        2,
        2,
    ]
    private = [release for release in algorithm.releases(GRAD) if release.private]
    assert [(r.channel, r.sensitivity, r.noise_multiplier) for r in private] == [
        ("gradient", 0.6 / 6, 1.3)
    ]
