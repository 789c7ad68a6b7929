"""From scores of records that were in and records that were out to a lower bound on epsilon.

A test that decides "in" above a threshold has a false positive rate and a false negative rate.
(epsilon, delta)-DP bounds both (Kairouz, Oh, Viswanath, 2015):

    FPR + e^epsilon FNR >= 1 - delta      and      FNR + e^epsilon FPR >= 1 - delta.

The threshold is chosen on one half of the records and the rates are measured on the other, with
upper confidence bounds of Clopper and Pearson. So the bound by counting holds with the stated
confidence, whatever the scores are, as long as the records are independent trials. It alone
certifies. The other one, by GDP, reads the same two rates as a point on the trade-off curve of a
Gaussian mechanism, which a mechanism need not have: randomised response with epsilon = 1 is rated
above 5. It is an estimate, and so is the larger of the two.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import betaincinv, log_ndtr, ndtri

from dpdl.audit.combine import Numbers
from dpdl.errors import InputError

Bound = Callable[[Numbers, Numbers], Numbers]
"""From upper bounds on FPR and FNR to a lower bound on what is certified."""


@final
@dataclass(frozen=True)
class Certificate:
    """An epsilon, and the errors that it was computed from.

    By counting: with the stated confidence, no smaller epsilon holds for the delta. By GDP: an
    estimate of it.
    """

    epsilon: float
    threshold: float
    false_positives: float  # measured rate on the certifying half
    false_negatives: float
    false_positives_at_most: float  # its upper confidence bound
    false_negatives_at_most: float


def clopper_pearson(
    scores_in: Numbers, scores_out: Numbers, delta: float, confidence: float
) -> Certificate:
    """The certified epsilon, from the upper bounds of both rates.

        max(0, ln((1 - delta - FNR) / FPR), ln((1 - delta - FPR) / FNR))

    It assumes nothing about the mechanism. With n records out of the data in the certifying half it
    cannot exceed about ln(n / 3.7) at 95 %, whatever the attack.
    """

    def bound(fpr: Numbers, fnr: Numbers) -> Numbers:
        odds = np.maximum((1 - delta - fnr) / fpr, (1 - delta - fpr) / fnr)
        return np.asarray(np.log(np.maximum(odds, 1.0)))

    return _certify(scores_in, scores_out, confidence, bound, float)


def gdp(
    scores_in: Numbers, scores_out: Numbers, delta: float, confidence: float
) -> Certificate:
    """An estimate: the epsilon of mu-GDP, from the upper bounds of both rates.

        mu = Phi^-1(1 - FPR) - Phi^-1(FNR)

    It assumes that the mechanism's trade-off curve is Gaussian (Dong, Roth, Su, 2022). That is so
    for linear algorithms when every record takes part in every round; under Poisson sampling in the
    limit of many rounds only. Whether code has the curve it should have is what an audit is to find
    out, so this refutes nothing.
    """

    def bound(fpr: Numbers, fnr: Numbers) -> Numbers:
        return np.asarray(np.maximum(-ndtri(fpr) - ndtri(fnr), 0.0))

    return _certify(
        scores_in, scores_out, confidence, bound, lambda mu: gdp_epsilon(mu, delta)
    )


def gdp_epsilon(mu: float, delta: float) -> float:
    """The epsilon of mu-GDP.

    delta = Phi(-epsilon / mu + mu / 2) - e^epsilon Phi(-epsilon / mu - mu / 2).
    """

    def excess(epsilon: float) -> float:
        near, far = log_ndtr(-epsilon / mu + mu / 2), log_ndtr(-epsilon / mu - mu / 2)
        return float(np.exp(near) - np.exp(epsilon + far)) - delta

    if mu <= 0 or excess(0.0) <= 0:
        return 0.0
    high = 1.0
    while excess(high) > 0:
        high *= 2
    return float(brentq(excess, 0.0, high))


def upper_rate(
    errors: npt.NDArray[np.int64], trials: int, confidence: float
) -> Numbers:
    """The rate that is exceeded with probability 1 - confidence at most, by Clopper and Pearson."""
    bounds = np.ones(len(errors))
    some = errors < trials
    bounds[some] = betaincinv(errors[some] + 1, trials - errors[some], confidence)
    return bounds


def _certify(
    scores_in: Numbers,
    scores_out: Numbers,
    confidence: float,
    bound: Bound,
    epsilon: Callable[[float], float],
) -> Certificate:
    """Choose with the even records; certify with the odd ones, which nothing was chosen by."""
    if not 0 < confidence < 1:
        raise InputError(
            f"confidence must be strictly between 0 and 1, not {confidence!r}."
        )
    if not (np.isfinite(scores_in).all() and np.isfinite(scores_out).all()):
        raise InputError("scores must be finite numbers.")
    each = 1 - (1 - confidence) / 2  # two rates share the risk
    candidates = np.unique(np.concatenate([scores_in[::2], scores_out[::2]]))
    if not len(candidates):
        return Certificate(0.0, math.nan, math.nan, math.nan, 1.0, 1.0)
    tried = bound(*_upper_rates(scores_in[::2], scores_out[::2], candidates, each))
    threshold = candidates[[int(tried.argmax())]]
    held_in, held_out = scores_in[1::2], scores_out[1::2]
    fpr, fnr = _upper_rates(held_in, held_out, threshold, each)
    return Certificate(
        epsilon(float(bound(fpr, fnr)[0])),
        float(threshold[0]),
        float((held_out > threshold).mean()) if len(held_out) else math.nan,
        float((held_in <= threshold).mean()) if len(held_in) else math.nan,
        float(fpr[0]),
        float(fnr[0]),
    )


def _upper_rates(
    scores_in: Numbers, scores_out: Numbers, thresholds: Numbers, confidence: float
) -> tuple[Numbers, Numbers]:
    """Upper bounds on FPR and FNR of "in when the score is above", for every threshold."""
    below = np.searchsorted(np.sort(scores_out), thresholds, "right")
    positives = len(scores_out) - below
    negatives = np.searchsorted(np.sort(scores_in), thresholds, "right")
    fpr = upper_rate(positives, len(scores_out), confidence)
    fnr = upper_rate(negatives, len(scores_in), confidence)
    return fpr, fnr
