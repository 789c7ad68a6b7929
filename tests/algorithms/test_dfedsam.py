from __future__ import annotations

import pytest
import torch
from torch import Tensor

from dpdl import graph as graphs
from dpdl.algorithms import State
from dpdl.algorithms.dfedsam import DFedSAM, ascent
from dpdl.algorithms.disclosure import OwnGradients
from dpdl.graph import Graph
from dpdl.keys import generator
from dpdl.net import Leaving, Net
from dpdl.privacy.clip import PerSample, Unclipped
from dpdl.privacy.gradient import Answers, PrivateGradient
from dpdl.privacy.noise import Reproducible
from dpdl.tasks.task import Task
from dpdl.training.instruments import gathered
from dpdl.transport import Post
from dpdl.types import Batch
from tests.conftest import small_batch, small_module
from tests.mechanisms import private_gradient
from tests.places import on_threads
from tests.reference.dfedsam import Reference

C, SIGMA, B = 0.6, 1.3, 6
STEP = {"lr": 0.1, "lr_decay": 0.5, "lr_decay_every": 3, "weight_decay": 0.05}
SMALL = Task(small_module(), dtype=torch.float64)


def batches_of(agents: int, t: int, seed: int) -> list[Batch]:
    return [
        small_batch(size=(3 + t + j) % 9, seed=1000 * seed + 10 * t + j)
        for j in range(agents)
    ]


def gradient(seed: int = 0, sigma: float = SIGMA, clip=None) -> PrivateGradient:
    return private_gradient(SMALL, clip or PerSample(C), sigma, B, Reproducible(seed))


def play(
    algorithm: DFedSAM,
    net: Net,
    rounds: int,
    seed: int,
    grad: PrivateGradient | None = None,
) -> dict[str, Tensor]:
    state = algorithm.init(SMALL.initial.repeat(len(net.agents), 1))
    for t in range(1, rounds + 1):
        batches = batches_of(net.N, t, seed)
        here = [batches[int(a)] for a in net.agents]
        state, _ = algorithm.round(state, here, net, grad or gradient(seed), t)
    return dict(state)


@pytest.mark.parametrize(("seed", "tau"), [(0, 1), (7, 3)])
@pytest.mark.parametrize("name", ["ring", "complete", "star", "erdos-renyi:0.5"])
def test_product_equals_the_plain_loop(name: str, seed: int, tau: int) -> None:
    graph = graphs.build(name, 6, "sinkhorn", seed)

    def noise(which: str, t: int, i: int, length: int) -> Tensor:
        return torch.from_numpy(generator(seed, which, t, i, i).standard_normal(length))

    def eta(t: int) -> float:
        return 0.1 if t <= 3 else 0.05

    reference = Reference(
        graph.W, small_module(), eta, 0.7, 0.5, tau, 0.05, C, SIGMA, B, noise
    )
    reference.start(SMALL.initial)
    for t in range(1, 6):
        reference.round(
            t, [list(zip(b.x, b.y, strict=True)) for b in batches_of(6, t, seed)]
        )
    state = play(
        DFedSAM(**STEP, momentum=0.7, local_steps=tau, sam_radius=0.5),
        Net(graph),
        5,
        seed,
    )
    assert (state["x"] - torch.stack(reference.x)).abs().max() < 1e-10
    assert (state["m"] - torch.stack(reference.m)).abs().max() < 1e-10
    assert state["m"].std(dim=0).max() > 1e-3


def test_a_vanishing_radius_leaves_sgd_that_adapts_then_combines() -> None:
    graph, grad = graphs.build("star", 5, "sinkhorn", 2), gradient(3)
    W = torch.from_numpy(graph.W.copy())
    x = SMALL.initial.repeat(5, 1)
    for t in range(1, 5):
        x = W @ (
            x - 0.2 * grad.own(x, batches_of(5, t, 3), Net(graph).selves, t).private
        )
    found = play(
        DFedSAM(0.2, momentum=0.0, local_steps=1, sam_radius=1e-12),
        Net(graph),
        4,
        3,
        grad,
    )
    assert (found["x"] - x).abs().max() < 1e-9
    far = play(
        DFedSAM(0.2, momentum=0.0, local_steps=1, sam_radius=0.5),
        Net(graph),
        4,
        3,
        grad,
    )
    assert (far["x"] - x).abs().max() > 1e-4


def test_the_ascent_has_the_length_of_the_radius_and_the_direction_of_the_gradient() -> (
    None
):
    g = torch.tensor([[3.0, 4.0], [0.0, 0.0], [-1e-9, 0.0]], dtype=torch.float64)
    expected = torch.tensor([[0.3, 0.4], [0.0, 0.0], [-0.5, 0.0]], dtype=torch.float64)
    assert (ascent(g, 0.5) - expected).abs().max() < 1e-12


