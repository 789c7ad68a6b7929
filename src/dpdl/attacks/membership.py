"""Was a record in an agent's batch? The experimenter's part: who was, and how well that is found.

`candidates` scores records, `member_rates` measures how well scores separate members from others.
Only this module knows which candidates were members.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from dpdl.attacks.candidates import (
    MOST_PUBLIC,
    Candidates,
    CandidateScores,
    Damping,
    Numbers,
    damped,
    scores,
)
from dpdl.attacks.harness import refuse_other_tasks
from dpdl.attacks.member_rates import rates_of
from dpdl.attacks.recorded import Recording
from dpdl.attacks.scenarios import AttackCase
from dpdl.errors import InputError
from dpdl.folder.attack_facts import MemberRates, MembershipScores
from dpdl.folder.run_folder import RunFolder
from dpdl.keys import generator
from dpdl.planning.plan import Plan
from dpdl.tasks.data import Dataset
from dpdl.training.recording import with_batches_of
from dpdl.training.train import replan


class Inferred(NamedTuple):
    """How well members and non-members were separated in one case, over all attacked agents."""

    agents: tuple[int, ...]
    members: int  # and as many non-members
    scores: MembershipScores


def membership(
    run_dir: Path,
    case: AttackCase,
    agents: Sequence[int] | None = None,
    seed: int = 0,
    *,
    data: Dataset | None = None,
    model: nn.Module | None = None,
    damping: Damping = damped,
) -> Inferred:
    """Attack a round of a recorded run.

    Candidates are the agents' batches, and as many other records of each agent.
    """
    recording = Recording(RunFolder(run_dir).recording, model)
    plan = replan(run_dir, data=data, model=model)
    refuse_other_tasks(plan)
    if not plan.randomness.repeatable:
        raise InputError(
            "With secure randomness nobody knows which records were in a batch: "
            "nothing can be measured."
        )
    attacked = recording.chosen(agents)
    public = public_of(plan.data, seed)
    found: list[tuple[CandidateScores, int]] = []
    for agent in attacked:
        candidates, inside = candidates_of(plan, case, agent, seed)
        if inside:
            scored = scores(recording, case, agent, candidates, public, damping)
            found.append((scored, inside))
    if not found:
        raise InputError(
            f"No attacked agent had both records in its batch of round {case.round} "
            "and others to compare with."
        )
    members = sum(inside for _, inside in found)
    return Inferred(attacked, members, _by_kind(found))


def _by_kind(found: Sequence[tuple[CandidateScores, int]]) -> MembershipScores:
    """The rates of all agents together; those by the loss only if no agent lacks it."""
    gradients = [(of.gradient, inside) for of, inside in found]
    losses = [(of.loss, inside) for of, inside in found if of.loss is not None]
    complete = len(losses) == len(found)  # some links may not have been recorded
    return MembershipScores(_rates(gradients), _rates(losses) if complete else None)


def _rates(scored: Sequence[tuple[Numbers, int]]) -> MemberRates:
    """Of candidates of several agents: so many members, then the others."""
    members = np.concatenate([found[:inside] for found, inside in scored])
    others = np.concatenate([found[inside:] for found, inside in scored])
    return rates_of(members, others)


def candidates_of(
    plan: Plan, case: AttackCase, agent: int, seed: int
) -> tuple[Candidates, int]:
    """Members of an agent's batch, then as many of its other records; and how many of each."""
    site = plan.everybody
    played = site if case.batch is None else with_batches_of(site, case.batch)
    inside = played.drawn(agent, case.round)
    rest = np.setdiff1d(played.records[agent].rows, inside, assume_unique=True)
    draw = generator(seed, "membership", case.round, agent)
    count = min(len(inside), len(rest))
    members, others = (draw.permutation(of)[:count] for of in (inside, rest))
    chosen = torch.from_numpy(np.concatenate([members, others]))
    x = plan.data.inputs(plan.data.x[chosen], torch.float32)
    return Candidates(x, plan.data.y[chosen]), count


def public_of(data: Dataset, seed: int) -> Candidates:
    """Test records: public ones like the private ones."""
    order = generator(seed, "membership-public").permutation(len(data.y_test))
    some = torch.from_numpy(order[:MOST_PUBLIC])
    x = data.inputs(data.x_test[some], torch.float32)
    return Candidates(x, data.y_test[some])
