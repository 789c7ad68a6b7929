"""How well scores tell members from non-members: curves, areas, rates and their intervals."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import betaincinv

from dpdl.errors import InputError
from dpdl.folder.attack_facts import Interval, MemberRates

Numbers = npt.NDArray[np.float64]
RATE = 0.01
"""The false positive rate at which attacks are compared."""
FEWEST = 100
"""Non-members that a threshold for this rate is chosen from, and again those it is measured on."""
POINTS = 200
"""Points of a curve that are kept."""
Z = 1.959964
"""95 % of a normal distribution are within so many deviations."""


def roc(members: Numbers, others: Numbers) -> tuple[Numbers, Numbers]:
    """False and true positive rates for all thresholds, from (0, 0) to (1, 1).

    A candidate is taken for a member when its score is at least the threshold.
    """
    thresholds = np.unique(np.concatenate([members, others]))[::-1]

    def rates(scores: Numbers) -> Numbers:
        above = len(scores) - np.searchsorted(np.sort(scores), thresholds, "left")
        return np.concatenate([[0.0], above / len(scores)])

    return rates(others), rates(members)


def auc(members: Numbers, others: Numbers) -> float:
    """The chance that a member scores above a non-member; ties count half."""
    fpr, tpr = roc(members, others)
    return float(np.trapezoid(tpr, fpr))


def auc_interval(area: float, members: int, others: int) -> Interval:
    """95 % by the score method of Newcombe (2006), which has a length even when the area is 1."""
    extra = (members + others) / 2 - 1

    def spread(a: float) -> float:
        shared = (1 - a) / (2 - a) + a / (1 + a)
        return math.sqrt(a * (1 - a) * (1 + extra * shared) / (members * others))

    def end(edge: float, side: int) -> float:
        if area == edge:
            return edge
        # At the edge the spread is zero, at the area there is no distance: between them both
        # are equal once.
        inside = area if spread(area) else area + side * 1e-9
        return float(brentq(lambda a: side * (a - area) - Z * spread(a), edge, inside))

    return end(0.0, -1), end(1.0, 1)


def rate_interval(hits: int, trials: int) -> Interval:
    """95 % by Clopper and Pearson."""
    low = float(betaincinv(hits, trials - hits + 1, 0.025)) if hits else 0.0
    high = float(betaincinv(hits + 1, trials - hits, 0.975)) if hits < trials else 1.0
    return low, high


class AtRate(NamedTuple):
    """The test "in when the score is above the threshold", and its measured rates."""

    threshold: float
    tpr: float
    fpr: float


def at_rate(members: Numbers, others: Numbers, rate: float) -> AtRate:
    """The test whose false positive rate is `rate` at most.

    The threshold is chosen on every second non-member, as the k-th largest score: one more
    non-member is above it with probability k / (n + 1), which is `rate` at most. The FPR is
    measured on the other non-members, the TPR on all members: nothing that measures has been looked
    at before.
    """
    chosen, held = np.sort(others[::2])[::-1], others[1::2]
    k = math.floor(rate * (len(chosen) + 1) + 1e-9)
    if k < 1 or not len(held):
        raise InputError(
            f"A false positive rate of {rate:g} cannot be resolved with {len(others)} "
            "non-members."
        )
    threshold = float(chosen[k - 1])
    tpr = float((members > threshold).mean())
    return AtRate(threshold, tpr, float((held > threshold).mean()))


def rates_of(members: Numbers, others: Numbers) -> MemberRates:
    """AUC, TPR at 1 % FPR with its interval, and the curve."""
    area = auc(members, others)
    tpr, interval, fpr = None, None, None
    note = (
        f"1 % FPR cannot be resolved with {len(others)} non-members: a threshold "
        f"is chosen from {FEWEST} and measured on {FEWEST} others."
    )
    if len(others) >= 2 * FEWEST:
        _, tpr, fpr = at_rate(members, others, RATE)
        interval = rate_interval(round(tpr * len(members)), len(members))
        note = (
            "The threshold was chosen on one half of the non-members; the FPR was "
            "measured on the other."
        )
    false, true = roc(members, others)
    kept = thinned(len(false))
    return MemberRates(
        area,
        auc_interval(area, len(members), len(others)),
        tpr,
        interval,
        fpr,
        note,
        tuple(false[kept].tolist()),
        tuple(true[kept].tolist()),
    )


def thinned(count: int) -> npt.NDArray[np.int64]:
    """At most POINTS of so many points, with both ends, and most at the start, where FPR is low."""
    if count <= POINTS:
        return np.arange(count)
    half = POINTS // 2
    even = np.linspace(0, count - 1, half)
    dense = np.geomspace(1, count - 1, half)
    places = np.concatenate([even, dense])
    return np.unique(places.round().astype(np.int64))
