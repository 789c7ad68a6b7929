"""What every algorithm must satisfy; a new one is covered as soon as it has a name."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import Tensor

from dpdl import graph as graphs
from dpdl.algorithms import NAMES, Algorithm, State
from dpdl.algorithms.compression import encode
from dpdl.algorithms.corn import CorNDSGD
from dpdl.algorithms.covariance import covariance, shares
from dpdl.audit.ears import Ears, Tap
from dpdl.graph import Graph
from dpdl.net import Gate, Leaving, Net
from dpdl.net.net import ENTRIES
from dpdl.privacy.clip import PerSample, Unclipped
from dpdl.privacy.noise import Reproducible
from dpdl.privacy.threats import EAVESDROPPER
from dpdl.training.instruments import gathered
from dpdl.transport import Post
from dpdl.types import Batch, ClippedSum
from tests.conftest import small_batch
from tests.contracts.play import CROSS, SMALL, B, algorithm, gradient, play, validate
from tests.mechanisms import private_gradient
from tests.models import Counting, Given
from tests.places import alone, on_threads

every_algorithm = pytest.mark.parametrize("name", sorted(NAMES))
SOON = 10
"""Rounds until an agent that is active has sent what it did, on all channels."""


def more_noise(chosen: Algorithm) -> float:
    """Beside the declared noise, that of an agent's secrets on a ring, where there is any."""
    if isinstance(chosen, CorNDSGD):
        return math.sqrt(covariance(shares(graphs.ring(5), chosen.horizon))[0, 0])
    shared = chosen.link_noise(graphs.ring(5))
    return math.sqrt(1 + shared.most * shared.factor**2) if shared else 1.0


@every_algorithm
@pytest.mark.parametrize("processes", [2, 3, 6])
def test_numbers_are_the_same_on_any_placement(name: str, processes: int) -> None:
    graph = graphs.build("erdos-renyi:0.5", 6, "sinkhorn", 1)
    batches = [small_batch(3 + k, k) for k in range(6)]
    whole = play(name, graph, batches, 3, sigma=1.0)

    def work(post: Post) -> State:
        return play(name, graph, batches, 3, post, sigma=1.0)

    found = on_threads(processes, work)[0]
    assert whole.keys() == found.keys()
    assert all(torch.equal(found[key], whole[key]) for key in whole)


@pytest.mark.parametrize("processes", [1, 2, 6])
@pytest.mark.parametrize("name", CROSS)
def test_numbers_are_the_same_in_parts_of_any_size(name: str, processes: int) -> None:
    """One asking agent at a time, two or three, all."""
    graph = graphs.build("erdos-renyi:0.5", 6, "sinkhorn", 1)
    batches = [small_batch(3 + k, k) for k in range(6)]
    whole = play(name, graph, batches, 3, sigma=1.0)
    for entries in (1, 12 * SMALL.size, 10**9):
        sizes = Sizes()

        def work(post: Post, s: Sizes = sizes, e: int = entries) -> State:
            return play(name, graph, batches, 3, post, 1.0, [s], e)

        found = on_threads(processes, work)[0]
        assert whole.keys() == found.keys()
        assert all(torch.equal(found[key], whole[key]) for key in whole)
        if name != "ngm" and processes == 1:
            assert (
                len(sizes.answered) == 3 * {1: 6, 12 * SMALL.size: 3, 10**9: 1}[entries]
            )
            assert all(
                rows * SMALL.size <= entries or askers == 1
                for rows, askers in sizes.answered
            )


def near(row: Tensor, batch: Batch, clip_norm: float) -> ClippedSum:
    """A gradient that depends on the model and on the batch."""
    return ClippedSum(0.3 * row + batch.x[0], 0.0, 0, 0)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, {}) for name in CROSS),
        *((name, {"compress": "sign"}) for name in CROSS),
        ("dpdl", {"cosine": "tensor"}),
        ("dp-cga", {"qp": "tensor"}),
    ],
    ids=str,
)
def test_rows_of_float32_have_the_same_bits_everywhere(
    name: str, options: dict
) -> None:
    """Here the kernels multiply and add, on rows that begin at any address."""
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(5, 5003, generator=draw)
    batches = [
        Batch(torch.randn(1, 5003, generator=draw), torch.zeros(1), torch.zeros(1))
        for _ in range(5)
    ]
    graph = graphs.build("erdos-renyi:0.5", 5, "sinkhorn", 1)
    chosen = algorithm(name, lr=0.1, **options)

    def work(post: Post, entries: int = ENTRIES) -> State:
        wide = Given((4000, 3, 1000), near)
        grad = private_gradient(
            wide,
            PerSample(1.0),
            1.0,
            1,
            Reproducible(4),
            validate=lambda row: float(row[7]),
        )
        net = Net(graph, post, entries=entries)
        state = chosen.init(x[net.agents])
        for t in (1, 2, 3):
            state, _ = chosen.round(
                state, [batches[int(a)] for a in net.agents], net, grad, t
            )
        return {key: gathered(post, net.place, rows) for key, rows in state.items()}

    whole = work(alone())
    assert whole["x"].dtype == torch.float32 and whole["x"].isfinite().all()
    for processes, entries in ((1, 1), (1, 50_000), (2, 10**9), (3, 1), (5, 1)):
        found = on_threads(processes, lambda post, e=entries: work(post, e))[0]
        assert all(torch.equal(found[key], whole[key]) for key in whole)


