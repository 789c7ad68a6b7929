from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch import Tensor

from dpdl import graph as graphs
from dpdl.algorithms import State
from dpdl.algorithms.disclosure import CrossGradients
from dpdl.algorithms.pdsl import PDSL, shapley, shares
from dpdl.errors import InputError
from dpdl.graph import Graph
from dpdl.keys import generator
from dpdl.net import Net
from dpdl.privacy.clip import PerSample
from dpdl.privacy.gradient import PrivateGradient
from dpdl.privacy.noise import Reproducible
from dpdl.tasks.task import Task
from dpdl.training.instruments import gathered
from dpdl.transport import Post
from dpdl.types import Batch
from tests.conftest import small_batch, small_module
from tests.mechanisms import private_gradient
from tests.places import on_threads
from tests.reference.pdsl import Reference, exact_shapley

C, SIGMA, B = 0.6, 1.3, 6
SMALL = Task(small_module(), dtype=torch.float64)
PUBLIC = small_batch(40, 99)


def accuracy(row: Tensor) -> float:
    return float((SMALL.outputs(row, PUBLIC.x).argmax(1) == PUBLIC.y).double().mean())


def batches_of(agents: int, t: int, seed: int) -> list[Batch]:
    return [
        small_batch(size=(3 + t + j) % 9, seed=1000 * seed + 10 * t + j)
        for j in range(agents)
    ]


def gradient(seed: int = 0, sigma: float = SIGMA, validate=accuracy) -> PrivateGradient:
    return private_gradient(
        SMALL, PerSample(C), sigma, B, Reproducible(seed), validate=validate
    )


def pdsl(
    seed: int = 0,
    permutations: int = 6,
    lr: float = 0.8,
    momentum: float = 0.7,
    **options,
) -> PDSL:
    return PDSL(lr, momentum, permutations, 40, seed, **options)


def play(algorithm: PDSL, net: Net, rounds: int, seed: int) -> dict[str, Tensor]:
    state = algorithm.init(SMALL.initial.repeat(len(net.agents), 1))
    for t in range(1, rounds + 1):
        batches = batches_of(net.N, t, seed)
        state, _ = algorithm.round(
            state, [batches[int(a)] for a in net.agents], net, gradient(seed), t
        )
    return dict(state)


# ------------------------------------------------------------- Shapley values
def game(players: int, seed: int):
    """Values of all coalitions, drawn; the empty one is worth something too."""
    draw = generator(seed, "game")
    coalitions = [
        frozenset(S)
        for k in range(players + 1)
        for S in itertools.combinations(range(players), k)
    ]
    worth = {S: float(draw.normal()) for S in coalitions}
    return lambda S: worth[frozenset(S)]


