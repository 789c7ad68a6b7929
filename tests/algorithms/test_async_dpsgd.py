from __future__ import annotations

import json
import math
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

import dpdl
from dpdl import graph as graphs
from dpdl.algorithms.async_dpsgd import AsyncDPSGD, average_of_pair
from dpdl.algorithms.disclosure import BLOCK, Activated
from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.folder.ledger import recompute
from dpdl.graph.matrix import Graph, pair
from dpdl.keys import generator
from dpdl.net import Leaving, Net
from dpdl.privacy.accounting import Step, epsilon
from dpdl.privacy.clip import PerSample, Unclipped
from dpdl.privacy.gradient import PrivateGradient
from dpdl.privacy.noise import Reproducible
from dpdl.privacy.threats import EAVESDROPPER
from dpdl.tasks.task import Task
from dpdl.training.instruments import gathered
from dpdl.transport import Post
from dpdl.types import Batch
from tests.conftest import small_batch, small_module
from tests.mechanisms import private_gradient
from tests.places import on_threads
from tests.reference.async_dpsgd import Reference

C, SIGMA, B = 0.6, 1.3, 6
SMALL = Task(small_module(), dtype=torch.float64)


def batches_of(agents: int, t: int, seed: int) -> list[Batch]:
    return [
        small_batch(size=(3 + t + j) % 9, seed=1000 * seed + 10 * t + j)
        for j in range(agents)
    ]


def gradient(seed: int = 0, sigma: float = SIGMA, clip=None) -> PrivateGradient:
    return private_gradient(SMALL, clip or PerSample(C), sigma, B, Reproducible(seed))


def play(
    algorithm: AsyncDPSGD, net: Net, ticks: int, grad: PrivateGradient, batches=None
) -> list[Tensor]:
    """The models after every tick."""
    state, after = algorithm.init(SMALL.initial.repeat(len(net.agents), 1)), []
    for t in range(1, ticks + 1):
        all_batches = batches(t) if batches else batches_of(net.N, t, algorithm.seed)
        state, _ = algorithm.round(
            state, [all_batches[int(a)] for a in net.agents], net, grad, t
        )
        after.append(state["x"])
    return after


# ------------------------------------------------------------- the update
@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("name", ["ring", "complete", "star", "erdos-renyi:0.5"])
def test_product_equals_the_plain_loop(name: str, seed: int) -> None:
    graph = graphs.build(name, 6, "sinkhorn", seed)

    def noise(t: int, i: int, length: int) -> Tensor:
        return torch.from_numpy(
            generator(seed, "noise", t, i, i).standard_normal(length)
        )

    def eta(t: int) -> float:
        return 0.1 if t <= 5 else 0.05

    algorithm = AsyncDPSGD(0.1, seed, lr_decay=0.5, lr_decay_every=5, weight_decay=0.05)
    reference = Reference(6, small_module(), eta, 0.05, C, SIGMA, B, noise)
    reference.start(SMALL.initial)
    for t in range(1, 11):
        a, b = algorithm.meeting(graph, t)
        reference.tick(
            t,
            a,
            b,
            [(x, y) for x, y, _ in zip(*batches_of(6, t, seed)[a], strict=True)],
        )
    found = play(algorithm, Net(graph), 10, gradient(seed))[-1]
    assert (found - torch.stack(reference.x)).abs().max() < 1e-10
    assert found.std(dim=0).max() > 1e-3


@pytest.mark.parametrize("processes", [2, 3, 6])
def test_numbers_are_the_same_on_any_placement(processes: int) -> None:
    graph, algorithm = (
        graphs.build("erdos-renyi:0.5", 6, "sinkhorn", 1),
        AsyncDPSGD(0.1, 4),
    )
    alone = play(algorithm, Net(graph), 8, gradient(2))

    def work(post: Post) -> list[Tensor | None]:
        net = Net(graph, post)
        played = play(algorithm, net, 8, gradient(2))
        return [gathered(post, net.place, rows) for rows in played]

    found = on_threads(processes, work)[0]
    assert all(torch.equal(a, b) for a, b in zip(found, alone, strict=True))


