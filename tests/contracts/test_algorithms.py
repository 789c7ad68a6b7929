"""What every algorithm must satisfy; a new one is covered as soon as it has a name."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from dpdl import graph as graphs
from dpdl.algorithms import NAMES, State
from dpdl.graph import Graph
from dpdl.net import Leaving, Net
from dpdl.privacy.clipping import Clip, PerSample, Unclipped
from dpdl.privacy.mechanism import PrivateGradient
from dpdl.privacy.noise import Reproducible
from dpdl.run.experiment import Experiment
from dpdl.run.planner import make_algorithm
from dpdl.tasks.task import Task
from dpdl.transport import Alone
from dpdl.transport.threads import run_threads
from dpdl.types import Batch
from tests.conftest import small_batch, small_module

every_algorithm = pytest.mark.parametrize("name", sorted(NAMES))

B, C = 6, 0.7
SMALL = Task(small_module(), dtype=torch.float64)  # once: modules draw their weights from a global generator


def algorithm(name: str, **options):
    return make_algorithm(Experiment(algorithm=name, dataset="digits", graph="complete", **options).resolved())


def gradient(task: Task, sigma: float = 0.0, clip: Clip | None = None) -> PrivateGradient:
    return PrivateGradient(task, clip or PerSample(C, B), sigma, B, Reproducible(4))


def play(
    name: str, graph: Graph, batches: list[Batch], rounds: int, transport=None, sigma: float = 0.0, seen=()
) -> State:
    """Some rounds with the same batches every time."""
    task = SMALL
    net = Net(graph, transport or Alone(), seen)
    chosen = algorithm(name, lr=0.1)
    state = chosen.init(task.initial.repeat(len(net.agents), 1))
    here = [batches[int(a)] for a in net.agents]
    for t in range(1, rounds + 1):
        state, info = chosen.round(state, here, net, gradient(task, sigma), t)
        assert {"train_loss", "broken_gradients"} <= set(info.values)
        assert all(value.shape == (len(net.agents),) for value in info.values.values())
    return {key: rows for key, rows in ((key, net.collect(rows)) for key, rows in state.items()) if rows is not None}


@every_algorithm
@pytest.mark.parametrize("processes", [2, 3, 6])
def test_numbers_are_the_same_on_any_placement(name: str, processes: int) -> None:
    graph = graphs.build("erdos-renyi:0.5", 6, "sinkhorn", 1)
    batches = [small_batch(3 + k, k) for k in range(6)]
    alone = play(name, graph, batches, 3, sigma=1.0)
    found: list[State] = []

    def work(transport) -> None:
        state = play(name, graph, batches, 3, transport, sigma=1.0)
        if transport.rank == 0:
            found.append(state)

    run_threads(processes, work)
    assert all(torch.equal(found[0][key], alone[key]) for key in alone)


@every_algorithm
def test_relabelling_the_agents_relabels_the_result(name: str) -> None:
    graph = graphs.build("star", 5, "sinkhorn", 2)
    order = torch.tensor([3, 0, 4, 1, 2])
    batches = [small_batch(3 + k, k) for k in range(5)]
    relabelled = Graph(graph.W[order][:, order])
    plain = play(name, graph, batches, 3)
    moved = play(name, relabelled, [batches[int(k)] for k in order], 3)
    assert all((moved[key] - plain[key][order]).abs().max() < 1e-12 for key in plain)
    assert (plain["x"] - plain["x"][order]).abs().max() > 1e-6


@every_algorithm
def test_one_record_moves_every_answer_by_at_most_the_declared_sensitivity(name: str) -> None:
    """Noise off, drop one record of agent 2: what left in the first round before anybody could react to it."""

    def gradients(batches: list[Batch]) -> dict[tuple[int, int], Tensor]:
        seen: list[Leaving] = []
        play(name, graphs.ring(5), batches, 1, seen=[seen.append])
        return {
            tuple(edge): leaving.rows[at].clone()
            for leaving in seen
            if leaving.channel == "gradient"
            for edge, at in zip(leaving.edges.tolist(), leaving.at.tolist(), strict=True)
        }

    whole = [small_batch(4, k) for k in range(5)]
    less = [*whole[:2], Batch(*(part[1:] for part in whole[2])), *whole[3:]]
    before, after = gradients(whole), gradients(less)
    bound = PerSample(C, B).sensitivity
    moved = {edge: float((before[edge] - after[edge]).norm()) for edge in before}
    assert all(distance == 0 for (source, _), distance in moved.items() if source != 2)
    assert all(0 < distance <= bound * (1 + 1e-9) for (source, _), distance in moved.items() if source == 2)


@every_algorithm
def test_state_stays_finite_with_empty_batches_and_heavy_noise(name: str) -> None:
    state = play(name, graphs.ring(4), [small_batch(k % 2, k) for k in range(4)], 5, sigma=50.0)
    assert all(rows.isfinite().all() for rows in state.values())


class Line(nn.Linear):
    def __init__(self) -> None:
        super().__init__(3, 1, bias=False)
        nn.init.zeros_(self.weight)


# How far from the common optimum an algorithm may settle, as a share of the distance of the agents' own optima from it.
# DPDL weighs an agent's own gradient by its similarity to the others, so agents that differ more count more: a bias.
BIAS = {"dpdl": 0.05, "dpdl-sound": 0.05}


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
    state = chosen.init(task.initial.repeat(4, 1))
    first = float((state["x"] - optimum).norm(dim=1).mean())
    for t in range(1, 401):
        state, _ = chosen.round(state, batches, net, gradient(task, clip=Unclipped(B)), t)
        if t == 20:
            assert float((state["x"] - optimum).norm(dim=1).mean()) < first
    assert float((state["x"] - optimum).norm(dim=1).mean()) < BIAS[name] * apart
