from __future__ import annotations

import math
import weakref

import pytest
import torch

from dpdl import graph as graphs
from dpdl.algorithms.base import batch_info
from dpdl.graph import Graph
from dpdl.net import Leaving, Net
from dpdl.privacy.clip import PerSample
from dpdl.privacy.noise import Reproducible
from dpdl.rows import first_equal
from dpdl.tasks.task import Task
from tests.conftest import small_batch, small_module
from tests.mechanisms import private_gradient
from tests.models import Counting


@pytest.fixture(scope="module")
def task() -> Task:
    return Task(small_module(), dtype=torch.float64)


def answers(model, net: Net, x: torch.Tensor, sigma: float, t: int = 1):
    batches = [small_batch(3 + k, k) for k in range(len(net.agents))]
    grad = private_gradient(model, PerSample(1.0), sigma, 4, Reproducible(2))
    return grad, grad.answers(net.send("model", x), batches, net.visits, t), batches


def test_every_answer_is_the_clipped_gradient_of_its_model_on_its_owners_batch(
    task: Task,
) -> None:
    net = Net(graphs.ring(4))
    x = torch.randn(4, task.size, dtype=torch.float64)
    grad, found, batches = answers(task, net, x, 0.0)
    for k, (i, j) in enumerate(net.visits.edges.tolist()):
        expected = grad.mechanism.gradient(task, x[i], batches[j]).gradient
        assert torch.equal(found.private[k], expected)
        if i == j:
            assert torch.equal(found.own[j], expected)


def test_noise_that_leaves_has_the_declared_deviation_on_every_edge_and_spares_the_own_gradient(
    task: Task,
) -> None:
    net = Net(graphs.complete(4))
    x = torch.randn(4, task.size, dtype=torch.float64)
    _, quiet, _ = answers(task, net, x, 0.0)
    grad, loud, _ = answers(task, net, x, 3.0)
    assert grad.std == pytest.approx(3.0 * 1.0 / 4)
    noise = loud.private - quiet.private
    assert float(noise.std()) == pytest.approx(grad.std, rel=0.1)
    off_diagonal = torch.corrcoef(noise) - torch.eye(len(noise))
    assert off_diagonal.abs().max() < 0.6
    assert torch.equal(loud.own, quiet.own)


def test_the_length_of_an_own_gradient_is_measured_before_noise(task: Task) -> None:
    net = Net(graphs.ring(4))
    x = torch.randn(4, task.size, dtype=torch.float64)
    _, found, _ = answers(task, net, x, 2.0)
    pairs = zip(net.visits.edges.tolist(), found.about, strict=True)
    lengths = {i: about.length for (i, j), about in pairs if i == j}
    norms = found.own.norm(dim=1).tolist()
    assert [lengths[i] for i in range(4)] == pytest.approx(norms)
    others = [
        about.length
        for (i, j), about in zip(net.visits.edges.tolist(), found.about, strict=True)
        if i != j
    ]
    assert others
    assert all(map(math.isnan, others)), "of a neighbour's model nobody asks for it"


def test_rounds_have_different_noise(task: Task) -> None:
    net, x = Net(graphs.ring(3)), task.initial.repeat(3, 1)
    first, second = (answers(task, net, x, 1.0, t=t)[1].private for t in (1, 2))
    assert not torch.isclose(first, second).any()


def test_equal_models_are_answered_by_one_gradient_and_exactly(task: Task) -> None:
    net = Net(graphs.complete(5))
    same = task.initial.repeat(5, 1)
    counting = Counting(task)
    _, grouped, _ = answers(counting, net, same, 1.0)
    assert counting.calls == 5
    nearly = same.clone()
    nearly[3, -1] = torch.nextafter(
        nearly[3, -1], torch.tensor(9.0, dtype=torch.float64)
    )
    counting = Counting(task)
    answers(counting, net, nearly, 1.0)
    assert counting.calls == 10
    for k, (i, j) in enumerate(net.visits.edges.tolist()):
        alone = private_gradient(task, PerSample(1.0), 1.0, 4, Reproducible(2))
        own = small_batch(3 + j, j)
        expected = alone.mechanism.gradient(task, same[i], own).gradient.clone()
        alone.randomness.perturb(expected, alone.std, "noise", 1, i, j, into=expected)
        assert torch.equal(grouped.private[k], expected)


# ------------------------------------------------------------------ in parts
def asked_in_parts(model, net: Net, x: torch.Tensor):
    """What is asked, and a function that answers it asker by asker, in parts of some askers."""
    batches = [small_batch(3 + k, k) for k in range(len(net.agents))]
    grad = private_gradient(model, PerSample(1.0), 1.0, 4, Reproducible(2))
    asked = grad.asked(net.send("model", x), batches, net.visits, 1)

    def parts(askers: int):
        for first in range(0, net.N, askers):
            of = net.visits.edges[:, 0] // askers == first // askers
            yield of.nonzero().flatten()

    return asked, parts