def test_only_the_active_agent_steps_and_the_mean_moves_by_its_step_alone() -> None:
    graph, algorithm, grad = (
        graphs.build("star", 5, "sinkhorn", 2),
        AsyncDPSGD(0.2, 3),
        gradient(1),
    )
    before = SMALL.initial.repeat(5, 1)
    for t, after in enumerate(play(algorithm, Net(graph), 12, grad), 1):
        a, b = algorithm.meeting(graph, t)
        g = grad.own(before, batches_of(5, t, 3), Net(graph).selves, t).private[a]
        assert (after.mean(0) - (before.mean(0) - 0.2 * g / 5)).abs().max() < 1e-14
        assert (after[a] - (after[b] - 0.2 * g)).abs().max() < 1e-14
        idle = [i for i in range(5) if i not in (a, b)]
        assert torch.equal(after[idle], before[idle])
        before = after


def test_an_agent_without_neighbours_works_alone() -> None:
    seen: list[Leaving] = []
    algorithm, grad = AsyncDPSGD(0.2, 0), gradient()
    net = Net(graphs.complete(1), observers=[seen.append])
    assert algorithm.meeting(net.graph, 1) == (0, None)
    (after,) = play(algorithm, net, 1, grad)
    x = SMALL.initial[None]
    expected = x - 0.2 * grad.own(x, batches_of(1, 1, 0), net.selves, 1).private
    assert (after - expected).abs().max() < 1e-14
    assert not any(len(leaving.edges) for leaving in seen)


def test_info_knows_the_loss_of_the_active_agent_only() -> None:
    graph, algorithm = graphs.ring(4), AsyncDPSGD(0.1, 0)
    a, _ = algorithm.meeting(graph, 1)
    batches = [small_batch(4, k) for k in range(4)]
    state = algorithm.init(SMALL.initial.repeat(4, 1))
    _, info = algorithm.round(state, batches, Net(graph), gradient(), 1)
    for i in range(4):
        assert math.isnan(info.values["train_loss"][i]) == (i != a)
    loss = torch.nn.functional.cross_entropy(
        SMALL.outputs(SMALL.initial, batches[a].x), batches[a].y
    )
    assert float(info.values["train_loss"][a]) == pytest.approx(float(loss))
    assert info.values["broken_gradients"].tolist() == [0, 0, 0, 0]
    bad = batches[a]._replace(x=batches[a].x * torch.nan)
    _, info = algorithm.round(state, [bad] * 4, Net(graph), gradient(), 1)
    assert info.values["broken_gradients"].tolist() == [
        4.0 * (i == a) for i in range(4)
    ]


# ------------------------------------------------------------- who is active
def test_agents_and_partners_are_drawn_evenly() -> None:
    graph, algorithm = graphs.star(5), AsyncDPSGD(0.1, 1)
    met = Counter(algorithm.meeting(graph, t) for t in range(1, 4001))
    active = Counter(
        {a: sum(n for (i, _), n in met.items() if i == a) for a in range(5)}
    )
    assert all(abs(active[a] - 800) < 5 * math.sqrt(4000 * 0.2 * 0.8) for a in range(5))
    assert set(met) == {(0, j) for j in range(1, 5)} | {(j, 0) for j in range(1, 5)}
    assert all(
        abs(met[0, j] - active[0] / 4) < 5 * math.sqrt(active[0] * 0.25 * 0.75)
        for j in range(1, 5)
    )


