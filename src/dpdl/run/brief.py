"""A plan and a result in one line, for notebooks and logs.

Nothing here is about a single record, and nothing gives away the noise: no tensor, no record number, no count of
records, no loss, no seed. At most 300 characters.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dpdl.privacy.threats import threat

if TYPE_CHECKING:
    from dpdl.run.plan import Plan
    from dpdl.run.train import Result

LONGEST = 32
"""Characters of a name; of a longer one the end is shown."""


def of_plan(plan: Plan) -> str:
    """What is about to run."""
    return f"Plan({_what(plan, plan.experiment.rounds)}, sigma {plan.grad.noise_multiplier:.4g}; {_how(plan)})"


def of_result(result: Result) -> str:
    """What came out, and against whom it is proven."""
    s, plan = result.summary, result.plan
    words = [_what(plan, s["rounds"]), f"test accuracy {s['accuracy']['mean']:.1%}", _proven(result)]
    if result.stopped:
        words.append("stopped by a budget")
    return f"Result({', '.join(words)}; {_how(plan)})"


def _what(plan: Plan, rounds: int) -> str:
    count = "1 round" if rounds == 1 else f"{rounds} rounds"
    agents = len(plan.graph)
    algorithm, data, graph = map(_short, (plan.experiment.algorithm, plan.data.name, plan.graph.name))
    return f"{algorithm} on {data}, {graph} of {agents} agents, {count}"


def _proven(result: Result) -> str:
    listener = threat(result.plan.experiment.threat)
    epsilon = result.summary["epsilon"][listener.key]
    if isinstance(epsilon, str):
        return f"nothing proven against {listener}"
    return f"epsilon {epsilon:.4g} against {listener}"


def _how(plan: Plan) -> str:
    return "simulation, which protects nobody" if plan.grad.randomness.repeatable else "secure randomness"


def _short(name: str) -> str:
    """The last part of a path, as much of it as there is room for."""
    last = Path(name).name or name
    return last if len(last) <= LONGEST else f"...{last[-LONGEST:]}"
