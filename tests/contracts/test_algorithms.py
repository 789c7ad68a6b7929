"""What every algorithm must satisfy; a new one is covered as soon as it has a name."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor, nn

from dpdl import graph as graphs
from dpdl.algorithms import NAMES, Algorithm, State
from dpdl.audit.view import Ears, Tap
from dpdl.graph import Graph
from dpdl.net import Leaving, Net, Observer
from dpdl.privacy.clipping import Clip, Clipped, PerSample, Unclipped
from dpdl.privacy.mechanism import PrivateGradient
from dpdl.privacy.noise import Reproducible
from dpdl.privacy.threats import EAVESDROPPER
from dpdl.run.experiment import Experiment
from dpdl.run.observe import Gate
from dpdl.run.planner import make_algorithm
from dpdl.run.view import gathered
from dpdl.tasks.task import Task
from dpdl.transport import Alone, Transport
from dpdl.transport.threads import run_threads
from dpdl.types import Batch
from tests.conftest import small_batch, small_module

MORE_NOISE = {"decor": math.sqrt(1 + 2 * 3.0**2)}
"""Beside the declared noise, that of the two links of an agent on a ring, each three times as large."""
every_algorithm = pytest.mark.parametrize("name", sorted(NAMES))
CROSS = ["cga", "dp-cga", "dpdl", "dpdl-sound", "ngm", "pdsl"]
"""Those that exchange gradients."""

B, C = 6, 0.7
ROUNDS = 60  # until even an algorithm that activates one agent a round has sent what agent 2 did
SMALL = Task(small_module(), dtype=torch.float64)  # once: modules draw their weights from a global generator
PUBLIC = small_batch(30, 77)
NEEDED = {
    "pdsl": {"validation": 30},
    # Declared is how far the step moves; a record also moves the ascent before it, which is a release of its own.
    "dfedsam": {"sam_radius": 1e-12},
}
# Their public draws are addressed by an agent's number, so other numbers mean other draws.
DRAWN_BY_NUMBER = {"pdsl", "async-dpsgd"}


def algorithm(name: str, graph: str = "complete", **options: object) -> Algorithm:
    words = {"algorithm": name, "dataset": "digits", "graph": graph, **NEEDED.get(name, {}), **options}
    return make_algorithm(Experiment(**words).resolved())


def validate(row: Tensor) -> float:
    return float((SMALL.outputs(row, PUBLIC.x).argmax(1) == PUBLIC.y).double().mean())


def gradient(task: Task = SMALL, sigma: float = 0.0, clip: Clip | None = None, check=validate) -> PrivateGradient:
    return PrivateGradient(task, clip or PerSample(C, B), sigma, B, Reproducible(4), validate=check)


def play(
    name: str,
    graph: Graph,
    batches: Callable[[int], list[Batch]] | list[Batch],
    rounds: int,
    transport: Transport | None = None,
    sigma: float = 0.0,
    seen: Sequence[Observer] = (),
) -> State:
    """Some rounds; what was not declared cannot leave. The states of all agents, on process 0."""
    chosen, grad = algorithm(name, lr=0.1), gradient(sigma=sigma)
    net = Net(graph, transport or Alone(), [Gate(chosen.releases(grad)), *seen])
    state = chosen.init(SMALL.initial.repeat(len(net.agents), 1))
    for t in range(1, rounds + 1):
        all_batches = batches(t) if callable(batches) else batches
        state, info = chosen.round(state, [all_batches[int(a)] for a in net.agents], net, grad, t)
        assert {"train_loss", "broken_gradients"} <= set(info.values)
        assert all(value.shape == (len(net.agents),) for value in info.values.values())
    found = {key: gathered(transport or Alone(), net.place, rows) for key, rows in state.items()}
    return {key: rows for key, rows in found.items() if rows is not None}


@every_algorithm
@pytest.mark.parametrize("processes", [2, 3, 6])
def test_numbers_are_the_same_on_any_placement(name: str, processes: int) -> None:
    graph = graphs.build("erdos-renyi:0.5", 6, "sinkhorn", 1)
    batches = [small_batch(3 + k, k) for k in range(6)]
    alone = play(name, graph, batches, 3, sigma=1.0)
    found: list[State] = []

    def work(transport: Transport) -> None:
        state = play(name, graph, batches, 3, transport, sigma=1.0)
        if transport.rank == 0:
            found.append(state)

    run_threads(processes, work)
    assert alone.keys() == found[0].keys()
    assert all(torch.equal(found[0][key], alone[key]) for key in alone)


def on(processes: int, work: Callable[[Transport], State]) -> State:
    """What process 0 of several gets."""
    found: dict[int, State] = {}

    def one(transport: Transport) -> None:
        found[transport.rank] = work(transport)

    run_threads(processes, one)
    return found[0]


@pytest.mark.parametrize("processes", [1, 2, 6])
@pytest.mark.parametrize("name", CROSS)
def test_numbers_are_the_same_in_parts_of_any_size(name: str, processes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One asking agent at a time, two or three, all."""
    graph = graphs.build("erdos-renyi:0.5", 6, "sinkhorn", 1)
    batches = [small_batch(3 + k, k) for k in range(6)]
    whole = play(name, graph, batches, 3, sigma=1.0)
    for entries in (1, 12 * SMALL.size, 10**9):
        monkeypatch.setattr("dpdl.net.ENTRIES", entries)
        sizes = Sizes()
        found = on(processes, lambda transport, s=sizes: play(name, graph, batches, 3, transport, 1.0, [s]))
        assert whole.keys() == found.keys()
        assert all(torch.equal(found[key], whole[key]) for key in whole)
        if name != "ngm" and processes == 1:
            assert len(sizes.answered) == 3 * {1: 6, 12 * SMALL.size: 3, 10**9: 1}[entries]
            assert all(rows * SMALL.size <= entries or askers == 1 for rows, askers in sizes.answered)


