"""Membership inference on attacked runs, beside the epsilons that are proven and certified."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpdl.attacks.membership import membership
from dpdl.attacks.tables import Attacked
from dpdl.audit import audit, auditable
from dpdl.folder import names
from dpdl.folder.files import write_json
from dpdl.folder.run_folder import RunFolder
from dpdl.planning.build import make_privacy_model, make_theorem1
from dpdl.privacy.threats import EAVESDROPPER
from dpdl.report.roc import draw_roc
from dpdl.studies.attack_watch import AttackWatch

MOST_CANARIES = 1000
CONFIDENCE = 0.95
QUESTION = "Was this record in the batch?"


def infer_membership(
    attacked: Sequence[Attacked],
    folder: Path,
    agents: Sequence[int] | None,
    seed: int,
    watch: AttackWatch,
) -> dict[str, Any]:
    """How well members are told from others in every case, with a picture in `folder`."""
    found, curves = [], {}
    for a in attacked:
        epsilons = certified_epsilon(a, watch)
        for case in (outcome.case for outcome in a.outcomes):
            facts = membership(
                a.run, case.scenario, case.round, case.batch, agents, seed
            )
            about = {"run": str(a.run), "who": a.who}
            found.append({**about, **facts, "epsilon": epsilons})
            score = facts["scores"]["gradient"]
            name = f"{a.who}-{case.scenario.upper()}, round {case.round}"
            curves[name] = score["fpr"], score["tpr"]
    roc = draw_roc(curves, QUESTION, folder / names.MEMBERSHIP_CURVES)
    return {"membership": found, "roc": str(roc)}


def certified_epsilon(attacked: Attacked, watch: AttackWatch) -> dict[str, Any]:
    """Proven above and certified below, for one who hears everything.

    It is kept beside the attack's results, and computed once.
    """
    path = RunFolder(attacked.run).attack / names.AUDIT
    if not path.exists():
        write_json(path, _audit(attacked, watch))
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def _audit(attacked: Attacked, watch: AttackWatch) -> dict[str, Any]:
    plan = attacked.plan
    e, sigma = plan.experiment, plan.privacy.sigma
    facts: dict[str, Any] = {"proven": attacked.epsilon, "certified": None}
    if sigma == 0:
        return {**facts, "why": "without noise every epsilon is refuted"}
    if not auditable(plan.privacy):
        why = (
            "the audit plays add-remove with Poisson sampling and every sample clipped"
        )
        return {**facts, "why": why}
    records = [len(part) for part in plan.parts]
    canaries = min(MOST_CANARIES, *records)
    model = make_privacy_model(e, plan.algorithm, plan.graph, records, canaries, sigma)
    with watch.auditing(e.rounds) as done:
        result = audit(
            model,
            make_theorem1(e, model),
            EAVESDROPPER,
            confidence=CONFIDENCE,
            watch=done,
        )
    return {
        **facts,
        "certified": result.certified,
        "confidence": CONFIDENCE,
        "canaries": canaries,
    }