@pytest.mark.parametrize("name", CROSS)
def test_an_eavesdropper_hears_the_same_in_parts(
    name: str,
) -> None:
    graph, batches = graphs.star(5), [small_batch(3 + k, k) for k in range(5)]
    heard = []
    for entries in (10**9, 1):
        tap = Tap(Ears(EAVESDROPPER, graph, 2))
        play(name, graph, batches, 2, sigma=1.0, seen=[tap], entries=entries)
        heard.append(tap.take())
    whole, parts = heard
    assert {channel: set(rows) for channel, rows in whole.items()} == {
        k: set(rows) for k, rows in parts.items()
    }
    assert len(whole["gradient"]) == 8
    assert all(
        torch.equal(parts[channel][edge], row)
        for channel, rows in whole.items()
        for edge, row in rows.items()
    )


class Sizes:
    """How many answers were in memory at a time, and for how many agents that asked."""

    def __init__(self) -> None:
        self.answered: list[tuple[int, int]] = []

    def __call__(self, leaving: Leaving) -> None:
        if leaving.channel == "gradient":
            self.answered.append(
                (len(leaving.rows), len(set(leaving.edges[:, 1].tolist())))
            )


@pytest.mark.parametrize("entries", [1, 15 * SMALL.size, 10**9])
@pytest.mark.parametrize("name", CROSS)
def test_a_complete_graph_with_equal_weights_needs_one_gradient_per_agent(
    name: str, entries: int
) -> None:
    counting = Counting(SMALL)
    chosen, grad = algorithm(name, lr=0.1), gradient(counting, sigma=1.0)
    net = Net(graphs.complete(6), entries=entries)
    state = chosen.init(SMALL.initial.repeat(6, 1))
    batches = [small_batch(3 + k, k) for k in range(6)]
    for t in (1, 2, 3):
        state, _ = chosen.round(state, batches, net, grad, t)
        equal_models = len(set(map(bytes, state["x"].numpy()))) == 1
        if t == 1 or equal_models:
            assert counting.calls == 6 * t
    assert equal_models or name in {
        "ngm",
        "dp-cga",
        "cga",
    }  # their momenta stay with the agents


ONE_MODEL = {"concord"}
"""Where all agents hold the same model, it must not depend on their order at all."""
# Public draws are addressed by an agent's number, so other numbers mean other draws.
BY_NUMBER = {name for name, one in NAMES.items() if hasattr(one.kind, "seed")}


@pytest.mark.parametrize("name", sorted(set(NAMES) - BY_NUMBER))
def test_relabelling_the_agents_relabels_the_result(name: str) -> None:
    graph = graphs.build("star", 5, "sinkhorn", 2)
    order = torch.tensor([3, 0, 4, 1, 2])
    batches = [small_batch(3 + k, k) for k in range(5)]
    relabelled = Graph(graph.W[order][:, order])
    plain = play(name, graph, batches, 3)
    moved = play(name, relabelled, [batches[int(k)] for k in order], 3)
    assert (moved["x"] - plain["x"][order]).abs().max() < 1e-12
    one_model = float((plain["x"] - plain["x"][order]).abs().max()) < 1e-6
    assert one_model == (name in ONE_MODEL)


class Recorder:
    """All that left, in the order it did."""

    def __init__(self) -> None:
        self.events: list[tuple[str, list[tuple[int, int]], Tensor]] = []

    def __call__(self, leaving: Leaving) -> None:
        edges = [(a, b) for a, b in leaving.edges.tolist()]
        self.events.append((leaving.channel, edges, leaving.rows[leaving.at].clone()))


