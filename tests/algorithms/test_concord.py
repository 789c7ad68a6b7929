from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from dpdl import graph as graphs
from dpdl.algorithms.concord import Concord
from dpdl.algorithms.secrets import pairs_of
from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.keys import generator
from dpdl.net import Net
from dpdl.planning.plan import plan as plan_of
from dpdl.privacy.clip import PerSample
from dpdl.privacy.noise import Randomness, Reproducible, Secure
from dpdl.privacy.threats import EAVESDROPPER, threat
from dpdl.types import ClippedSum
from tests.algorithms.twins import GRAPHS, STEP, apart, plain, product
from tests.conftest import small_batch
from tests.mechanisms import private_gradient
from tests.models import Given
from tests.reference.concord import PlainConcord, centred, pair_sums


def normals(seed: int, purpose: str, *where: int, length: int) -> Tensor:
    return torch.from_numpy(generator(seed, purpose, *where).standard_normal(length))


@pytest.mark.parametrize(("name", "weights"), GRAPHS)
@pytest.mark.parametrize("beta", [0.0, 0.9])
@pytest.mark.parametrize("secrets", ["complete", "links", "regular:2"])
def test_it_equals_its_plain_loops(
    name: str, weights: str, beta: float, secrets: str
) -> None:
    graph = graphs.build(name, 5, weights, 7)
    chosen = Concord(momentum=beta, correlation=2.0, secrets=secrets, **STEP)
    if pairs_of(secrets, graph).sum() == 20:
        shared = centred(5, 2.0, lambda t, i, n: normals(7, "secrets", t, i, length=n))
    else:
        shared = pair_sums(
            pairs_of(secrets, graph),
            2.0,
            lambda t, i, j, n: normals(7, "link", t, i, j, length=n),
        )
    state = product(chosen, graph, 7)
    twin = plain(PlainConcord, graph, 7, beta=beta, shared=shared)
    assert apart(state["x"], twin.x) < 1e-9
    assert apart(state["m"], twin.m) < 1e-9


def played(
    graph: graphs.Graph,
    randomness: Randomness,
    chosen: Concord,
    size: int = 4000,
    rounds: int = 1,
) -> tuple[list[Tensor], Tensor]:
    """The first message of every agent in the last round, over sigma C / B, and the models."""
    heard: list[Tensor] = []
    task = Given((size,), lambda row, *_: ClippedSum(0 * row, 0.0, 0, 0))
    grad = private_gradient(task, PerSample(1.0), 1.0, 4, randomness)
    net = Net(graph, observers=[lambda leaving: heard.append(leaving.rows.clone())])
    state = chosen.init(torch.zeros(len(graph), size))
    batches = [small_batch(4, k) for k in range(len(graph))]
    for t in range(1, rounds + 1):
        heard.clear()
        state, _ = chosen.round(state, batches, net, grad, t)
    return [rows / grad.std for rows in heard], state["x"]


@pytest.mark.parametrize("secrets", ["complete", "links", "regular:3"])
@pytest.mark.parametrize("randomness", [Reproducible(3), Secure()], ids=repr)
def test_the_first_message_has_the_covariance_of_the_proof_and_the_model_that_of_the_mean(
    secrets: str, randomness: Randomness
) -> None:
    graph, c, size = graphs.ring(6), 3.0, 40_000
    chosen = Concord(correlation=c, secrets=secrets, lr=1.0)
    heard, x = played(graph, randomness, chosen, size)
    first = heard[0].double()
    pairs = pairs_of(secrets, graph)
    expected = np.eye(6) + c**2 * (np.diag(pairs.sum(axis=1)) - pairs)
    found = (first @ first.T / size).numpy()
    assert np.abs(found - expected).max() < 6 * expected.max() / size**0.5
    mean = x / (1 / 4)  # eta sigma C / B
    assert float(mean.std()) == pytest.approx(6**-0.5, rel=0.02)
    assert float((mean - mean[0]).abs().max()) < 1e-4


def test_in_every_float32_run_agents_hold_one_model_up_to_rounding() -> None:
    for graph in (graphs.complete(30), graphs.bipartite(20), graphs.ring(30)):
        _, x = played(graph, Reproducible(1), Concord(lr=1.0), 500, rounds=20)
        assert float((x - x.mean(0)).abs().max()) < 1e-3 * float(x.std())


