"""An audit of our own messages: worst-case records, an adversary, and a certified lower bound on epsilon.

The accountant says what cannot be exceeded, if the proof and the code are right. The audit plays the definition of
differential privacy with the code that runs, and says what is exceeded for certain.
"""

from dpdl.audit.certify import Certificate, clopper_pearson, gdp
from dpdl.audit.game import Game, Linear
from dpdl.audit.measure import AuditResult, Scores, attack, audit, honest_game, listen

__all__ = [
    "AuditResult",
    "Certificate",
    "Game",
    "Linear",
    "Scores",
    "attack",
    "audit",
    "clopper_pearson",
    "gdp",
    "honest_game",
    "listen",
]
