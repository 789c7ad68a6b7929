"""What an audit found, put beside what is claimed and what is proven."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, final

from scipy.special import ndtri

from dpdl.audit.certify import Certificate
from dpdl.audit.combine import Numbers
from dpdl.audit.setting import ProofOfRun
from dpdl.privacy.epsilon import Epsilon
from dpdl.privacy.threats import Threat


class Measured(NamedTuple):
    """A value and its confidence interval."""

    value: float
    low: float
    high: float


@final
@dataclass(frozen=True)
class Scores:
    """The scores of records that were in and of records that were out."""

    inside: Numbers
    outside: Numbers
    mu: float  # 1 / sigma_eff of the adversary's number of a round, by its rehearsals
    rounds: int  # that show in what it hears

    def sigma_eff(self, confidence: float) -> Measured:
        """sigma_eff measured when every record takes part in every round.

        Scores are then Gaussian, in and out with one deviation, and their standardised distance is
        sqrt(rounds) / sigma_eff.
        """
        n, m = len(self.inside), len(self.outside)
        squares = self.inside.var(ddof=1) * (n - 1) + self.outside.var(ddof=1) * (m - 1)
        pooled = squares / (n + m - 2)
        apart = self.inside.mean() - self.outside.mean()
        distance = float(apart / math.sqrt(pooled)) if pooled > 0 else 0.0
        error = math.sqrt(1 / n + 1 / m + distance**2 / (2 * (n + m - 2)))
        reach = float(ndtri(0.5 + confidence / 2)) * error
        ends = (distance, distance + reach, distance - reach)
        root = math.sqrt(self.rounds)
        return Measured(*(root / d if d > 0 else math.inf for d in ends))


@final
@dataclass(frozen=True)
class AuditResult:
    """Claim, lower bound and proof for one noise multiplier, one threat and one delta."""

    threat: Threat
    sigma: float
    rate: float  # q of the attacked agent
    agent: int  # whose record was attacked
    claimed: Epsilon  # by Theorem 1; unknown if it is not about the algorithm
    proven: Epsilon  # by the accountant
    by_counting: Certificate  # Clopper-Pearson
    by_gdp: Certificate  # an estimate: it assumes the shape of the trade-off curve
    sigma_eff_proven: float
    sigma_eff_attack: float  # of the adversary's number of a round
    sigma_eff_measured: Measured | None  # None under sampling: the coins are private
    of_run: ProofOfRun | None = None  # None: no run is audited

    @property
    def certified(self) -> float:
        """The lower bound by counting: the only one that assumes nothing about the mechanism."""
        return self.by_counting.epsilon

    @property
    def refutes_claim(self) -> bool:
        """Whether more than Theorem 1's epsilon was certified."""
        return self._exceeds(self.claimed)

    @property
    def refutes_proof(self) -> bool:
        """Whether more than the accountant's epsilon was certified.

        Then the proof or the code is wrong.
        """
        return self._exceeds(self.proven)

    def _exceeds(self, epsilon: Epsilon) -> bool:
        return epsilon.value is not None and self.certified > epsilon.value

    @property
    def verdict(self) -> str:
        """One plain sentence."""
        if self.refutes_proof:
            return (
                "The attack certifies more than the accountant proves: the proof or the "
                "code is wrong."
            )
        rest = self._beside_proof
        if not self.claimed.known:
            return f"The attack certifies epsilon >= {self.certified:.3g}; {rest}."
        gain = "more" if self.refutes_claim else "no more"
        return f"The attack certifies {gain} than Theorem 1 claims; {rest}."

    @property
    def _beside_proof(self) -> str:
        """A proof may be about large models only, and the game's is small."""
        if self.proven.bounded:
            return "it stays below what the accountant proves"
        if self.of_run is None or not self.of_run.epsilon.bounded:
            return "the accountant proves nothing here"
        return (
            f"the accountant proves {self.of_run.epsilon:.4g} for the run's model of "
            f"{self.of_run.parameters} parameters, and nothing for the smaller one of this game"
        )
