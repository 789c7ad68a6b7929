"""An audit of our own messages: a certified lower bound on epsilon.

The accountant bounds epsilon from above, if the proof and the code are right. The audit plays the
definition of differential privacy with the code that runs, worst-case records and an adversary. It
bounds epsilon from below, with a stated confidence. Names are imported when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdl.objects import on_demand

if TYPE_CHECKING:
    from dpdl.audit.canaries import LinearModel
    from dpdl.audit.certify import Certificate, clopper_pearson, gdp
    from dpdl.audit.game import Game
    from dpdl.audit.measure import (
        attack_canaries,
        audit,
        auditable,
        honest_game,
        rehearse,
        try_one,
    )
    from dpdl.audit.result import AuditResult, Scores

__all__ = [
    "AuditResult",
    "Certificate",
    "Game",
    "LinearModel",
    "Scores",
    "attack_canaries",
    "audit",
    "auditable",
    "clopper_pearson",
    "gdp",
    "honest_game",
    "rehearse",
    "try_one",
]

__getattr__ = on_demand(
    __name__,
    {
        "AuditResult": "result",
        "Certificate": "certify",
        "Game": "game",
        "LinearModel": "canaries",
        "Scores": "result",
        "attack_canaries": "measure",
        "audit": "measure",
        "auditable": "measure",
        "clopper_pearson": "certify",
        "gdp": "certify",
        "honest_game": "measure",
        "rehearse": "measure",
        "try_one": "measure",
    },
)
