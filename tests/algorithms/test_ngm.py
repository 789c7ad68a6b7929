from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from dpdl import graph as graphs
from dpdl.algorithms.disclosure import CrossGradients
from dpdl.algorithms.ngm import NGM, OwnMean
from dpdl.graph import Graph
from dpdl.net import Leaving, Net
from dpdl.privacy.clip import PerSample, Unclipped
from dpdl.privacy.gradient import PrivateGradient
from dpdl.privacy.noise import Reproducible
from dpdl.privacy.threats import EAVESDROPPER
from dpdl.types import Batch
from tests.algorithms.crosses import SETTINGS, SMALL, batches_of, seeded_noise
from tests.conftest import small_batch, small_module
from tests.mechanisms import private_gradient
from tests.places import on_threads
from tests.reference.ngm import Mean

C, B = 0.6, 6


def gradient(sigma: float = 1.3, clip: object = None) -> PrivateGradient:
    return private_gradient(SMALL, clip or PerSample(C), sigma, B, Reproducible(3))


def one_round(
    algorithm: NGM, graph: Graph, batches: list[Batch], grad: PrivateGradient, seen=()
) -> Tensor:
    state = algorithm.init(SMALL.initial.repeat(len(graph), 1))
    return algorithm.round(state, batches, Net(graph, None, seen), grad, 1)[0]["x"]


