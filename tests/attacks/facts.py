"""Records of attacks with plausible numbers."""

from __future__ import annotations

from dpdl.folder.attack_facts import (
    AttackFacts,
    CaseScores,
    EpsilonBounds,
    MemberRates,
    MembershipFacts,
    MembershipScores,
    PaperAndOurs,
    PaperRow,
    TrivialScores,
)
from dpdl.privacy.epsilon import UNBOUNDED, Epsilon

MEAN = TrivialScores("mean", 0.26, 12.0, 0.2, 0.065)
BOUNDS = EpsilonBounds(Epsilon(3.5), 0.75, confidence=0.95, canaries=1000)
RATES = MemberRates(0.9, (0.8, 0.95), None, None, None, "few", (0.0, 1.0), (0.0, 1.0))


def case_scores(**more) -> CaseScores:
    """A case without defence, in the last round that the paper attacked."""
    values = {
        "run": "runs/nd",
        "who": "ND",
        "scenario": "cg",
        "round": 800,
        "batch": 1,
        "own_batch": 216,
        "mse": 0.1,
        "psnr": 20.0,
        "ssim": 0.92,
        "mse_unit": 0.025,
        "label_recovery": 1.0,
        "labels": "known",
        "method": "peel",
        "images": 10,
        "best_trivial": "mean",
        "best_trivial_mse": 0.26,
        "p_better_than_trivial": 0.001,
    }
    return CaseScores(**(values | more))


def inferred(**more) -> MembershipFacts:
    """Membership inference in one case."""
    values = {
        "run": "runs/dpdl",
        "who": "DPDL",
        "scenario": "cg",
        "round": 5,
        "batch": None,
        "agents": (0, 1),
        "seed": 0,
        "members": 20,
        "non_members": 20,
        "scores": MembershipScores(RATES, None),
        "epsilon": BOUNDS,
    }
    return MembershipFacts(**(values | more))


BESIDE = PaperRow(
    *("mnist", "ring", 10, "nd-cg"),
    PaperAndOurs(0.85, 0.1),
    PaperAndOurs(6.84, 20.0),
    PaperAndOurs(0.1957, None),
    *(1, 10, "peel", 0.26, 0.001),
)
FACTS = AttackFacts(
    (case_scores(), case_scores(who="DPDL", label_recovery=None)),
    (MEAN,),
    {"ND": UNBOUNDED, "DPDL": Epsilon(3.5)},
    "runs/nd/attack/gallery.png",
    "runs/nd/attack/agents.png",
    (inferred(),),
    "runs/nd/attack/membership.png",
    (BESIDE,),
)