def first_difference(one: Recorder, other: Recorder, channel: str) -> dict[int, float]:
    """By sender: how far the first messages of a channel that differ are apart."""
    assert [event[:2] for event in one.events] == [event[:2] for event in other.events]
    for (name, edges, a), (_, _, b) in zip(one.events, other.events, strict=True):
        if name == channel and not torch.equal(a, b):
            apart = (a - b).double().norm(dim=1)
            return {
                i: float(
                    max(d for (s, _), d in zip(edges, apart, strict=True) if s == i)
                )
                for i, _ in edges
            }
    return {}


def first_active(name: str) -> int:
    """The round in which agent 2 first takes part: 1, unless some rounds are others' turn."""
    active = algorithm(name).disclosure.active
    return next(t for t in range(1, 60) if active(graphs.ring(5), 2, t))


def recorded(
    name: str, batches: Callable[[int], list[Batch]], sigma: float = 0.0
) -> Recorder:
    """All that leaves until agent 2 has sent what it did when it was first active."""
    recorder, rounds = Recorder(), first_active(name) + SOON
    play(name, graphs.ring(5), batches, rounds, sigma=sigma, seen=[recorder])
    return recorder


@every_algorithm
def test_one_record_moves_what_first_leaves_by_at_most_the_declared_sensitivity(
    name: str,
) -> None:
    """Noise off; one record of agent 2 is missing in one round: what left before anybody could react to it."""
    declared = {
        r.channel: r for r in algorithm(name, lr=0.1).releases(gradient()) if r.private
    }
    assert declared
    whole = [small_batch(4, k) for k in range(5)]
    less = [*whole[:2], Batch(*(part[1:] for part in whole[2])), *whole[3:]]
    t0 = first_active(name)
    before = recorded(name, lambda t: whole)
    after = recorded(name, lambda t: less if t == t0 else whole)
    for channel, release in declared.items():
        moved = first_difference(before, after, channel)
        assert release.sensitivity is not None
        assert 0 < moved.pop(2) <= release.sensitivity * (1 + 1e-9)
        assert not any(moved.values())


@dataclass(frozen=True)
class NoiseAlone:
    """What was to be perturbed is replaced by its noise: no record can show in it."""

    inner: Reproducible
    repeatable = pooled = True

    def uniform(self, count: int, purpose: str, *where: int) -> np.ndarray:
        return self.inner.uniform(count, purpose, *where)

    def perturb(
        self, row: Tensor, std: float, purpose: str, *where: int, into: Tensor
    ) -> None:
        self.inner.perturb(torch.zeros_like(row), std, purpose, *where, into=into)

    def pair(
        self,
        row: Tensor,
        std: float,
        own: float,
        purpose: str,
        *where: int,
        into: Tensor,
    ) -> None:
        self.inner.pair(row, std, own, purpose, *where, into=into)


@every_algorithm
def test_what_leaves_is_computed_from_perturbed_gradients_alone(name: str) -> None:
    """With equal perturbed gradients, other records change no message, nor does their number."""
    graph, chosen = graphs.ring(5), algorithm(name, lr=0.1)
    masked = private_gradient(
        SMALL, PerSample(0.7), 2.0, B, NoiseAlone(Reproducible(4)), validate=validate
    )

    def heard(batches: list[Batch]) -> Recorder:
        recorder = Recorder()
        net = Net(graph, observers=[recorder])
        state = chosen.init(SMALL.initial.repeat(5, 1))
        for t in range(1, 5):
            state, _ = chosen.round(state, batches, net, masked, t)
        return recorder

    some = heard([small_batch(4, k) for k in range(5)])
    others = heard([small_batch(k, k + 50) for k in range(5)])
    assert len(some.events) == len(others.events) >= 4
    equal = all(
        one[:2] == other[:2] and torch.equal(one[2], other[2])
        for one, other in zip(some.events, others.events, strict=True)
    )
    assert equal != chosen.sends_unnoised


@pytest.mark.parametrize("name", CROSS)
def test_signs_are_those_of_the_perturbed_answers(name: str) -> None:
    """What compression lets out is computed from what would have left without it."""
    batches, graph = [small_batch(4, k) for k in range(5)], graphs.ring(5)
    chosen = algorithm(name, lr=0.1, compress="sign")
    grad, recorder = gradient(sigma=2.0), Recorder()
    net = Net(graph, observers=[Gate(chosen.releases(grad)), recorder])
    state = chosen.init(SMALL.initial.repeat(5, 1))
    chosen.round(state, batches, net, grad, 1)
    plain = grad.answers(net.send("model", state["x"]), batches, net.visits, 1)
    expected = {
        (j, i): encode(row, SMALL.sizes).tolist()
        for (i, j), row in zip(net.visits.edges.tolist(), plain.private, strict=True)
    }
    heard = {
        edge: row.tolist()
        for channel, edges, rows in recorder.events
        if channel == "gradient"
        for edge, row in zip(edges, rows, strict=True)
    }
    assert len(heard) == 10
    assert heard == {edge: expected[edge] for edge in heard}


