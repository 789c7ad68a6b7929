"""A result as a small card, for notebooks: how good the models are, and what is proven.

A notebook is often given away. So the card is as discreet as the line of `dpdl.training.brief`: no
loss, no seed, no counts of records, and no scores where every site tested on records of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdl.planning.brief import what
from dpdl.privacy.epsilons import CLAIMED
from dpdl.training.notebook_html import card, curve, table

if TYPE_CHECKING:
    from dpdl.folder.metrics import Metrics
    from dpdl.training.result import Result

LISTENERS = {
    CLAIMED: "claimed by Theorem 1, which is no guarantee",
    "eavesdropper": "proven against an eavesdropper",
    "neighbour": "proven against one neighbour",
    "final_model": "proven against somebody who sees models",
}
SIMULATED = "A simulation: its noise is drawn from a seed, so it protects nobody."
TESTED_AT_SITES = (
    "Every site tested on records of its own; no epsilon covers such scores, so they are left out "
    "here: result.summary.score has them."
)


def of_result(result: Result) -> str:
    """The card as HTML."""
    plan = result.plan
    parts = [*_scores(result), table((), _epsilons(result)), _epsilon_curve(result)]
    foot = [SIMULATED] if plan.randomness.repeatable else []
    foot += [TESTED_AT_SITES] if not plan.source.common_test else []
    foot += [result.stopped] if result.stopped else []
    return card(what(plan, result.summary.rounds), parts, foot)


def _scores(result: Result) -> list[str]:
    if not result.plan.source.common_test:
        return []
    score = result.summary.score
    rows = [
        (f"test {score.label}, mean over agents", score.show(score.mean)),
        (
            "worst and best agent",
            f"{score.show(score.worst)}, {score.show(score.best)}",
        ),
        ("average of all models", score.show(score.average_model)),
    ]
    points = [(float(m.round), m.score.mean) for m in result.metrics]
    first, last = (score.show(m.score.mean, 1) for m in _ends(result))
    label = f"test {score.label}: {first} to {last}"
    return [table((), rows), curve(label, points)]


def _epsilons(result: Result) -> list[tuple[str, str]]:
    s = result.summary
    known = [(name, value) for name, value in s.epsilon.items() if value.known]
    shown = [(LISTENERS.get(name, name), str(value)) for name, value in known]
    return [(f"epsilon {words}", value) for words, value in shown] + [
        ("delta", f"{s.delta:g}")
    ]


def _epsilon_curve(result: Result) -> str:
    found = [(m.round, m.epsilon.finite) for m in result.metrics]
    points = [(float(t), value) for t, value in found if value is not None]
    threat = result.plan.experiment.threat
    end = points[-1][1] if points else 0.0
    return curve(f"epsilon against {threat}: up to {end:.4g}", points)


def _ends(result: Result) -> list[Metrics]:
    return [result.metrics[0], result.metrics[-1]]