def starts(task: Task, graph: Graph, kind: str) -> torch.Tensor:
    x = torch.randn(
        len(graph),
        task.size,
        dtype=torch.float64,
        generator=torch.Generator().manual_seed(1),
    )
    return {
        "equal": x[:1].repeat(len(graph), 1),
        "twins": x[torch.arange(len(graph)) % 3],
        "different": x,
    }[kind]


@pytest.mark.parametrize("askers", [1, 2, 4, 6])
@pytest.mark.parametrize("kind", ["equal", "twins", "different"])
@pytest.mark.parametrize("name", ["complete", "ring", "star"])
def test_parts_have_the_answers_of_the_whole(
    task: Task, name: str, kind: str, askers: int
) -> None:
    graph = graphs.build(name, 6, "metropolis", 0)
    net, x = Net(graph), starts(task, graph, kind)
    _, whole, _ = answers(task, net, x, 1.0)
    asked, parts = asked_in_parts(task, net, x)
    for numbers in parts(askers):
        found = asked.answers(numbers)
        assert torch.equal(found.private, whole.private[numbers])
        assert torch.equal(found.visits.edges, net.visits.edges[numbers])
        agents = [i for i, j in found.visits.edges.tolist() if i == j]
        assert torch.equal(found.own, whole.own[agents])
        assert [about[1:] for about in found.about] == [
            whole.about[k][1:] for k in numbers.tolist()
        ]
    infos = batch_info(asked, net), batch_info(whole, net)
    assert infos[0].keys() == infos[1].keys()
    assert all(torch.equal(infos[0][key], infos[1][key]) for key in infos[0])


@pytest.mark.parametrize("askers", [1, 2, 4])
def test_parts_need_no_more_gradients_than_the_whole(task: Task, askers: int) -> None:
    net = Net(graphs.complete(6))
    for kind, gradients in (("equal", 6), ("twins", 18), ("different", 36)):
        counting = Counting(task)
        asked, parts = asked_in_parts(counting, net, starts(task, net.graph, kind))
        for numbers in parts(askers):
            asked.answers(numbers)
        assert counting.calls == gradients


def test_a_gradient_is_forgotten_after_its_last_use(task: Task) -> None:
    given: list[weakref.ref] = []
    watched = Counting(task, lambda gradient: given.append(weakref.ref(gradient)))
    net = Net(graphs.ring(6))
    asked, parts = asked_in_parts(watched, net, starts(task, net.graph, "equal"))
    held = []
    for numbers in parts(1):
        asked.answers(numbers)
        held.append(sum(gradient() is not None for gradient in given))
    # Askers 0 to 5 in turn; a gradient of agent j waits for its neighbours j - 1 and j + 1 and for itself.
    assert held == [3, 4, 4, 4, 3, 0]


def test_a_visit_is_answered_once(task: Task) -> None:
    net = Net(graphs.ring(4))
    asked, _ = asked_in_parts(task, net, task.initial.repeat(4, 1))
    asked.answers(torch.tensor([0, 1, 2]))
    with pytest.raises(AssertionError, match="another release"):
        asked.answers(torch.tensor([2, 3]))


def test_memory_is_used_again_but_not_while_somebody_holds_it(task: Task) -> None:
    net = Net(graphs.complete(6))
    x = starts(task, net.graph, "different")
    _, whole, _ = answers(task, net, x, 1.0)
    asked, parts = asked_in_parts(task, net, x)
    places = {asked.answers(numbers).private.data_ptr() for numbers in parts(2)}
    assert len(places) == 1
    asked, parts = asked_in_parts(task, net, x)
    held = []
    for numbers in parts(2):
        held.append(
            (numbers, asked.answers(numbers).private[3])
        )  # a view of one row holds all of them
    assert len({row.data_ptr() for _, row in held}) == 3
    assert all(torch.equal(row, whole.private[numbers[3]]) for numbers, row in held)


def test_an_observer_may_keep_what_left(task: Task) -> None:
    seen: list[Leaving] = []
    net = Net(graphs.complete(5), observers=[seen.append], entries=1)
    x = starts(task, net.graph, "different")
    _, whole, _ = answers(task, net, x, 1.0)
    expected = {
        (j, i): row
        for (i, j), row in zip(net.visits.edges.tolist(), whole.private, strict=True)
    }
    asked, _ = asked_in_parts(task, net, x)
    seen.clear()

    def replied(part) -> dict[str, torch.Tensor]:
        return {
            "sum": part.sum(
                part.reply("gradient", asked.answers(part.numbers).private), part.w
            )
        }

    net.by_part(task.size, replied)
    assert len(seen) == 5
    for leaving in seen:
        for (source, target), at in zip(
            leaving.edges.tolist(), leaving.at.tolist(), strict=True
        ):
            assert torch.equal(leaving.rows[at], expected[source, target])


def test_first_equal_tells_rows_apart_that_agree_at_the_beginning() -> None:
    rows = torch.zeros(4, 40)
    rows[1, 39] = 1
    rows[3, 39] = 1
    assert first_equal(rows) == [0, 1, 0, 1]
