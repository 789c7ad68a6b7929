from __future__ import annotations

import pytest
import torch
from torch import Tensor

from dpdl import graph as graphs
from dpdl.algorithms import DPDL, SoundDPDL
from dpdl.algorithms.dpdl import coefficient, similarity, spread
from dpdl.graph import Graph
from dpdl.keys import generator
from dpdl.net import Leaving, Net
from dpdl.privacy.clip import PerSample
from dpdl.privacy.grid import grid
from dpdl.privacy.noise import Reproducible, Secure
from dpdl.tasks.task import Task
from dpdl.types import Batch
from tests.conftest import small_batch, small_module
from tests.mechanisms import private_gradient
from tests.reference.dpdl import Reference

SETTINGS = {"eta": 0.1, "beta": 0.7, "alpha": 1.5, "C": 0.6, "sigma": 1.3, "B": 6}


def seeded_noise(seed: int):
    """The product's noise, so that both sides see the same one."""

    def noise(t: int, i: int, j: int, length: int) -> Tensor:
        return torch.from_numpy(
            generator(seed, "noise", t, i, j).standard_normal(length)
        )

    return noise


def batches_of(agents: int, t: int, seed: int) -> list[Batch]:
    return [
        small_batch(size=(3 + t + j) % 9, seed=1000 * seed + 10 * t + j)
        for j in range(agents)
    ]


def product(kind: type, graph: Graph, rounds: int, seed: int) -> dict[str, Tensor]:
    task = Task(small_module(), dtype=torch.float64)
    clip = PerSample(SETTINGS["C"])
    grad = private_gradient(
        task, clip, SETTINGS["sigma"], SETTINGS["B"], Reproducible(seed)
    )
    algorithm = kind(
        lr=SETTINGS["eta"], momentum=SETTINGS["beta"], alpha=SETTINGS["alpha"]
    )
    net = Net(graph)
    state = algorithm.init(task.initial.repeat(len(graph), 1))
    for t in range(1, rounds + 1):
        state, _ = algorithm.round(state, batches_of(len(graph), t, seed), net, grad, t)
    return dict(state)


@pytest.mark.parametrize("kind", [DPDL, SoundDPDL])
@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize(
    "name", ["ring", "complete", "star", "bipartite", "erdos-renyi:0.5"]
)
def test_product_equals_algorithm_1_as_plain_loops(
    kind: type, seed: int, name: str
) -> None:
    graph = graphs.build(name, 6, "sinkhorn" if seed else "metropolis", seed)
    reference = Reference(
        graph.W,
        small_module(),
        **SETTINGS,
        noise=seeded_noise(seed),
        sound=kind is SoundDPDL,
    )
    reference.start(Task(small_module(), dtype=torch.float64).initial)
    for t in range(1, 5):
        reference.round(
            t, [list(zip(b.x, b.y, strict=True)) for b in batches_of(6, t, seed)]
        )
    state = product(kind, graph, 4, seed)
    assert (state["x"] - torch.stack(reference.x)).abs().max() < 1e-10
    assert (state["v"] - torch.stack(reference.v)).abs().max() < 1e-10
    assert state["x"].std(dim=0).max() > 1e-6 or name == "complete"


def test_the_two_variants_differ() -> None:
    ring = graphs.ring(5)
    assert not torch.allclose(
        product(DPDL, ring, 2, 0)["x"], product(SoundDPDL, ring, 2, 0)["x"]
    )


def test_in_secure_mode_nothing_without_noise_lies_between_the_steps_of_the_grid() -> (
    None
):
    """Who knows all cross-gradients of an agent finds in its momentum one more number on the grid of the noise.

    Were the self-gradient added to noise that is on the grid already, what is between its steps would show it.
    """
    sent: dict[str, dict[tuple[int, int], Tensor]] = {
        "model": {},
        "gradient": {},
        "momentum": {},
    }

    def listen(leaving: Leaving) -> None:
        for (source, target), at in zip(
            leaving.edges.tolist(), leaving.at.tolist(), strict=True
        ):
            sent[leaving.channel][source, target] = leaving.rows[at].clone()

    graph, task = graphs.ring(5), Task(small_module(), dtype=torch.float64)
    grad = private_gradient(task, PerSample(0.6), 1.3, 6, Secure())
    net = Net(graph, observers=[listen])
    algorithm = DPDL(lr=0.1, momentum=0.7, alpha=1.5)
    state = algorithm.init(task.initial.repeat(5, 1))
    algorithm.round(state, batches_of(5, 1, 0), net, grad, 1)
    for (i, _), momentum in sent["momentum"].items():
        known = sum(
            g / graph.W[i, j] ** 0.5 / 5
            for (j, target), g in sent["gradient"].items()
            if target == i
        )
        steps = (momentum - known) * graph.W[i, i] ** 0.5 * 5 / grid(grad.std)
        assert (steps - steps.round()).abs().max() < 1e-6
        assert steps.std() == pytest.approx(grad.std / grid(grad.std), rel=0.5)


