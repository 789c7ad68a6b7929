"""The result of an attack, as it lies in a folder."""

from __future__ import annotations

from pathlib import Path

from dpdl.folder.attack_facts import AttackFacts, CaseScores
from dpdl.privacy.epsilon import UNBOUNDED, Epsilon
from tests.attacks.facts import MEAN, case_scores
from tests.pages.parsing import PNG


def row(who: str, scenario: str, ssim: float, p: float, round: int = 5) -> CaseScores:
    return case_scores(
        who=who, scenario=scenario, ssim=ssim, p_better_than_trivial=p, round=round
    )


OPEN, HALF, SHUT = (
    row("ND", "cg", 0.92, 0.001),
    row("ND", "mm", 0.3, 0.01),
    row("DPDL", "cg", 0.6, 0.4),
)


def leave_attack(folder: Path) -> None:
    """What `dpdl attack` writes: numbers and pictures."""
    for name in ("gallery.png", "agents.png"):
        (folder / name).write_bytes(PNG)
    later = row("ND", "cg", 0.99, 0.001, round=800)
    epsilons = {"ND": UNBOUNDED, "DPDL": Epsilon(3.5)}
    AttackFacts((OPEN, SHUT, later), (MEAN,), epsilons).write(folder)