class Wide:
    """A model of three parameter tensors whose gradient somebody else computes."""

    fused, sizes = None, (4000, 3, 1000)


class Near:
    """A gradient that depends on the model and on the batch."""

    clip_norm, sensitivity = 1.0, 1.0

    def __call__(self, model, row: Tensor, batch: Batch) -> Clipped:
        return Clipped(0.3 * row + batch.x[0], 0.0, 1, 0, 1, 0)


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
def test_rows_of_float32_have_the_same_bits_everywhere(name: str, options: dict, monkeypatch) -> None:
    """Here the kernels multiply and add, on rows that begin at any address."""
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(5, 5003, generator=draw)
    batches = [Batch(torch.randn(1, 5003, generator=draw), torch.zeros(1), torch.zeros(1)) for _ in range(5)]
    graph = graphs.build("erdos-renyi:0.5", 5, "sinkhorn", 1)
    chosen = algorithm(name, lr=0.1, **options)

    def work(transport: Transport) -> State:
        grad = PrivateGradient(Wide(), Near(), 1.0, 1, Reproducible(4), validate=lambda row: float(row[7]))
        net = Net(graph, transport)
        state = chosen.init(x[net.agents])
        for t in (1, 2, 3):
            state, _ = chosen.round(state, [batches[int(a)] for a in net.agents], net, grad, t)
        return {key: gathered(transport, net.place, rows) for key, rows in state.items()}

    whole = work(Alone())
    assert whole["x"].dtype == torch.float32 and whole["x"].isfinite().all()
    for processes, entries in ((1, 1), (1, 50_000), (2, 10**9), (3, 1), (5, 1)):
        monkeypatch.setattr("dpdl.net.ENTRIES", entries)
        found = on(processes, work)
        assert all(torch.equal(found[key], whole[key]) for key in whole)