def test_rounds_counts_the_ticks_in_which_an_agent_is_active() -> None:
    graph, disclosure = graphs.ring(6), Activated(9)
    counts = Counter()
    for t in range(1, 2 * BLOCK + 20):
        a, _ = AsyncDPSGD(0.1, 9).meeting(graph, t)
        counts[a] += 1
        assert [i for i in range(6) if disclosure.active(graph, i, t)] == [a]
        if t in (1, 5, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 19):
            assert [disclosure.rounds(graph, i, t) for i in range(6)] == [
                counts[i] for i in range(6)
            ]
    assert disclosure.rounds(graph, 0, 0) == 0
    assert [disclosure.exposure(graph, i, EAVESDROPPER) for i in range(6)] == [1.0] * 6
    assert not disclosure.adaptive and not disclosure.sized
    assert AsyncDPSGD(0.1, 9).disclosure == disclosure


def test_another_seed_is_another_order() -> None:
    graph = graphs.ring(6)
    one, other = (
        [Activated(seed).agent(graph, t) for t in range(1, 41)] for seed in (0, 1)
    )
    assert one != other


# ------------------------------------------------------------- what leaves
def leaving_of(
    batches, ticks: int, sigma: float = 0.0
) -> list[tuple[str, list[list[int]], Tensor]]:
    seen: list[tuple[str, list[list[int]], Tensor]] = []

    def observe(leaving: Leaving) -> None:
        seen.append(
            (leaving.channel, leaving.edges.tolist(), leaving.rows[leaving.at].clone())
        )

    play(
        AsyncDPSGD(0.3, 2),
        Net(graphs.ring(5), observers=[observe]),
        ticks,
        gradient(sigma=sigma),
        batches,
    )
    return seen


def test_two_models_leave_in_a_tick_those_of_the_pair() -> None:
    graph, algorithm = graphs.ring(5), AsyncDPSGD(0.3, 2)
    for t, (channel, edges, _) in enumerate(leaving_of(None, 20), 1):
        a, b = algorithm.meeting(graph, t)
        assert channel == "model"
        assert sorted(edges) == sorted([[a, b], [b, a]])


def test_a_record_of_an_idle_agent_matters_to_nobody_and_one_of_the_active_agent_by_the_declared_sensitivity() -> (
    None
):
    """Noise off; one record is missing in one tick."""
    whole = [small_batch(4, k) for k in range(5)]
    active, _ = AsyncDPSGD(0.3, 2).meeting(graphs.ring(5), 4)
    before = leaving_of(lambda t: whole, 12)
    bound = AsyncDPSGD(0.3, 2).releases(gradient())[0].sensitivity
    assert bound == pytest.approx(0.3 * C / B)
    for agent in range(5):
        less = [
            Batch(*(part[1:] for part in b)) if i == agent else b
            for i, b in enumerate(whole)
        ]
        after = leaving_of(lambda t, less=less: less if t == 4 else whole, 12)
        moved = [
            max((x - y).norm(dim=1).tolist())
            for (_, _, x), (_, _, y) in zip(before, after, strict=True)
        ]
        assert not any(moved[:4])
        if agent == active:
            assert (
                0
                < next(distance for distance in moved if distance)
                <= bound * (1 + 1e-9)
            )
        else:
            assert not any(moved)


def test_without_clipping_no_sensitivity_is_declared() -> None:
    (release,) = AsyncDPSGD(0.3, 2).releases(gradient(clip=Unclipped()))
    assert release.private
    assert release.sensitivity is None
    assert release.noise_multiplier == SIGMA


# ------------------------------------------------------------- the graph of a moment
def test_a_pair_is_what_graph_would_make_of_its_matrix() -> None:
    moment = pair(2, 1, 0)
    checked = Graph(np.full((2, 2), 0.5))
    assert np.array_equal(moment.W, checked.W)
    assert np.array_equal(moment.edges, checked.edges)
    for a, b in ((4, 1), (0, 5), (2, None), (3, 3)):
        moment = pair(6, a, b)
        j, i = np.nonzero(moment.W.T)
        assert np.array_equal(moment.edges, np.stack([i, j], axis=1))
        assert np.array_equal(moment.W, moment.W.T)
        assert np.array_equal(moment.W.sum(axis=1), np.ones(6))
        assert moment.edge_count == (0 if b in (None, a) else 1)
        with pytest.raises(InputError, match="not connected"):
            Graph(moment.W)
    with pytest.raises(InputError, match="no agent 6"):
        pair(6, 1, 6)


