"""What a sequence of rounds gives away about one record: epsilon for a delta.

A round of one agent is one `Step`: a single Gaussian release with an effective noise multiplier, on a random sample of
its records. All answers of a round share one draw of the batch, so they are one step, never several sampled ones: with
sigma = 4, ten answers, q = 0.036, T = 1000 and delta = 1e-5, ten separate steps would give 3.96 where 4.95 is true.

Epsilon comes from privacy-loss distributions (dp-accounting), rounded up, so that it is an upper bound; Rényi DP is the
cross-check, and the only way for fixed-size batches, where it is loose.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, final

from dpdl.errors import InputError

RELATIONS = ("add-remove", "replace-one")
# Grids of the privacy loss, and the epsilon from which each is fine enough. Losses are rounded up, so a grid that is
# too coarse gives a larger epsilon, never a smaller one: about one part in 1,000 more over a thousand rounds.
GRIDS = ((1e-2, 30.0), (1e-3, 3.0), (1e-4, 0.0))
LARGEST_SIGMA = 1e6


@final
@dataclass(frozen=True)
class Step:
    """One round of one agent."""

    sigma: float  # effective noise multiplier: deviation of the noise over what one record can move
    batch: int  # B, expected for Poisson sampling
    records: int  # D_i
    fixed: bool = False  # exactly B records, instead of Poisson sampling at rate B / D_i
    lost: float = 0.0
    adaptive: bool = False

    @property
    def rate(self) -> float:
        """The probability q that a record takes part."""
        return min(1.0, self.batch / self.records)


Steps = Sequence[tuple[Step, int]]
"""Steps with how often each happened."""


def epsilon(steps: Steps, delta: float, relation: str = "add-remove") -> float:
    """The smallest proven epsilon for a delta; infinity when a step has no noise."""
    steps = tuple((step, count) for step, count in steps if count and math.isfinite(step.sigma))
    if not steps:
        return 0.0
    if any(step.sigma <= 0 for step, _ in steps):
        return math.inf
    if any(step.fixed for step, _ in steps):
        return rdp_epsilon(steps, delta, relation)
    for grid, enough in GRIDS:
        found = _pld_epsilon(steps, delta, relation, grid)
        if found > enough:
            break
    return found


@lru_cache(maxsize=1024)
def calibrate(target: float, delta: float, step: Step, rounds: int, relation: str = "add-remove") -> float:
    """The effective noise multiplier that spends at most `target` in `rounds` such steps, to a part in 2,000."""

    def spent(sigma: float) -> float:
        return epsilon([(Step(sigma, step.batch, step.records, step.fixed), rounds)], delta, relation)

    # Epsilon falls nearly as a power of sigma: in logarithms a line meets it in a few steps.
    high = 1.0
    while spent(high) > target:
        high *= 4
        if high > LARGEST_SIGMA:
            raise InputError(f"No noise multiplier up to {LARGEST_SIGMA:g} keeps epsilon below {target:g}.")
    low = high / 4
    while spent(low) <= target:
        low /= 2
    while high / low > 1.0005:
        slope = math.log(spent(high) / spent(low)) / math.log(high / low)
        guess = high * (target / spent(high)) ** (1 / slope)
        # A little above the line's guess, and at least somewhat inside: both ends must move.
        guess = min(max(guess * 1.0002, low * (high / low) ** 0.02), low * (high / low) ** 0.98)
        low, high = (guess, high) if spent(guess) > target else (low, guess)
    return high


@lru_cache(maxsize=4096)
def _pld_epsilon(steps: tuple[tuple[Step, int], ...], delta: float, relation: str, grid: float) -> float:
    from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
    from dp_accounting.pld import PLDAccountant

    accountant = PLDAccountant(_relation(relation), value_discretization_interval=grid)
    for step, count in steps:
        event: Any = GaussianDpEvent(step.sigma)
        accountant.compose(event if step.rate >= 1 else PoissonSampledDpEvent(step.rate, event), count)
    return float(accountant.get_epsilon(delta))


def rdp_epsilon(steps: Steps, delta: float, relation: str = "add-remove") -> float:
    """Epsilon by Rényi DP: an upper bound too, but looser."""
    return _rdp_epsilon(tuple(steps), delta, relation)


@lru_cache(maxsize=4096)
def _rdp_epsilon(steps: tuple[tuple[Step, int], ...], delta: float, relation: str) -> float:
    from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent, SampledWithoutReplacementDpEvent
    from dp_accounting.rdp import RdpAccountant

    fixed = any(step.fixed for step, _ in steps)
    if relation == "replace-one" and any(step.rate < 1 and not step.fixed for step, _ in steps):
        raise InputError("Rényi accounting of Poisson sampling knows the relation add-remove only.")
    accountant = RdpAccountant(neighboring_relation=_relation("replace-one" if fixed else relation))
    for step, count in steps:
        # Under replacement one record moves the sum by 2 C; this accountant leaves that factor to us.
        doubled = fixed or relation == "replace-one"
        event: Any = GaussianDpEvent(step.sigma / 2 if doubled else step.sigma)
        if step.rate < 1 and step.fixed:
            event = SampledWithoutReplacementDpEvent(step.records, step.batch, event)
        elif step.rate < 1:
            event = PoissonSampledDpEvent(step.rate, event)
        accountant.compose(event, count)
    return float(accountant.get_epsilon(delta))


def _relation(name: str) -> Any:
    from dp_accounting import NeighboringRelation

    if name == "add-remove":
        return NeighboringRelation.ADD_OR_REMOVE_ONE
    if name == "replace-one":
        return NeighboringRelation.REPLACE_ONE
    raise InputError(f"relation must be one of {', '.join(RELATIONS)}, not {name!r}.")