def experiment(**options: object) -> Experiment:
    words = {"agents": 6, "rounds": 3, "sigma": 2.0, "batch": 20, **options}
    return Experiment(algorithm="concord", dataset="digits", **words)


def test_all_agents_together_add_as_much_noise_as_a_trusted_server_would() -> None:
    found = plan_of(experiment(sigma=1.0)).privacy
    assert 1 <= 6 * found.exposure(0, EAVESDROPPER) < 1.01
    assert found.exposure(0, threat("neighbours:3")) == pytest.approx(1 / 3, rel=0.01)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"agents": 80, "graph": "path"}, "more than 64 exchanges a round"),
        ({"consensus_steps": 2}, "more than 2 exchanges a round"),
        ({"correlation": 1e6}, "use dtype float64, or a correlation of at most"),
        ({"correlation": 1e15, "dtype": "float64"}, "; a correlation of at most"),
        ({"secrets": "regular:7"}, "'regular:7' needs 2 to 5"),
        ({"secrets": "regular:0"}, "secrets must be complete, links or regular:K"),
        ({"secrets": "some"}, "secrets must be complete, links or regular:K"),
        ({"correlation": -1.0}, "correlation must be a finite number"),
    ],
)
def test_what_it_cannot_do_is_refused_in_one_sentence(
    options: dict[str, object], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        plan_of(experiment(**options))


def test_a_correlation_of_the_refusal_is_allowed() -> None:
    with pytest.raises(InputError, match="of at most") as refusal:
        plan_of(experiment(correlation=1e6))
    largest = float(str(refusal.value).split("at most ")[1].rstrip("."))
    plan_of(experiment(correlation=0.95 * largest))


@pytest.mark.parametrize("agents", [10, 20, 30])
@pytest.mark.parametrize("graph", ["complete", "bipartite", "ring"])
@pytest.mark.parametrize("secrets", ["complete", "links"])
def test_its_defaults_are_for_float32(graph: str, agents: int, secrets: str) -> None:
    chosen, built = Concord(secrets=secrets), graphs.build(graph, agents)
    chosen.check(built)
    assert chosen.imprecise(built, 4) is None


def test_secure_noise_needs_no_weight_decay_of_zero() -> None:
    """It is added after the agreement, from the agent's own model."""
    plan_of(experiment(randomness="secure", weight_decay=1e-3))


@pytest.mark.parametrize(
    ("agents", "sizes"), [(2, ()), (3, (2,)), (4, (2, 3)), (10, (2, 5, 9))]
)
def test_a_run_says_what_two_half_and_all_but_one_learn_together(
    agents: int, sizes: tuple[int, ...]
) -> None:
    assert Concord().conspirators(graphs.complete(agents)) == sizes


@pytest.mark.parametrize("graph", [graphs.ring(6), graphs.complete(5)], ids=repr)
def test_agents_that_go_on_without_another_agree_on_a_model(
    graph: graphs.Graph,
) -> None:
    """Some have ended a round that others gave up, so their models differ."""
    task = Given((50,), lambda row, *_: ClippedSum(0 * row, 0.0, 0, 0))
    grad = private_gradient(task, PerSample(1.0), 0.0, 4, Reproducible(1))
    heard: list[str] = []
    net = Net(graph, observers=[lambda leaving: heard.append(leaving.channel)])
    batches = [small_batch(4, k) for k in range(len(graph))]
    x = torch.randn(len(graph), 50, dtype=torch.float64)
    chosen = Concord()
    state, _ = chosen.round(chosen.rejoined(x), batches, net, grad, 7)
    assert torch.allclose(state["x"], x.mean(0).expand_as(x), atol=1e-8)
    assert len(heard) == 2 * len(chosen.steps(graph).roots)
    heard.clear()
    state, _ = chosen.round(state, batches, net, grad, 8)
    assert len(heard) == len(chosen.steps(graph).roots)
    without, _ = chosen.round(chosen.init(x), batches, net, grad, 7)
    assert torch.equal(without["x"], x)
