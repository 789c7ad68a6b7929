"""A plan in one line, for notebooks and logs.

Nothing here is about a single record, and nothing gives away the noise: no tensor, no record
number, no count of records, no loss, no seed. At most 300 characters.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpdl.planning.plan import Plan

LONGEST = 32
"""Characters of a name; of a longer one the end is shown."""


def of_plan(plan: Plan) -> str:
    """What is about to run."""
    about = what(plan, plan.experiment.rounds)
    return f"Plan({about}, sigma {plan.privacy.sigma:.4g}; {how(plan)})"


def what(plan: Plan, rounds: int) -> str:
    """Algorithm, data, graph and rounds."""
    count = "1 round" if rounds == 1 else f"{rounds} rounds"
    agents = len(plan.graph)
    algorithm, data, graph = map(
        _short, (plan.experiment.algorithm, plan.source.name, plan.graph.name)
    )
    return f"{algorithm} on {data}, {graph} of {agents} agents, {count}"


def how(plan: Plan) -> str:
    """Whether the noise protects anybody."""
    return (
        "simulation, which protects nobody"
        if plan.randomness.repeatable
        else "secure randomness"
    )


def _short(name: str) -> str:
    """The last part of a path, as much of it as there is room for."""
    last = Path(name).name or name
    return last if len(last) <= LONGEST else f"...{last[-LONGEST:]}"
