"""What a sequence of rounds gives away about one record: epsilon for a delta.

A round of one agent is one `Step`: a single Gaussian release with an effective noise multiplier, on
a random sample of its records. All answers of a round share one draw of the batch, so they are one
step, never several sampled ones: with sigma = 4, ten answers, q = 0.036, T = 1000 and delta = 1e-5,
ten separate steps would give 3.96 where 4.95 is true.

Poisson batches are accounted for by privacy-loss distributions (`losses`), or by Rényi DP (`renyi`)
where that is smaller; fixed-size batches by Rényi DP only, which is loose there. All of it is an
upper bound.

Later releases of a round may answer earlier ones (`adaptive`). Given that a record takes part, or
that it does not, the answers together are then still dominated by one Gaussian pair: Gaussian DP
composes adaptively (Dong, Roth, Su 2019, arXiv 1905.02383). For a record added or removed no more
is needed, because the divergence of the sampled round is a function of the divergence of those two
conditional distributions (Zhu, Dong, Wang 2022, arXiv 2106.08567). For a record replaced, a sampled
round has three: neither record takes part, the one, or the other. That case is taken as one record
removed and another one added (`group`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple, final

from dpdl.errors import InputError
from dpdl.privacy import losses, renyi
from dpdl.privacy.relations import CHANGES
from dpdl.privacy.renyi import Rounds

LARGEST_SIGMA = 1e6
LEAST_SIGMA = 0.1  # when even less noise would do, no less is looked for
SMALLEST_SIGMA = 1e-4  # below it epsilon is in the millions, and reported as infinite


class Effect(NamedTuple):
    """All that an agent answers in a round, as a single Gaussian release."""

    sigma: float  # its noise multiplier sigma_eff; 0: nothing is proven
    lost: float = 0.0  # how much more of delta than that release a round may take


@final
@dataclass(frozen=True)
class Step:
    """One round of one agent; `Mechanism.step` makes it."""

    sigma: float  # effective noise multiplier: deviation of the noise over what one record moves
    batch: int  # B, expected for Poisson sampling
    records: int  # D_i
    fixed: bool = False  # exactly B records; otherwise Poisson sampling at rate B / D_i
    lost: float = 0.0  # probability that the proof of this step does not hold
    adaptive: bool = (
        False  # several releases on one draw; later ones depend on earlier ones
    )
    share: float | None = None  # the rate, where it is not B / D_i

    def __post_init__(self) -> None:
        """Refuse what is no step; sigma may be 0 (no guarantee) or infinite (no release)."""
        if not self.sigma >= 0:
            raise InputError(f"sigma must be a number from 0 on, not {self.sigma}.")
        if not self.batch >= 1:
            raise InputError(f"batch must be at least 1, not {self.batch}.")
        if not self.records >= 1:
            raise InputError(f"records must be at least 1, not {self.records}.")
        if self.fixed and self.batch > self.records:
            raise InputError(
                f"A fixed-size batch of {self.batch} cannot be drawn from {self.records} records."
            )
        if self.share is not None and (self.fixed or not 0 < self.share <= 1):
            raise InputError(
                f"share must be a rate above 0 and at most 1, not {self.share}."
            )
        if not 0 <= self.lost <= 1:
            raise InputError(
                f"lost must be a probability from 0 to 1, not {self.lost}."
            )

    @property
    def rate(self) -> float:
        """The probability q that a record takes part."""
        if self.share is not None:
            return self.share
        return min(1.0, self.batch / self.records)


Steps = Sequence[tuple[Step, int]]
"""Steps with how often each happened."""
Beside = tuple[tuple[Step, int], ...]
"""The same, of what is released beside the rounds."""


def epsilon(steps: Steps, delta: float, relation: str = "add-remove") -> float:
    """The smallest proven epsilon for a delta; infinity when a step has no noise.

    A step whose proof fails with probability `lost` is dominated by its Gaussian pair with that
    mass moved to an infinite loss. Such masses add up, and what they leave of delta is all that the
    Gaussians may use.
    """
    rounds, lost = _released(steps, relation)
    if not rounds and not lost:
        return 0.0
    if not delta > lost or any(step.sigma < SMALLEST_SIGMA for step, _ in rounds):
        return math.inf
    if any(step.fixed for step, _ in rounds):
        return _fixed_epsilon(rounds, delta - lost, relation)
    if relation == "replace-one" and any(
        step.adaptive and step.rate < 1 for step, _ in rounds
    ):
        return losses.adaptive_epsilon(_plain(rounds), delta, lost)
    return losses.epsilon(_plain(rounds), delta - lost, relation)


@lru_cache(maxsize=1024)
def calibrate(
    target: float,
    delta: float,
    step: Step,
    rounds: int,
    relation: str = "add-remove",
    beside: Beside = (),
) -> float:
    """The effective noise multiplier that spends at most `target` in `rounds` such steps.

    Other steps, `beside` them, are paid out of the same target. All of `step` counts but
    its sigma. The result is at most a part in 2,000 too large; its epsilon
    was computed, and is not above the target.
    """
    if not 0 < target < math.inf or rounds < 1:
        raise InputError(
            f"No noise can be found for epsilon = {target:g} in {rounds} rounds; both must be "
            "above 0."
        )

    def spent(sigma: float) -> float:
        own = (replace(step, sigma=sigma), rounds)
        return epsilon([own, *beside], delta, relation)

    # Epsilon falls nearly as a power of sigma: in logarithms a line meets it in a few steps.
    high = 1.0
    while spent(high) > target:
        high *= 4
        if high > LARGEST_SIGMA:
            raise InputError(
                f"No noise multiplier up to {LARGEST_SIGMA:g} keeps epsilon below {target:g}."
            )
    low = high / 4
    while spent(low) <= target:
        if low < LEAST_SIGMA:
            return low
        low /= 2
    while high / low > 1.0005:
        guess = _guess(low, high, spent(low), spent(high), target)
        low, high = (guess, high) if spent(guess) > target else (low, guess)
    return high


def _guess(
    low: float, high: float, at_low: float, at_high: float, target: float
) -> float:
    """Where between two noise multipliers the target may be spent."""
    if at_high <= 0 or at_low == math.inf:
        return math.sqrt(low * high)
    slope = math.log(at_high / at_low) / math.log(high / low)
    guess = high * math.pow(target / at_high, 1 / slope)
    # A little above the line's guess, and at least somewhat inside: both ends must move.
    return min(
        max(guess * 1.0002, low * math.pow(high / low, 0.02)),
        low * math.pow(high / low, 0.98),
    )


def rdp_epsilon(steps: Steps, delta: float, relation: str = "add-remove") -> float:
    """Epsilon by the Rényi accountant of dp-accounting: an upper bound too, but looser."""
    rounds, lost = _released(steps, relation)
    return _rdp_epsilon(rounds, delta - lost, relation) if delta > lost else math.inf


def _released(
    steps: Steps, relation: str
) -> tuple[tuple[tuple[Step, int], ...], float]:
    """The steps that released something, and the probability that some step's proof fails."""
    if relation not in CHANGES:
        raise InputError(
            f"relation must be one of {', '.join(CHANGES)}, not {relation!r}."
        )
    if relation != "replace-one" and any(step.fixed for step, _ in steps):
        raise InputError(
            "Batches of fixed size are accounted for under replace-one only."
        )
    if any(count < 0 for _, count in steps):
        raise InputError("A step cannot happen less than 0 times.")
    lost = math.fsum(step.lost * count for step, count in steps)
    return tuple(
        (step, count) for step, count in steps if count and math.isfinite(step.sigma)
    ), lost


