"""The audit's certified epsilon of a recorded run, to stand beside membership inference."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpdl.attacks.tables import Attacked

MOST_CANARIES = 1000
CONFIDENCE = 0.95


def certified(attacked: Attacked, quiet: bool) -> dict[str, Any]:
    """Proven above and certified below, for one who hears everything; kept beside the attack's results."""
    from dpdl.run.files import write_json

    path = attacked.run / "attack" / "audit.json"
    if not path.exists():
        write_json(path, _audit(attacked, quiet))
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def _audit(attacked: Attacked, quiet: bool) -> dict[str, Any]:
    from rich.console import Console
    from rich.progress import Progress

    from dpdl.audit import audit
    from dpdl.privacy.threats import threat
    from dpdl.run.planner import make_algorithm, make_question, make_theorem1

    plan = attacked.plan
    e, sigma, listener = plan.experiment, plan.grad.noise_multiplier, threat("eavesdropper")
    records = [len(part) for part in plan.parts]
    facts: dict[str, Any] = {"proven": attacked.epsilon, "certified": None}
    if sigma == 0:
        return {**facts, "why": "without noise every epsilon is refuted"}
    if plan.question.fixed or not plan.question.bounded or e.relation != "add-remove":
        return {**facts, "why": "the audit plays add-remove with Poisson sampling and every sample clipped"}
    canaries = min(MOST_CANARIES, *records)
    question = make_question(e, make_algorithm(e), plan.graph, records, canaries)
    console = Console(stderr=True)
    with Progress(console=console, disable=quiet or not console.is_terminal, transient=True) as bar:
        task = bar.add_task("audit", total=e.rounds)
        result = audit(
            question,
            make_theorem1(e, plan.graph, min(records)),
            sigma,
            listener,
            canaries=canaries,
            confidence=CONFIDENCE,
            watch=lambda t: bar.update(task, completed=t),
        )
    return {**facts, "certified": result.certified, "confidence": CONFIDENCE, "canaries": canaries}