@pytest.mark.parametrize("name", CROSS)
def test_an_eavesdropper_hears_the_same_in_parts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, batches = graphs.star(5), [small_batch(3 + k, k) for k in range(5)]
    heard = []
    for entries in (10**9, 1):
        monkeypatch.setattr("dpdl.net.ENTRIES", entries)
        tap = Tap(Ears(EAVESDROPPER, graph, 2))
        play(name, graph, batches, 2, sigma=1.0, seen=[tap])
        heard.append(tap.take())
    whole, parts = heard
    assert {channel: set(rows) for channel, rows in whole.items()} == {k: set(rows) for k, rows in parts.items()}
    assert len(whole["gradient"]) == 8
    assert all(torch.equal(parts[channel][edge], row) for channel, rows in whole.items() for edge, row in rows.items())


class Sizes:
    """How many answers were in memory at a time, and for how many agents that asked."""

    def __init__(self) -> None:
        self.answered: list[tuple[int, int]] = []

    def __call__(self, leaving: Leaving) -> None:
        if leaving.channel == "gradient":
            self.answered.append((len(leaving.rows), len(set(leaving.edges[:, 1].tolist()))))


@pytest.mark.parametrize("entries", [1, 15 * SMALL.size, 10**9])
@pytest.mark.parametrize("name", CROSS)
def test_a_complete_graph_with_equal_weights_needs_one_gradient_per_agent(name: str, entries: int, monkeypatch) -> None:
    monkeypatch.setattr("dpdl.net.ENTRIES", entries)
    calls, rule = [], PerSample(C, B)

    class Counting:
        clip_norm, sensitivity = rule.clip_norm, rule.sensitivity

        def __call__(self, model, row, batch):
            calls.append(1)
            return rule(model, row, batch)

    chosen, grad, net = algorithm(name, lr=0.1), gradient(sigma=1.0, clip=Counting()), Net(graphs.complete(6))
    state = chosen.init(SMALL.initial.repeat(6, 1))
    batches = [small_batch(3 + k, k) for k in range(6)]
    for t in (1, 2, 3):
        state, _ = chosen.round(state, batches, net, grad, t)
        equal_models = len(set(map(bytes, state["x"].numpy()))) == 1
        if t == 1 or equal_models:
            assert len(calls) == 6 * t
    assert equal_models or name in {"ngm", "dp-cga", "cga"}  # their momenta stay with the agents


@pytest.mark.parametrize("name", sorted(set(NAMES) - DRAWN_BY_NUMBER))
def test_relabelling_the_agents_relabels_the_result(name: str) -> None:
    graph = graphs.build("star", 5, "sinkhorn", 2)
    order = torch.tensor([3, 0, 4, 1, 2])
    batches = [small_batch(3 + k, k) for k in range(5)]
    relabelled = Graph(graph.W[order][:, order])
    plain = play(name, graph, batches, 3)
    moved = play(name, relabelled, [batches[int(k)] for k in order], 3)
    assert (moved["x"] - plain["x"][order]).abs().max() < 1e-12
    assert (plain["x"] - plain["x"][order]).abs().max() > 1e-6


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
            return {i: float(max(d for (s, _), d in zip(edges, apart, strict=True) if s == i)) for i, _ in edges}
    return {}


def recorded(name: str, batches: Callable[[int], list[Batch]], sigma: float = 0.0) -> Recorder:
    recorder = Recorder()
    play(name, graphs.ring(5), batches, ROUNDS, sigma=sigma, seen=[recorder])
    return recorder


@every_algorithm
def test_one_record_moves_what_first_leaves_by_at_most_the_declared_sensitivity(name: str) -> None:
    """Noise off; one record of agent 2 is missing in one round: what left before anybody could react to it."""
    declared = {r.channel: r for r in algorithm(name, lr=0.1).releases(gradient()) if r.private}
    assert declared
    whole = [small_batch(4, k) for k in range(5)]
    less = [*whole[:2], Batch(*(part[1:] for part in whole[2])), *whole[3:]]
    t0 = next(t for t in range(1, ROUNDS) if algorithm(name).disclosure.active(graphs.ring(5), 2, t))
    before = recorded(name, lambda t: whole)
    after = recorded(name, lambda t: less if t == t0 else whole)
    for channel, release in declared.items():
        moved = first_difference(before, after, channel)
        assert release.sensitivity is not None
        assert 0 < moved.pop(2) <= release.sensitivity * (1 + 1e-9)
        assert not any(moved.values())