def test_the_two_gradients_of_a_round_have_noise_of_their_own() -> None:
    """Empty batches: g_1 and g_2 are noise alone, and only g_2 is stepped along."""
    grad, algorithm = (
        gradient(5),
        DFedSAM(1.0, momentum=0.0, local_steps=2, sam_radius=0.1),
    )
    empty = [small_batch(0, 0)] * 3
    state, _ = algorithm.round(
        algorithm.init(SMALL.initial.repeat(3, 1)), empty, Net(graphs.ring(3)), grad, 1
    )
    selves = Net(graphs.ring(3)).selves
    x = SMALL.initial.repeat(3, 1)
    step = grad.own(x, empty, selves, 1).private
    assert (state["x"] - (x - step)).abs().max() < 1e-12
    other = grad.own(x, empty, selves, 1, purpose="ascent").private
    assert (step - other).norm(dim=1).min() > 0.5 * step.norm(dim=1).max()


class HeldAscent:
    """A private gradient whose answer for the ascent is always the same."""

    def __init__(self, grad: PrivateGradient, held: Tensor) -> None:
        self._grad, self._held = grad, held

    def own(self, x, batches, selves, t, purpose: str = "noise") -> Answers:
        found = self._grad.own(x, batches, selves, t, purpose)
        return found._replace(private=self._held) if purpose == "ascent" else found


def test_given_the_ascent_one_record_moves_the_model_by_at_most_the_declared_sensitivity() -> (
    None
):
    """Noise off. A release comes between the two gradients, so the ascent is held where it was."""
    algorithm = DFedSAM(0.3, momentum=0.0, local_steps=1, sam_radius=0.5)
    direction = torch.randn(1, len(SMALL.initial), dtype=torch.float64)
    grad = HeldAscent(gradient(sigma=0.0), direction)
    whole = small_batch(4, 1)
    state, net = algorithm.init(SMALL.initial[None]), Net(graphs.complete(1))
    moved = []
    for k in range(4):
        less = Batch(*(torch.cat([part[:k], part[k + 1 :]]) for part in whole))
        rows = [
            algorithm.round(state, [batch], net, grad, 1)[0]["x"]
            for batch in (whole, less)
        ]
        moved.append(float((rows[0] - rows[1]).norm()))
    (release,) = algorithm.releases(gradient(sigma=0.0))
    assert release.sensitivity == pytest.approx(0.3 * C / B)
    assert 0.9 * release.sensitivity < max(moved) <= release.sensitivity * (1 + 1e-9)


def test_models_leave_every_local_steps_th_round_only() -> None:
    seen: list[Leaving] = []
    play(
        DFedSAM(0.1, momentum=0.5, local_steps=3, sam_radius=0.1),
        Net(graphs.ring(4), observers=[seen.append]),
        7,
        0,
    )
    assert [(leaving.channel, len(leaving.edges)) for leaving in seen] == [
        ("model", 8)
    ] * 2


@pytest.mark.parametrize("processes", [2, 5])
def test_numbers_are_the_same_on_any_placement(processes: int) -> None:
    graph: Graph = graphs.build("erdos-renyi:0.5", 5, "sinkhorn", 1)
    algorithm = DFedSAM(0.1, momentum=0.7, local_steps=2, sam_radius=0.3)
    alone = play(algorithm, Net(graph), 4, 1)

    def work(post: Post) -> State:
        net = Net(graph, post)
        state = play(algorithm, net, 4, 1)
        return {key: gathered(post, net.place, rows) for key, rows in state.items()}

    found = on_threads(processes, work)[0]
    assert all(torch.equal(found[key], alone[key]) for key in alone)


def test_broken_gradients_of_both_kinds_are_counted_and_the_loss_is_that_of_the_model() -> (
    None
):
    algorithm = DFedSAM(0.1, momentum=0.0, local_steps=1, sam_radius=0.4)
    bad = small_batch(3, 0)
    bad.x[1] = torch.inf
    state = algorithm.init(SMALL.initial.repeat(2, 1))
    good = small_batch(4, 1)
    _, info = algorithm.round(
        state, [bad, good], Net(graphs.complete(2)), gradient(), 1
    )
    assert info.values["broken_gradients"].tolist() == [2, 0]
    losses = torch.nn.functional.cross_entropy(
        SMALL.outputs(SMALL.initial, good.x), good.y
    )
    assert float(info.values["train_loss"][1]) == pytest.approx(float(losses))


def test_a_round_counts_as_two_releases_and_nothing_is_declared_without_clipping() -> (
    None
):
    algorithm = DFedSAM(0.1, momentum=0.0, local_steps=1, sam_radius=0.4)
    assert algorithm.disclosure == OwnGradients(2)
    assert algorithm.releases(gradient(clip=Unclipped()))[0].sensitivity is None
