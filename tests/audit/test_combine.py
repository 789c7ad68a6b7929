"""Rows are weighed as well as can be, and weights are judged by what they were not learnt from."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpdl.audit.combine import Rehearsed, combine, covariance, least_squares


def noise(rows: int, samples: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((rows, samples))


def test_rows_are_weighed_by_the_noise_they_have() -> None:
    rows, signal = (
        noise(3, 40_000) * np.array([[1.0], [2.0], [4.0]]),
        np.array([1.0, 1.0, 2.0]),
    )
    rehearsed = Rehearsed(covariance(rows), signal)
    found = combine(rehearsed, rehearsed)
    assert found.mu == pytest.approx(math.sqrt(1 + 1 / 4 + 1 / 4), rel=0.02)
    assert found(rows).std() == pytest.approx(1, rel=0.02)
    assert found.weights / found.weights[0] == pytest.approx(
        [1, 1 / 4, 1 / 8], rel=0.1, abs=0.02
    )


def test_shared_noise_is_subtracted() -> None:
    rehearsed = Rehearsed(
        covariance(np.repeat(noise(1, 5_000), 2, axis=0)), np.array([1.0, 0.0])
    )
    assert combine(rehearsed, rehearsed).mu > 1e3


def test_how_well_weights_do_is_judged_by_another_rehearsal() -> None:
    """As many samples as rows fit too well.

    What was learnt promises far more than 1, which is all there is.
    """
    signal = np.eye(50)[0]
    learnt, tried = (
        Rehearsed(covariance(noise(50, samples, samples)), signal)
        for samples in (60, 20_000)
    )
    assert combine(learnt, learnt).mu > 1.5
    assert combine(learnt, tried).mu < 1


def test_a_signal_that_another_rehearsal_does_not_confirm_counts_for_nothing() -> None:
    found = combine(
        Rehearsed(np.eye(2), np.array([1.0, 0.0])),
        Rehearsed(np.eye(2), np.array([-1.0, 0.0])),
    )
    assert found.mu == 0 and not found.weights.any()


def test_scores_are_log_likelihood_ratios_of_a_sampled_gaussian() -> None:
    rehearsed = Rehearsed(np.eye(1), np.array([0.7]))
    found, row = combine(rehearsed, rehearsed), np.linspace(-3, 4, 9)[None]
    s, mu = found(row), found.mu
    assert mu == pytest.approx(0.7)
    ratio = np.exp(-((s - mu) ** 2) / 2) / np.exp(-(s**2) / 2)
    assert np.exp(found.score(row, 0.3)) == pytest.approx(0.7 + 0.3 * ratio)
    assert np.exp(found.score(row, 1.0)) == pytest.approx(ratio)


def test_least_squares_finds_what_each_cause_does() -> None:
    truth, causes = noise(4, 3, 1), noise(3, 100, 2)
    causes[1] = 0
    found = least_squares(truth @ causes, causes)
    assert found[:, [0, 2]] == pytest.approx(truth[:, [0, 2]], rel=1e-6)
    assert found[:, 1] == pytest.approx(0)


def test_a_row_that_nothing_moves_gets_no_weight() -> None:
    rehearsed = Rehearsed(np.diag([1.0, 0.0]), np.array([2.0, 0.0]))
    found = combine(rehearsed, rehearsed)
    assert found.mu == pytest.approx(2) and found.weights == pytest.approx([1, 0])


def test_the_covariance_is_a_mean_of_products() -> None:
    rows = np.array([[1.0, -1.0], [2.0, 0.0]])
    assert covariance(rows).tolist() == [[1.0, 1.0], [1.0, 2.0]]