@every_algorithm
def test_the_noise_that_leaves_has_the_declared_deviation(name: str) -> None:
    """Empty batches: what leaves is noise alone, and the first of it comes from one release."""
    sigma = 3.0
    declared = {
        r.channel: r
        for r in algorithm(name, lr=0.1).releases(gradient(sigma=sigma))
        if r.private
    }
    nothing = [small_batch(0, k) for k in range(5)]
    quiet, loud = (
        recorded(name, lambda t: nothing),
        recorded(name, lambda t: nothing, sigma),
    )
    for channel, release in declared.items():
        assert release.sensitivity is not None and release.noise_multiplier is not None
        apart = first_difference(quiet, loud, channel).values()
        noise = [
            distance / SMALL.initial.numel() ** 0.5 for distance in apart if distance
        ]
        assert noise
        more = more_noise(algorithm(name))
        expected = release.sensitivity * release.noise_multiplier * more
        assert all(0.8 * expected < deviation < 1.25 * expected for deviation in noise)


@every_algorithm
def test_state_stays_finite_with_empty_batches_and_heavy_noise(name: str) -> None:
    state = play(
        name, graphs.ring(4), [small_batch(k % 2, k) for k in range(4)], 5, sigma=50.0
    )
    assert all(rows.isfinite().all() for rows in state.values())


@every_algorithm
def test_an_agent_alone_learns_too(name: str) -> None:
    state = play(name, graphs.complete(1), [small_batch(5, 0)], 4)
    assert state["x"].isfinite().all()
    assert not torch.equal(state["x"][0], SMALL.initial)


class Line:
    """Least squares with its derivative by hand: that of `torch.func` would take 20 times as long."""

    sizes = (3,)

    @property
    def fused(self) -> Line:
        return self

    def total(self, row: Tensor, batch: Batch) -> ClippedSum:
        error = batch.x @ row - batch.y[:, 0]
        return ClippedSum(2 * error @ batch.x, float(error.square().sum()), 0, 0)


# How far from the common optimum an algorithm may be after 400 rounds, as a share of the distance of the agents' own
# optima from it. Most have a bias, which shrinks with the step size; some have none.
MOST_BIAS = 0.08
BIAS = {
    "gradient-tracking": 1e-3,
    "momentum-tracking": 1e-3,
    "dp-netfleet": 1e-3,
    "net-fleet": 1e-3,
    "dp-dmsgd": 1e-3,
    "dmsgd": 1e-3,  # on a complete graph all models are equal, and so it is momentum SGD on the mean
    "muffliato": 1e-3,  # likewise
    "exact-diffusion": 1e-3,
    "porter": 1e-3,
    "dp-admm": 1e-3,
    "async-dpsgd": 0.2,  # 100 gradients of every agent where others have taken 400
    # CGA bends gradients until they conflict with none, which ends elsewhere than at the optimum of the mean.
    "dp-cga": 0.3,
    "cga": 0.3,
}


@every_algorithm
def test_heterogeneous_least_squares_on_a_complete_graph_settles_near_the_common_optimum(
    name: str,
) -> None:
    """Agents whose own optima differ, no noise, no clipping."""
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(4, B, 3, generator=draw, dtype=torch.float64)
    own = torch.randn(4, 3, 1, generator=draw, dtype=torch.float64)
    y = x @ own
    optimum = torch.linalg.lstsq(x.flatten(0, 1), y.flatten(0, 1)).solution.flatten()
    apart = float((own.squeeze(-1) - optimum).norm(dim=1).mean())
    net, chosen = Net(graphs.complete(4)), algorithm(name, lr=0.02)
    batches = [Batch(x[k], y[k], torch.arange(B)) for k in range(4)]

    def fit(row: Tensor) -> float:
        return float(torch.exp(-(x.flatten(0, 1) @ row - y.flatten()).square().mean()))

    grad = gradient(Line(), clip=Unclipped(), check=fit)
    state = chosen.init(torch.zeros(4, 3, dtype=torch.float64))
    first = float((state["x"] - optimum).norm(dim=1).mean())
    for t in range(1, 401):
        state, _ = chosen.round(state, batches, net, grad, t)
        if t == 40:
            assert float((state["x"] - optimum).norm(dim=1).mean()) < first
    assert (
        float((state["x"] - optimum).norm(dim=1).mean())
        < BIAS.get(name, MOST_BIAS) * apart
    )
