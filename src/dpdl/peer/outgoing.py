"""What leaves a member in a round: played on the real verbs, not guessed.

A round runs with empty batches and without noise, and every message is counted at the exit.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import torch

from dpdl.net import Gate, Net, Observer
from dpdl.net.messages import Leaving
from dpdl.planning.public_plan import PublicPlan
from dpdl.privacy.noise import Reproducible
from dpdl.types import Batch


class Outgoing(NamedTuple):
    """What a member sends one neighbour on one channel in a period of the algorithm."""

    channel: str
    target: int
    messages: int
    bytes: int


def outgoing(plan: PublicPlan, number: int) -> list[Outgoing]:
    """All messages of one member in rounds 1 to `period`, by channel and neighbour."""
    counts: Counter[tuple[str, int]] = Counter()
    sizes: Counter[tuple[str, int]] = Counter()

    def count(leaving: Leaving) -> None:
        entries = leaving.rows[0].numel() if len(leaving.rows) else 0
        for source, target in leaving.edges.tolist():
            if source == number and target != number:
                where = (leaving.channel, target)
                counts[where] += 1
                sizes[where] += entries * leaving.rows.element_size()

    _play(plan, count)
    return [
        Outgoing(channel, target, counts[channel, target], sizes[channel, target])
        for channel, target in counts
    ]


def _play(plan: PublicPlan, observe: Observer) -> None:
    agents = len(plan.graph)
    net = Net(plan.graph, observers=[Gate(plan.releases), observe])
    silent = plan.with_mechanism(plan.mechanism.with_noise(0.0))
    grad = silent.gradient(Reproducible(0))
    nobody = torch.zeros(0, dtype=torch.int64)
    empty = Batch(plan.task.initial.new_zeros(0, *plan.form.shape), nobody, nobody)
    state = plan.algorithm.init(plan.task.initial.repeat(agents, 1))
    for t in range(1, plan.algorithm.period + 1):
        state, _ = plan.algorithm.round(state, [empty] * agents, net, grad, t)