def _plain(rounds: Steps) -> tuple[Rounds, ...]:
    return tuple(Rounds(step.sigma, step.rate, count) for step, count in rounds)


def _fixed_epsilon(
    rounds: tuple[tuple[Step, int], ...], delta: float, relation: str
) -> float:
    """For batches of fixed size, which only a replacement keeps in size."""
    if any(step.rate < 1 and not step.fixed for step, _ in rounds):
        raise InputError(
            "Fixed-size and Poisson batches cannot be accounted for together."
        )
    if not any(step.rate < 1 and step.adaptive for step, _ in rounds):
        return _rdp_epsilon(rounds, delta, relation)
    # A record replaced moves the sum by 2 C.
    curves = [
        (count, renyi.fixed_size(step.rate, step.sigma / 2)) for step, count in rounds
    ]
    return renyi.epsilon(renyi.total(curves), delta)


@lru_cache(maxsize=4096)
def _rdp_epsilon(
    steps: tuple[tuple[Step, int], ...], delta: float, relation: str
) -> float:
    from dp_accounting import (
        GaussianDpEvent,
        PoissonSampledDpEvent,
        SampledWithoutReplacementDpEvent,
    )
    from dp_accounting.rdp import RdpAccountant

    if relation == "replace-one" and any(
        step.rate < 1 and not step.fixed for step, _ in steps
    ):
        raise InputError(
            "Rényi accounting of Poisson sampling knows the relation add-remove only."
        )
    accountant = RdpAccountant(neighboring_relation=losses.neighbouring(relation))
    for step, count in steps:
        # A replaced record moves the sum by 2 C; this accountant leaves that factor to us.
        doubled = relation == "replace-one"
        event: Any = GaussianDpEvent(step.sigma / 2 if doubled else step.sigma)
        if step.rate < 1 and step.fixed:
            event = SampledWithoutReplacementDpEvent(step.records, step.batch, event)
        elif step.rate < 1:
            event = PoissonSampledDpEvent(step.rate, event)
        accountant.compose(event, count)
    return float(accountant.get_epsilon(delta))