@pytest.mark.parametrize("a", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("name", ["ring", "complete", "star", "erdos-renyi:0.5"])
def test_product_equals_plain_loops(name: str, a: float) -> None:
    graph = graphs.build(name, 6, "sinkhorn", 1)
    reference = Mean(
        graph.W, small_module(), **SETTINGS, noise=seeded_noise, decay=0.01, a=a
    )
    reference.start(SMALL.initial)
    algorithm, net = (
        NGM(lr=0.1, momentum=0.7, data_share=a, weight_decay=0.01),
        Net(graph),
    )
    state = algorithm.init(SMALL.initial.repeat(6, 1))
    for t in range(1, 5):
        reference.round(t, [list(zip(b.x, b.y, strict=True)) for b in batches_of(6, t)])
        state, _ = algorithm.round(state, batches_of(6, t), net, gradient(), t)
    assert (state["x"] - torch.stack(reference.x)).abs().max() < 1e-10
    assert (state["m"] - torch.stack(reference.m)).abs().max() < 1e-10
    assert state["x"].std(dim=0).max() > 1e-6


@pytest.mark.parametrize(
    ("a", "channels"),
    [(0.0, {"model"}), (0.5, {"model", "gradient"}), (1.0, {"model", "gradient"})],
)
def test_gradients_are_sent_and_declared_only_when_they_are_used(
    a: float, channels: set[str]
) -> None:
    seen: list[Leaving] = []
    algorithm = NGM(lr=0.1, momentum=0.7, data_share=a)
    one_round(algorithm, graphs.ring(5), batches_of(5, 1), gradient(), [seen.append])
    assert {leaving.channel for leaving in seen} == channels
    assert {release.channel for release in algorithm.releases(gradient())} == channels
    assert sum(release.private for release in algorithm.releases(gradient())) == 1


def test_equal_models_step_along_the_neighbours_mean_gradient() -> None:
    """a = 1, no noise, no clipping: all agents start from the same model."""
    batches, grad = [small_batch(B, j) for j in range(5)], gradient(0.0, Unclipped())
    g = torch.stack(
        [
            grad.mechanism.gradient(SMALL, SMALL.initial, batch).gradient
            for batch in batches
        ]
    )
    for graph in (graphs.complete(5), graphs.ring(5)):
        x = one_round(NGM(lr=0.2, momentum=0.7, data_share=1.0), graph, batches, grad)
        assert (
            x - (SMALL.initial - 0.2 * torch.tensor(graph.W) @ g)
        ).abs().max() < 1e-12
    everybody = SMALL.initial - 0.2 * g.mean(dim=0)
    x = one_round(
        NGM(lr=0.2, momentum=0.7, data_share=1.0), graphs.complete(5), batches, grad
    )
    assert (x - everybody).abs().max() < 1e-12


def test_without_messages_equal_models_step_along_their_own_gradients() -> None:
    batches, grad = [small_batch(B, j) for j in range(5)], gradient(0.0, Unclipped())
    g = torch.stack(
        [
            grad.mechanism.gradient(SMALL, SMALL.initial, batch).gradient
            for batch in batches
        ]
    )
    x = one_round(
        NGM(lr=0.2, momentum=0.7, data_share=0.0), graphs.ring(5), batches, grad
    )
    assert (x - (SMALL.initial - 0.2 * g)).abs().max() < 1e-12


@pytest.mark.parametrize("name", ["complete", "star"])
def test_the_noise_of_the_mean_is_what_its_exposure_says(name: str) -> None:
    """Empty batches: what is left of the step is noise, of deviation sigma (C / B) / sqrt(exposure)."""
    graph = graphs.build(name, 6, "metropolis", 0)
    nothing = [small_batch(0, 0)] * 6
    noise = []
    for seed in range(60):
        grad = private_gradient(SMALL, PerSample(C), 2.0, B, Reproducible(seed))
        noise.append(
            one_round(NGM(lr=1.0, momentum=0.0, data_share=0.0), graph, nothing, grad)
            - SMALL.initial
        )
    found = (
        torch.stack(noise).transpose(0, 1).flatten(1).std(dim=1)
    )  # 60 times D entries of every agent
    for i in range(6):
        exposure = OwnMean().exposure(graph, i, EAVESDROPPER)
        assert float(found[i]) == pytest.approx(
            2.0 * C / B / math.sqrt(exposure), rel=0.05
        )
        assert exposure <= CrossGradients().exposure(graph, i, EAVESDROPPER) + 1e-9
    if (
        name == "complete"
    ):  # equal weights: sigma sqrt(m) proves as much, and then the noise is that of one release
        assert OwnMean().exposure(graph, 0, EAVESDROPPER) == pytest.approx(6)


def test_one_record_moves_a_model_without_messages_by_the_declared_sensitivity() -> (
    None
):
    algorithm, graph, grad = (
        NGM(lr=0.3, momentum=0.7, data_share=0.0),
        graphs.ring(5),
        gradient(0.0),
    )
    whole = [small_batch(4, k) for k in range(5)]
    less = [*whole[:2], Batch(*(part[1:] for part in whole[2])), *whole[3:]]
    moved = (
        one_round(algorithm, graph, whole, grad)
        - one_round(algorithm, graph, less, grad)
    ).norm(dim=1)
    (release,) = algorithm.releases(grad)
    assert release.sensitivity == pytest.approx(0.3 * C / B)
    assert 0 < float(moved[2]) <= release.sensitivity * (1 + 1e-9)
    assert float(moved.sum()) == float(moved[2])
    assert algorithm.releases(gradient(clip=Unclipped()))[0].sensitivity is None


def test_disclosure_follows_what_is_sent() -> None:
    assert NGM(lr=1, momentum=0, data_share=0.0).disclosure == OwnMean()
    assert NGM(lr=1, momentum=0, data_share=0.1).disclosure == CrossGradients()


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_average_answers_sums_what_an_agent_answered(processes: int) -> None:
    graph = graphs.build("erdos-renyi:0.5", 6, "sinkhorn", 1)
    value = torch.randn(
        6, 6, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0)
    )  # [asker, host]

    def work(transport) -> None:
        net = Net(graph, transport)
        edges = net.visits.edges
        found = net.average_answers(value[edges[:, 0], edges[:, 1]])
        for row, i in zip(found, net.agents.tolist(), strict=True):
            expected = sum(float(graph.W[i, j]) * value[j, i] for j in range(6))
            assert (row - expected).abs().max() < 1e-14

    on_threads(processes, work)
