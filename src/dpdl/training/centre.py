"""The centre of all agents' features: one release before the first round, then their agreement."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from dpdl.planning.budget import Allowance, allowance, parse
from dpdl.planning.public_plan import CENTRE
from dpdl.planning.statement import Stated
from dpdl.privacy.gradient import PrivateGradient
from dpdl.tasks.centre import UnitSum
from dpdl.types import Batch

if TYPE_CHECKING:
    from dpdl.net import Net
    from dpdl.planning.site import Site

BEFORE = 0
"""The round that its noise and its messages are addressed by; training begins with 1."""


def counted(stated: Stated, count: int, repeatable: bool) -> Stated:
    """What is proven where a centre has left so often; with the same noise again it is one."""
    centres = 1 if repeatable else max(1, count)
    return replace(stated, privacy=replace(stated.privacy, centres=centres))


def rounds_beside(stated: Stated, planned: Allowance) -> int:
    """How many rounds the budgets afford beside the centre, however often it left.

    Refused if they afford none.
    """
    e, privacy = stated.experiment, stated.privacy
    if privacy.centres == 1 or e.budget is None:
        return planned.rounds
    budgets = parse(e.budget, len(privacy.graph), e.delta)
    return allowance(privacy, stated.listener, budgets, planned.rounds).rounds


def released_centre(site: Site, net: Net) -> Tensor:
    """A centre for each agent hosted here, (agents, features): equal up to rounding.

    Every agent's sum of features of length 1 is perturbed as a gradient is; then all agree on the
    mean of what they have. Sums are divided by the mean of the declared numbers of records.
    """
    plan, mechanism = site.plan, site.plan.privacy.centre
    assert mechanism is not None
    size = math.prod(plan.form.shape)

    def features(agent: int, numbers: Tensor) -> Tensor:
        own = site.records[agent]
        return own.x[torch.from_numpy(own.rows)[numbers]]

    def everybody(agent: int) -> Batch:
        numbers = torch.arange(len(site.records[agent]))
        return Batch(numbers, torch.full_like(numbers, agent), numbers)

    grad = PrivateGradient(UnitSum(size, features), mechanism, site.randomness)
    zeros = torch.zeros(len(net.agents), size, dtype=plan.task.initial.dtype)
    batches = [everybody(int(agent)) for agent in net.agents]
    agreed, _ = plan.algorithm.agreed(zeros, batches, net, grad, BEFORE, CENTRE)
    return agreed
