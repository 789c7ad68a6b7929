"""A result in one line, for notebooks and logs; as discreet as that of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdl.planning.brief import how, what
from dpdl.privacy.threats import threat

if TYPE_CHECKING:
    from dpdl.training.result import Result


def of_result(result: Result) -> str:
    """What came out, and against whom it is proven."""
    s, plan = result.summary, result.plan
    words = [
        what(plan, s.rounds),
        f"test {s.score.label} {s.score.show(s.score.mean, 1)}",
        _proven(result),
    ]
    if result.stopped:
        words.append("stopped by a budget")
    if s.ended_early:
        words.append("ended early")
    return f"Result({', '.join(words)}; {how(plan)})"


def _proven(result: Result) -> str:
    listener = threat(result.plan.experiment.threat)
    epsilon = result.summary.epsilon.against(listener)
    if not epsilon.bounded:
        return f"nothing proven against {listener}"
    return f"epsilon {epsilon:.4g} against {listener}"
