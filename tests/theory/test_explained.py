"""What the theorem says in words, and everything as JSON."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings

from dpdl.errors import InputError
from dpdl.theory import (
    Letters,
    applies,
    conditions,
    corollary,
    explain,
    notes,
    step_sizes,
    verdict,
)
from tests.theory.values import MNIST, RHO, SMALL, any_setting


def test_corollary_is_undefined_when_its_denominator_vanishes():
    lost = replace(
        SMALL, rho=0.0, L=1e-12
    )  # sqrt(256 + 1e-22) - 16 is 0 in floating point
    assert corollary(lost).second is None
    assert corollary(lost).required is None
    assert any("undefined" in note for note in notes(lost))


@pytest.mark.parametrize("hard", [{"rho": 0.9999}, {"L": 1e3}, {"rho": 0.0, "N": 4}])
def test_an_empty_interval_is_said_plainly(hard):
    setting = replace(MNIST, **hard)
    assert step_sizes(setting).empty
    assert not conditions(setting)[4].holds
    assert verdict(setting).startswith(
        "No step size can satisfy the conditions on this graph"
    )


def test_an_interval_without_a_positive_c1_is_said_plainly():
    setting = replace(MNIST, rho=RHO["ring"], L=2.0)
    assert not step_sizes(setting).empty
    assert step_sizes(setting).useless
    assert "C_1 > 0 needs it above 0.005625" in verdict(setting)


@settings(max_examples=60, deadline=None)
@given(q=any_setting)
def test_the_result_is_json_without_nan(q: Letters):
    text = json.dumps(explain(q).to_json(), allow_nan=False)
    assert json.loads(text)["applies"] == applies(q)


def test_numbers_beyond_a_float_are_refused():
    for wrong in (
        {"L": 1e-200},
        {"L": 1e200},
        {"C": 1e200},
        {"C": 1e90, "sigma": 1e90},
    ):
        with pytest.raises(InputError, match="too large or too small"):
            explain(replace(SMALL, **wrong))