def test_in_secure_mode_the_self_gradient_weighs_as_much_as_ever() -> None:
    """With hardly any noise both modes are the same update."""
    states = []
    for randomness in (Reproducible(0), Secure()):
        task = Task(small_module(), dtype=torch.float64)
        grad = private_gradient(task, PerSample(0.6), 1e-09, 6, randomness)
        algorithm = DPDL(lr=0.1, momentum=0.7, alpha=1.5)
        state = algorithm.init(task.initial.repeat(5, 1))
        states.append(
            algorithm.round(state, batches_of(5, 1, 0), Net(graphs.ring(5)), grad, 1)[0]
        )
    assert (states[0]["v"] - states[1]["v"]).abs().max() < 1e-8
    assert states[0]["v"].abs().max() > 0.01


def test_zero_self_gradient_has_cosine_zero() -> None:
    g = torch.tensor([[1.0, 2.0], [0.0, 0.0]])
    assert similarity(g, torch.zeros(1, 2), torch.tensor([0, 0]), (2,)).tolist() == [
        [0.0],
        [0.0],
    ]


def test_cosine_per_tensor_is_the_cosine_of_every_piece() -> None:
    g, r = (
        torch.randn(3, 7, dtype=torch.float64),
        torch.randn(2, 7, dtype=torch.float64),
    )
    i = torch.tensor([0, 1, 1])
    found = similarity(g, r, i, (3, 4))
    for k in range(3):
        for piece, part in enumerate((slice(0, 3), slice(3, 7))):
            expected = torch.cosine_similarity(g[k, part], r[i[k], part], dim=0)
            assert abs(found[k, piece] - expected) < 1e-12


def test_a_value_per_piece_is_one_per_entry_of_the_piece() -> None:
    values, r = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.ones(2, 5)
    assert (spread(values, (2, 3)) * r).tolist() == [[1, 1, 2, 2, 2], [3, 3, 4, 4, 4]]
    assert (spread(values[:, :1], (5,)) * r).tolist() == [[1] * 5, [3] * 5]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_cosine_is_accurate_in_any_type(dtype: torch.dtype) -> None:
    g, r = torch.randn(5, 40_001, dtype=dtype), torch.randn(2, 40_001, dtype=dtype)
    i, sizes = torch.tensor([0, 1, 1, 0, 1]), (40_000, 1)
    found = similarity(g, r, i, sizes)
    assert found.dtype == dtype
    for k in range(5):
        for piece, part in enumerate((slice(0, 40_000), slice(40_000, 40_001))):
            exact = torch.cosine_similarity(
                g[k, part].double(), r[i[k], part].double(), dim=0
            )
            assert abs(float(found[k, piece]) - float(exact)) < (
                1e-7 if dtype == torch.float32 else 1e-14
            )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_coefficient_does_not_depend_on_its_neighbours_in_the_tensor(
    dtype: torch.dtype,
) -> None:
    """Processes hold different numbers of asks; the bits of a coefficient must not depend on that."""
    s = (
        2
        * torch.rand(20_000, 1, dtype=dtype, generator=torch.Generator().manual_seed(0))
        - 1
    )
    whole = coefficient(s)
    assert torch.equal(torch.cat([coefficient(part) for part in s.split(7)]), whole)
    assert (whole - torch.sigmoid(-s)).abs().max() < 1e-6


def test_step_decay_and_weight_decay_enter_as_documented() -> None:
    """With alpha 0, no momentum and a constant gradient g of all agents, one round is x - eta_t (s g + decay x)."""
    graph = graphs.complete(3)
    task = Task(small_module(), dtype=torch.float64)
    grad = private_gradient(task, PerSample(1000000000.0), 0.0, 4, Reproducible(0))
    batch = small_batch(4, 3)
    algorithm = DPDL(
        lr=0.5,
        momentum=0.0,
        alpha=0.0,
        weight_decay=0.1,
        lr_decay=0.5,
        lr_decay_every=2,
    )
    x = task.initial.repeat(3, 1)
    mean = grad.mechanism.gradient(task, task.initial, batch).gradient
    for t, eta in ((1, 0.5), (2, 0.5), (3, 0.25), (5, 0.125)):
        state, _ = algorithm.round(algorithm.init(x), [batch] * 3, Net(graph), grad, t)
        expected = x[0] - eta * (3 * mean / (3**-0.5 * 3) + 0.1 * x[0])
        assert (state["x"][0] - expected).abs().max() < 1e-12
