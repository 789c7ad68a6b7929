"""What an audit found is put beside what is claimed and what is proven."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dpdl.audit.certify import Certificate
from dpdl.audit.result import AuditResult, Scores
from dpdl.audit.setting import ProofOfRun
from dpdl.privacy.epsilon import UNBOUNDED, UNKNOWN, Epsilon
from tests.audit.worlds import EAVESDROPPER


def certificate(epsilon: float) -> Certificate:
    return Certificate(epsilon, 0.5, 0.1, 0.2, 0.15, 0.25)


FOUND = AuditResult(
    threat=EAVESDROPPER,
    sigma=2.0,
    rate=1.0,
    agent=0,
    claimed=Epsilon(1.0),
    proven=Epsilon(3.0),
    by_counting=certificate(2.0),
    by_gdp=certificate(9.0),
    sigma_eff_proven=1.0,
    sigma_eff_attack=1.5,
    sigma_eff_measured=None,
)


@pytest.mark.parametrize(
    ("change", "claim", "proof", "verdict"),
    [
        ({}, True, False, "certifies more than Theorem 1 claims; it stays below"),
        ({"claimed": Epsilon(2.0)}, False, False, "certifies no more than Theorem 1"),
        ({"claimed": UNKNOWN}, False, False, "certifies epsilon >= 2; it stays below"),
        ({"proven": UNBOUNDED}, True, False, "the accountant proves nothing here"),
        (
            {"proven": UNBOUNDED, "of_run": ProofOfRun(UNBOUNDED, 9000)},
            True,
            False,
            "the accountant proves nothing here",
        ),
        (
            {"proven": UNBOUNDED, "of_run": ProofOfRun(Epsilon(7.5), 9000)},
            True,
            False,
            "the accountant proves 7.5 for the run's model of 9000 parameters, and "
            "nothing for the smaller one of this game.",
        ),
        ({"proven": Epsilon(1.9)}, True, True, "the proof or the code is wrong"),
        ({"proven": Epsilon(2.0)}, True, False, "it stays below"),
    ],
)
def test_the_verdict_follows_the_numbers(
    change: dict, claim: bool, proof: bool, verdict: str
) -> None:
    result = replace(FOUND, **change)
    assert (result.refutes_claim, result.refutes_proof) == (claim, proof)
    assert verdict in result.verdict


def test_only_counting_certifies() -> None:
    assert FOUND.certified == 2.0 < FOUND.by_gdp.epsilon


def test_sigma_eff_is_measured_by_the_distance_of_the_scores() -> None:
    """Scores two deviations apart after four rounds: sqrt(4) / 2."""
    draw = np.random.default_rng(0)
    inside, outside = 2 + draw.standard_normal(20_000), draw.standard_normal(20_000)
    found = Scores(inside, outside, 1.0, 4).sigma_eff(0.95)
    assert found.value == pytest.approx(1.0, rel=0.02)
    assert found.low < found.value < found.high < 1.05 * found.low


def test_an_interval_covers_as_often_as_it_should() -> None:
    draw, covered = np.random.default_rng(1), 0
    for _ in range(200):
        inside, outside = 1 + draw.standard_normal(60), draw.standard_normal(60)
        found = Scores(inside, outside, 1.0, 1).sigma_eff(0.9)
        covered += found.low < 1.0 < found.high
    assert 165 <= covered <= 195


def test_scores_that_do_not_differ_hide_the_record_completely() -> None:
    equal = np.ones(30)
    assert Scores(equal, equal, 0.0, 1).sigma_eff(0.95).value == math.inf
    worse = Scores(np.arange(30.0), np.arange(30.0) + 5, 1.0, 1).sigma_eff(0.95)
    assert worse.value == math.inf == worse.high
