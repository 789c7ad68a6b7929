"""The rules that set the noise multiplier."""

from __future__ import annotations

import math
from typing import Any

import pytest

from dpdl import graph as graphs
from dpdl.errors import InputError, PrivacyRefused
from dpdl.experiment.experiment import from_mapping
from dpdl.planning.build import make_algorithm, make_privacy_model, make_theorem1
from dpdl.planning.noise_rule import sigma_by_rule
from dpdl.planning.privacy_model import PrivacyModel
from dpdl.privacy.threats import EAVESDROPPER


def by_rule(**values: Any) -> tuple[float, PrivacyModel]:
    shared = {"dataset": "digits", "batch": 32, "rounds": 20}
    e = from_mapping(shared | values).resolved()
    model = make_privacy_model(
        e, make_algorithm(e), graphs.ring(5), [200] * 5, size=5000
    )
    return sigma_by_rule(e, model, make_theorem1(e, model)), model


def test_a_fixed_sigma_is_what_it_is() -> None:
    assert by_rule(sigma=3.25)[0] == 3.25
    assert by_rule(noise="none")[0] == 0.0


@pytest.mark.parametrize("algorithm", ["dp-dpsgd", "dpdl-sound", "muffliato"])
def test_the_accountant_takes_the_least_that_proves_epsilon(algorithm: str) -> None:
    sigma, model = by_rule(algorithm=algorithm, epsilon=4.0)
    assert model.with_noise(sigma).worst(EAVESDROPPER) <= 4.0
    assert model.with_noise(sigma * 0.99).worst(EAVESDROPPER) > 4.0


def test_theorem_1_is_inverted_where_it_applies() -> None:
    sigma, model = by_rule(noise="theorem1", epsilon=0.5)
    e = from_mapping({"dataset": "digits", "batch": 32, "rounds": 20}).resolved()
    theorem = make_theorem1(e, model)
    assert theorem
    assert theorem.epsilon(sigma) == pytest.approx(0.5)
    with pytest.raises(InputError, match="Theorem 1 says nothing about dp-dpsgd"):
        by_rule(algorithm="dp-dpsgd", noise="theorem1")


def test_the_public_code_has_a_rule_of_its_own_for_other_algorithms() -> None:
    of_dpdl, _ = by_rule(noise="public-code", epsilon=0.5)
    of_others, _ = by_rule(noise="public-code", epsilon=0.5, algorithm="dp-dpsgd")
    assert of_dpdl > 0 < of_others
    assert of_dpdl != of_others


def test_where_no_noise_proves_anything_the_accountant_refuses() -> None:
    with pytest.raises((InputError, PrivacyRefused)):
        by_rule(clip_unit="batch", epsilon=4.0)
    assert math.isfinite(by_rule(clip_unit="batch", sigma=1.0)[0])