@pytest.mark.parametrize("players", [1, 2, 3, 4, 5])
def test_all_orders_give_the_shapley_values(players: int) -> None:
    value = game(players, players)
    found = shapley(players, value, list(itertools.permutations(range(players))))
    assert found == pytest.approx(exact_shapley(players, value), abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_values_sum_to_what_all_add_to_nobody_for_any_orders(seed: int) -> None:
    value = game(5, seed)
    orders = pdsl(seed, permutations=3).orders(5, 2, 1)
    assert len(orders) == 3
    assert sum(shapley(5, value, orders)) == pytest.approx(
        value(range(5)) - value(()), abs=1e-12
    )


def test_many_orders_come_near_the_shapley_values() -> None:
    value = game(6, 1)
    drawn = pdsl(permutations=719).orders(6, 0, 1)
    exact = exact_shapley(6, value)
    assert (
        max(abs(a - b) for a, b in zip(shapley(6, value, drawn), exact, strict=True))
        < 0.2
    )
    assert shapley(6, value, drawn) != pytest.approx(exact, abs=1e-6)


def test_a_coalition_is_evaluated_once() -> None:
    asked: list[frozenset[int]] = []

    def value(S: frozenset[int]) -> float:
        asked.append(S)
        return float(len(S))

    assert shapley(4, value, list(itertools.permutations(range(4)))) == pytest.approx(
        [1.0] * 4
    )
    assert len(asked) == len(set(asked)) == 16


def test_orders_are_all_when_they_are_few_and_public_draws_of_their_own_otherwise() -> (
    None
):
    assert sorted(pdsl(permutations=6).orders(3, 0, 1)) == sorted(
        itertools.permutations(range(3))
    )
    few = pdsl(permutations=5)
    assert all(sorted(order) == [0, 1, 2] for order in few.orders(3, 0, 1))
    long = pdsl(permutations=8)
    by_address = {
        tuple(long.orders(6, agent, t)) for agent in range(3) for t in (1, 2, 3)
    }
    assert len(by_address) == 9
    assert long.orders(6, 1, 2) == pdsl(permutations=8, lr=9.0).orders(6, 1, 2)


def test_shares_are_the_positive_values_over_their_sum_and_equal_without_any() -> None:
    assert shares([0.3, -0.2, 0.1]) == pytest.approx([0.75, 0.0, 0.25])
    assert shares([-0.1, 0.0]) == [0.5, 0.5]
    assert shares([1e-17, -0.3, 0.0, 0.0]) == [0.25] * 4  # rounding is no merit


# ------------------------------------------------------------- the update
@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("name", ["ring", "complete", "star", "erdos-renyi:0.5"])
def test_product_equals_the_plain_loop(name: str, seed: int) -> None:
    graph = graphs.build(name, 5, "sinkhorn", seed)

    def noise(t: int, i: int, j: int, length: int) -> Tensor:
        return torch.from_numpy(
            generator(seed, "noise", t, i, j).standard_normal(length)
        )

    def orders(t: int, i: int, players: int) -> list[tuple[int, ...]]:
        if math.factorial(players) <= 6:
            return list(itertools.permutations(range(players)))
        draw = generator(seed, "shapley", t, i)
        return [tuple(draw.permutation(players)) for _ in range(6)]

    def eta(t: int) -> float:
        return 0.8 if t <= 2 else 0.4

    public = list(zip(PUBLIC.x, PUBLIC.y, strict=True))
    reference = Reference(
        graph.W, small_module(), eta, 0.7, 0.05, C, SIGMA, B, noise, orders, public
    )
    reference.start(SMALL.initial)
    for t in range(1, 5):
        reference.round(
            t, [list(zip(b.x, b.y, strict=True)) for b in batches_of(5, t, seed)]
        )
    state = play(
        pdsl(seed, lr_decay=0.5, lr_decay_every=2, weight_decay=0.05),
        Net(graph),
        4,
        seed,
    )
    assert (state["x"] - torch.stack(reference.x)).abs().max() < 1e-10
    assert (state["v"] - torch.stack(reference.v)).abs().max() < 1e-10


def test_a_neighbour_whose_gradients_are_garbage_gets_less_weight() -> None:
    """Agent 2 answers with noise of twenty times the length; the others with gradients of the public records."""
    net, algorithm = Net(graphs.complete(5)), pdsl(permutations=60, lr=0.5)
    x = SMALL.initial.repeat(5, 1)
    good = PerSample(100.0).gradient(SMALL, SMALL.initial, PUBLIC, 40).gradient
    g = (
        good
        + 0.1
        * good.norm()
        * torch.randn(
            25,
            len(good),
            dtype=torch.float64,
            generator=torch.Generator().manual_seed(1),
        )
        / len(good) ** 0.5
    )
    bad = net.visits.edges[:, 1] == 2
    garbage = torch.randn(
        5, len(good), dtype=torch.float64, generator=torch.Generator().manual_seed(0)
    )
    g[bad] = 20 * good.norm() * garbage / len(good) ** 0.5
    weight = algorithm.contributions(x, g, net, gradient(), 1)
    assert weight[bad].max() < 0.5 / 5
    assert net.sum(weight[:, None], torch.ones(25)).flatten().tolist() == pytest.approx(
        [1.0] * 5
    )


def test_weights_are_equal_when_accuracy_says_nothing() -> None:
    net, algorithm = Net(graphs.star(5)), pdsl()
    g = torch.randn(len(net.i), len(SMALL.initial), dtype=torch.float64)
    weight = algorithm.contributions(
        SMALL.initial.repeat(5, 1), g, net, gradient(validate=lambda row: 0.5), 1
    )
    assert torch.equal(weight, 1 / net.i.bincount()[net.i].double())


@pytest.mark.parametrize("processes", [2, 5])
def test_numbers_are_the_same_on_any_placement(processes: int) -> None:
    graph: Graph = graphs.build("erdos-renyi:0.5", 5, "sinkhorn", 1)
    alone = play(pdsl(), Net(graph), 3, 1)

    def work(post: Post) -> State:
        net = Net(graph, post)
        state = play(pdsl(), net, 3, 1)
        return {key: gathered(post, net.place, rows) for key, rows in state.items()}

    found = on_threads(processes, work)[0]
    assert all(torch.equal(found[key], alone[key]) for key in alone)


# ------------------------------------------------------------- what it needs, what leaves
def test_public_records_are_needed() -> None:
    with pytest.raises(
        InputError,
        match=r"pdsl needs public validation records: give validation, e\.g\. --validation 500",
    ):
        PDSL(0.1, momentum=0.7, permutations=8, validation=0, seed=0)
    algorithm = pdsl()
    state = algorithm.init(SMALL.initial.repeat(3, 1))
    with pytest.raises(InputError, match="public validation records"):
        algorithm.round(
            state, batches_of(3, 1, 0), Net(graphs.ring(3)), gradient(validate=None), 1
        )


def test_a_record_reaches_others_only_through_the_declared_gradients() -> None:
    """Noise off; without a record of agent 2, its answers move by at most C / B, and no other answer moves."""
    sent = {}

    def observe(leaving) -> None:
        for edge, at in zip(leaving.edges.tolist(), leaving.at.tolist(), strict=True):
            sent[leaving.channel, *edge] = leaving.rows[at].clone()

    whole = [small_batch(4, k) for k in range(5)]
    less = [*whole[:2], Batch(*(part[1:] for part in whole[2])), *whole[3:]]
    algorithm, grad, found = pdsl(), gradient(sigma=0.0), []
    for batches in (whole, less):
        net = Net(graphs.ring(5), observers=[observe])
        algorithm.round(
            algorithm.init(SMALL.initial.repeat(5, 1)), batches, net, grad, 1
        )
        found.append(dict(sent))
    declared = {release.channel: release for release in algorithm.releases(grad)}
    assert {channel for channel, *_ in sent} == set(declared)
    assert [channel for channel, release in declared.items() if release.private] == [
        "gradient"
    ]
    for (channel, source, _), before in found[0].items():
        moved = float((before - found[1][channel, source, _]).norm())
        if channel == "gradient" and source == 2:
            assert 0 < moved <= declared["gradient"].sensitivity * (1 + 1e-9)
        elif channel != "momentum":
            assert moved == 0
    assert algorithm.disclosure == CrossGradients()


def test_info_tells_how_much_an_agent_trusts_itself() -> None:
    net, algorithm = Net(graphs.ring(4)), pdsl()
    state = algorithm.init(SMALL.initial.repeat(4, 1))
    _, info = algorithm.round(
        state, batches_of(4, 1, 0), net, gradient(validate=lambda row: 0.0), 1
    )
    assert info.values["own_weight"].tolist() == pytest.approx([1 / 3] * 4)