@every_algorithm
def test_the_noise_that_leaves_has_the_declared_deviation(name: str) -> None:
    """Empty batches: what leaves is noise alone, and the first of it comes from one release."""
    sigma = 3.0
    declared = {r.channel: r for r in algorithm(name, lr=0.1).releases(gradient(sigma=sigma)) if r.private}
    nothing = [small_batch(0, k) for k in range(5)]
    quiet, loud = recorded(name, lambda t: nothing), recorded(name, lambda t: nothing, sigma)
    for channel, release in declared.items():
        assert release.sensitivity is not None and release.noise_multiplier is not None
        apart = first_difference(quiet, loud, channel).values()
        noise = [distance / SMALL.initial.numel() ** 0.5 for distance in apart if distance]
        assert noise
        expected = release.sensitivity * release.noise_multiplier * MORE_NOISE.get(name, 1.0)
        assert all(0.8 * expected < deviation < 1.25 * expected for deviation in noise)


@every_algorithm
def test_state_stays_finite_with_empty_batches_and_heavy_noise(name: str) -> None:
    state = play(name, graphs.ring(4), [small_batch(k % 2, k) for k in range(4)], 5, sigma=50.0)
    assert all(rows.isfinite().all() for rows in state.values())


@every_algorithm
def test_an_agent_alone_learns_too(name: str) -> None:
    state = play(name, graphs.complete(1), [small_batch(5, 0)], 4)
    assert state["x"].isfinite().all()
    assert not torch.equal(state["x"][0], SMALL.initial)


class Line(nn.Linear):
    def __init__(self) -> None:
        super().__init__(3, 1, bias=False)
        nn.init.zeros_(self.weight)


# How far from the common optimum an algorithm may be after 400 rounds, as a share of the distance of the agents' own
# optima from it. Most have a bias, which shrinks with the step size; some have none.
USUAL_BIAS = 0.08
BIAS = {
    "gradient-tracking": 1e-3,
    "momentum-tracking": 1e-3,
    "dp-netfleet": 1e-3,
    "net-fleet": 1e-3,
    "dp-dmsgd": 1e-3,
    "dmsgd": 1e-3,  # on a complete graph all models are equal, and so it is momentum SGD on the mean
    "muffliato": 1e-3,  # likewise
    "async-dpsgd": 0.2,  # 100 gradients of every agent where others have taken 400
    # CGA bends gradients until they conflict with none, which ends elsewhere than at the optimum of the mean.
    "dp-cga": 0.3,
    "cga": 0.3,
}


@every_algorithm
def test_heterogeneous_least_squares_on_a_complete_graph_settles_near_the_common_optimum(name: str) -> None:
    """Agents whose own optima differ, no noise, no clipping."""
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(4, B, 3, generator=draw, dtype=torch.float64)
    own = torch.randn(4, 3, 1, generator=draw, dtype=torch.float64)
    y = x @ own
    optimum = torch.linalg.lstsq(x.flatten(0, 1), y.flatten(0, 1)).solution.flatten()
    apart = float((own.squeeze(-1) - optimum).norm(dim=1).mean())
    task = Task(Line(), loss=nn.functional.mse_loss, dtype=torch.float64)
    net, chosen = Net(graphs.complete(4)), algorithm(name, lr=0.02)
    batches = [Batch(x[k], y[k], torch.arange(B)) for k in range(4)]

    def fit(row: Tensor) -> float:
        return float(torch.exp(-(x.flatten(0, 1) @ row - y.flatten()).square().mean()))

    grad = gradient(task, clip=Unclipped(B), check=fit)
    state = chosen.init(task.initial.repeat(4, 1))
    first = float((state["x"] - optimum).norm(dim=1).mean())
    for t in range(1, 401):
        state, _ = chosen.round(state, batches, net, grad, t)
        if t == 40:
            assert float((state["x"] - optimum).norm(dim=1).mean()) < first
    assert float((state["x"] - optimum).norm(dim=1).mean()) < BIAS.get(name, USUAL_BIAS) * apart
