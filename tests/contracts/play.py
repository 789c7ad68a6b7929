"""The small world of the contracts: every algorithm by name, on one model, with noise of a known seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from dpdl.algorithms import NAMES, Algorithm, State
from dpdl.experiment.experiment import Experiment
from dpdl.experiment.options import has
from dpdl.graph import Graph
from dpdl.net import Gate, Net, Observer
from dpdl.net.net import ENTRIES
from dpdl.planning.build import make_algorithm
from dpdl.privacy.clip import Clip, PerSample
from dpdl.privacy.gradient import PrivateGradient
from dpdl.privacy.noise import Reproducible
from dpdl.tasks.task import Task
from dpdl.training.instruments import gathered
from dpdl.transport import Post
from dpdl.types import Batch, Model
from tests.conftest import small_batch, small_module
from tests.mechanisms import private_gradient
from tests.places import alone

CROSS = sorted(name for name, one in NAMES.items() if one.kind.answers_neighbours)
"""Those that exchange gradients."""
B, C = 6, 0.7
SMALL = Task(small_module(), dtype=torch.float64)
"""Made once: modules draw their weights from a global generator."""
PUBLIC = small_batch(30, 77)


def needed(name: str) -> dict[str, object]:
    """Options without which an algorithm is no example."""
    found = dict(NAMES[name].kind.example)
    if has(name, "sam_radius"):
        # Declared is how far the step moves; a record also moves the ascent before it, which is a
        # release of its own.
        found["sam_radius"] = 1e-12
    if has(name, "signs"):
        # A sign jumps: only what is sent as it is moves as far as a record does.
        found["signs"] = False
    return found


def algorithm(name: str, graph: str = "complete", **options: object) -> Algorithm:
    words = {
        "algorithm": name,
        "dataset": "digits",
        "graph": graph,
        **needed(name),
        **options,
    }
    return make_algorithm(Experiment(**words).resolved())


def validate(row: Tensor) -> float:
    return float((SMALL.outputs(row, PUBLIC.x).argmax(1) == PUBLIC.y).double().mean())


def gradient(
    task: Model = SMALL, sigma: float = 0.0, clip: Clip | None = None, check=validate
) -> PrivateGradient:
    return private_gradient(
        task, clip or PerSample(C), sigma, B, Reproducible(4), validate=check
    )


def play(
    name: str,
    graph: Graph,
    batches: Callable[[int], list[Batch]] | list[Batch],
    rounds: int,
    post: Post | None = None,
    sigma: float = 0.0,
    seen: Sequence[Observer] = (),
    entries: int = ENTRIES,
) -> State:
    """Some rounds; what was not declared cannot leave. The states of all agents, on process 0."""
    chosen, grad = algorithm(name, lr=0.1), gradient(sigma=sigma)
    post = post or alone()
    net = Net(graph, post, [Gate(chosen.releases(grad)), *seen], entries)
    state = chosen.init(SMALL.initial.repeat(len(net.agents), 1))
    for t in range(1, rounds + 1):
        all_batches = batches(t) if callable(batches) else batches
        state, info = chosen.round(
            state, [all_batches[int(a)] for a in net.agents], net, grad, t
        )
        assert {"train_loss", "broken_gradients"} <= set(info.values)
        assert all(value.shape == (len(net.agents),) for value in info.values.values())
    found = {key: gathered(post, net.place, rows) for key, rows in state.items()}
    return {key: rows for key, rows in found.items() if rows is not None}
