"""An audit of our own messages: worst-case records, an adversary, and a certified lower bound on epsilon.

The accountant says what cannot be exceeded, if the proof and the code are right. The audit plays the definition of
differential privacy with the code that runs, and says what is exceeded for certain.
"""

from dpdl.audit.certify import Certificate, clopper_pearson, gdp
from dpdl.audit.game import Game
from dpdl.audit.measure import attack, audit, auditable, honest_game, rehearse, try_one
from dpdl.audit.records import Linear
from dpdl.audit.result import AuditResult, Scores

__all__ = [
    "AuditResult",
    "Certificate",
    "Game",
    "Linear",
    "Scores",
    "attack",
    "audit",
    "auditable",
    "clopper_pearson",
    "gdp",
    "honest_game",
    "rehearse",
    "try_one",
]
