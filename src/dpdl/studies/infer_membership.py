"""Membership inference on attacked runs, beside the epsilons that are proven and certified."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dpdl.attacks.membership import membership
from dpdl.attacks.scoring import Attacked
from dpdl.audit import audit, auditable
from dpdl.folder import names
from dpdl.folder.attack_facts import EpsilonBounds, MembershipFacts
from dpdl.folder.files import write_json
from dpdl.folder.run_folder import RunFolder
from dpdl.pages.roc import Curves, RocCurve, draw_roc
from dpdl.planning.build import make_privacy_model, make_theorem1
from dpdl.privacy.threats import EAVESDROPPER
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
) -> tuple[tuple[MembershipFacts, ...], Path]:
    """How well members and others are separated in every case, and the picture of the curves."""
    found: list[MembershipFacts] = []
    for a in attacked:
        bounds = certified_epsilon(a, watch)
        for case in (outcome.case for outcome in a.outcomes):
            inferred = membership(a.run, case, agents, seed)
            found.append(
                MembershipFacts(
                    run=str(a.run),
                    who=a.who,
                    scenario=case.scenario,
                    round=case.round,
                    batch=case.batch,
                    agents=inferred.agents,
                    seed=seed,
                    members=inferred.members,
                    non_members=inferred.members,
                    scores=inferred.scores,
                    epsilon=bounds,
                )
            )
    path = folder / names.MEMBERSHIP_CURVES
    return tuple(found), draw_roc(_curves(found), QUESTION, path)


def _curves(found: Sequence[MembershipFacts]) -> Curves:
    """By the gradient, the stronger of the two scores."""
    curves = {}
    for one in found:
        rates = one.scores.gradient
        low, high = rates.auc_interval
        name = (
            f"{one.who}-{one.scenario.upper()}, round {one.round}: area "
            f"{rates.auc:.2f} (95 %: {low:.2f} to {high:.2f})"
        )
        curves[name] = RocCurve(rates.fpr, rates.tpr, one.members, one.non_members)
    return curves


def certified_epsilon(attacked: Attacked, watch: AttackWatch) -> EpsilonBounds:
    """Proven above and certified below, for one who hears everything.

    It is kept beside the attack's results, and computed once.
    """
    path = RunFolder(attacked.run).attack / names.AUDIT
    if not path.exists():
        write_json(path, _audit(attacked, watch).to_json())
    return EpsilonBounds.read(path)


def _audit(attacked: Attacked, watch: AttackWatch) -> EpsilonBounds:
    plan, proven = attacked.plan, attacked.epsilon
    e, sigma = plan.experiment, plan.privacy.sigma
    if sigma == 0:
        why = "without noise every epsilon is refuted"
        return EpsilonBounds(proven, None, why)
    if not auditable(plan.privacy):
        why = (
            "the audit plays add-remove with Poisson sampling and every sample clipped"
        )
        return EpsilonBounds(proven, None, why)
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
    return EpsilonBounds(
        proven, result.certified, confidence=CONFIDENCE, canaries=canaries
    )