def test_a_net_on_another_graph_keeps_observers_and_moves_rows_on_its_edges_only() -> (
    None
):
    seen: list[Leaving] = []
    net = Net(graphs.ring(6), observers=[seen.append])
    x = torch.randn(6, 3, dtype=torch.float64)
    moment = net.on(pair(6, 5, 2))
    assert torch.equal(average_of_pair(moment, x), moment.mix("x", x))
    assert (moment.mix("x", x).mean(0) - x.mean(0)).abs().max() < 1e-15
    assert [sorted(leaving.edges.tolist()) for leaving in seen] == [
        [[2, 5], [5, 2]]
    ] * 3
    path = graphs.path(6)
    assert torch.equal(net.on(path).mix("x", x), Net(path).mix("x", x))
    with pytest.raises(InputError, match="same 6 agents, not 5"):
        net.on(graphs.ring(5))


def test_a_tick_of_a_hundred_agents_is_cheap() -> None:
    """The pair, its net and its exchange; the gradient is the agent's own business."""
    net, algorithm = Net(graphs.ring(100)), AsyncDPSGD(0.1, 0)
    x = torch.zeros(100, 1000)
    seconds = []
    for t in range(1, 31):
        began = time.thread_time()  # on a busy machine too
        average_of_pair(net.on(pair(100, *algorithm.meeting(net.graph, t))), x)
        seconds.append(time.thread_time() - began)
    assert sorted(seconds)[5] < 0.005


# ------------------------------------------------------------- a whole run
def test_a_run_learns_and_its_ledger_gives_the_reported_epsilon(
    blobs, tmp_path: Path
) -> None:
    e = Experiment(
        dataset="digits", agents=5, algorithm="async-dpsgd", rounds=60, lr=0.5, sigma=1.0, clip=1.0, batch=20,
        eval_every=60, dtype="float64",
    )  # fmt: skip
    options = {"data": blobs, "model": small_module()}
    result = dpdl.train(e, **options, out=tmp_path / "run")
    first, last = result.metrics[0], result.metrics[-1]
    assert last["accuracy"]["average_model"] > first["accuracy"]["average_model"] + 0.2
    ledger = tmp_path / "run" / "ledger.jsonl"
    paid = [json.loads(line)["agents"] for line in ledger.read_text().splitlines()[1:]]
    disclosure = Activated(0)
    assert paid == [[disclosure.agent(result.plan.graph, t)] for t in range(1, 61)]
    reported = {
        k: v for k, v in result.summary["epsilon"].items() if k != "claimed_theorem1"
    }
    assert recompute(ledger) == pytest.approx(reported, rel=1e-12)
    question, sizes = result.plan.privacy, result.plan.privacy.records
    counts = [disclosure.rounds(result.plan.graph, i, 60) for i in range(5)]
    spent = [
        epsilon([(Step(1.0, 20, n), k)], e.delta)
        for n, k in zip(sizes, counts, strict=True)
    ]
    assert [
        question.with_noise(1.0).epsilon(i, EAVESDROPPER) for i in range(5)
    ] == spent
    assert (
        reported["eavesdropper"]
        == max(spent)
        < epsilon([(Step(1.0, 20, min(sizes)), 60)], e.delta)
    )
    assert result.summary["bytes_sent"] == 60 * 2 * 8 * result.plan.task.size
    elsewhere = dpdl.train(e, **options, placement="threads:3")
    assert torch.equal(elsewhere.models, result.models)
