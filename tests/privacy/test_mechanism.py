from __future__ import annotations

import pytest
import torch

from dpdl import graph as graphs
from dpdl.net import Net
from dpdl.privacy.clipping import Clipped, PerSample
from dpdl.privacy.mechanism import PrivateGradient
from dpdl.privacy.noise import Reproducible
from dpdl.rows import first_equal
from dpdl.tasks.task import Task
from tests.conftest import small_batch, small_module


class Counting:
    """A clip rule that counts how often it is asked."""

    clip_norm, sensitivity = 1.0, 0.25

    def __init__(self) -> None:
        self.calls = 0
        self._rule = PerSample(1.0, 4)

    def __call__(self, model, row, batch) -> Clipped:
        self.calls += 1
        return self._rule(model, row, batch)


@pytest.fixture(scope="module")
def task() -> Task:
    return Task(small_module(), dtype=torch.float64)


def answers(task: Task, net: Net, x: torch.Tensor, sigma: float, clip=None, t: int = 1):
    batches = [small_batch(3 + k, k) for k in range(len(net.agents))]
    grad = PrivateGradient(task, clip or PerSample(1.0, 4), sigma, 4, Reproducible(2))
    return grad, grad.answers(net.send("model", x), batches, net.visits, t), batches


def test_every_answer_is_the_clipped_gradient_of_its_model_on_its_owners_batch(task: Task) -> None:
    net = Net(graphs.ring(4))
    x = torch.randn(4, task.size, dtype=torch.float64)
    grad, found, batches = answers(task, net, x, 0.0)
    for k, (i, j) in enumerate(net.visits.edges.tolist()):
        expected = grad.clip(task, x[i], batches[j]).gradient
        assert torch.equal(found.private[k], expected)
        if i == j:
            assert torch.equal(found.own[j], expected)


def test_noise_that_leaves_has_the_declared_deviation_on_every_edge_and_spares_the_own_gradient(task: Task) -> None:
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


def test_rounds_have_different_noise(task: Task) -> None:
    net, x = Net(graphs.ring(3)), task.initial.repeat(3, 1)
    first, second = (answers(task, net, x, 1.0, t=t)[1].private for t in (1, 2))
    assert not torch.isclose(first, second).any()


def test_equal_models_are_answered_by_one_gradient_and_exactly(task: Task) -> None:
    net = Net(graphs.complete(5))
    same = task.initial.repeat(5, 1)
    counting = Counting()
    _, grouped, _ = answers(task, net, same, 1.0, counting)
    assert counting.calls == 5
    nearly = same.clone()
    nearly[3, -1] = torch.nextafter(nearly[3, -1], torch.tensor(9.0, dtype=torch.float64))
    counting = Counting()
    answers(task, net, nearly, 1.0, counting)
    assert counting.calls == 10
    for k, (i, j) in enumerate(net.visits.edges.tolist()):
        alone = PrivateGradient(task, PerSample(1.0, 4), 1.0, 4, Reproducible(2))
        expected = alone.clip(task, same[i], small_batch(3 + j, j)).gradient.clone()
        alone.randomness.perturb(expected, alone.std, "noise", 1, i, j)
        assert torch.equal(grouped.private[k], expected)


def test_first_equal_tells_rows_apart_that_agree_at_the_beginning() -> None:
    rows = torch.zeros(4, 40)
    rows[1, 39] = 1
    rows[3, 39] = 1
    assert first_equal(rows) == [0, 1, 0, 1]
