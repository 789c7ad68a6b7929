"""An epsilon is a number, unbounded, or unknown: in JSON, in texts and in comparisons."""

from __future__ import annotations

import json

import pytest

from dpdl.errors import InputError
from dpdl.privacy.epsilon import UNBOUNDED, UNKNOWN, Epsilon
from dpdl.records import Json


@pytest.mark.parametrize(
    ("epsilon", "content", "text"),
    [
        (Epsilon(1.23456), 1.23456, "1.235"),
        (Epsilon(0.0), 0.0, "0"),
        (UNBOUNDED, "unbounded", "unbounded"),
        (UNKNOWN, None, "unknown"),
    ],
)
def test_an_epsilon_is_a_number_unbounded_or_unknown(
    epsilon: Epsilon, content: Json, text: str
) -> None:
    assert epsilon.to_json() == content
    assert Epsilon.from_json(content) == epsilon
    assert str(epsilon) == f"{epsilon}" == text
    states = [epsilon.bounded, epsilon.unbounded, not epsilon.known]
    assert states.count(True) == 1
    assert (epsilon.finite is not None) == epsilon.bounded


@pytest.mark.parametrize("value", [-1.0, float("nan"), -float("inf")])
def test_what_is_no_epsilon_is_refused(value: float) -> None:
    with pytest.raises(InputError, match="epsilon must be a number from 0 on"):
        Epsilon(value)


@pytest.mark.parametrize("content", ["1.5", "infinity", True, [], {}, float("nan")])
def test_what_is_no_epsilon_in_json_is_refused_with_its_place(content: Json) -> None:
    with pytest.raises(InputError, match=r"summary\.epsilon must be a number"):
        Epsilon.from_json(content, "summary.epsilon")


def test_infinity_as_a_number_is_unbounded_and_written_as_a_text() -> None:
    assert Epsilon(float("inf")) == Epsilon.from_json(float("inf")) == UNBOUNDED
    written = json.dumps(UNBOUNDED.to_json(), allow_nan=False)
    assert written == '"unbounded"'
    assert Epsilon.from_json(json.loads(written)) == UNBOUNDED


def test_a_whole_number_is_read_as_a_number() -> None:
    found = Epsilon.from_json(3)
    assert found == Epsilon(3.0)
    assert type(found.value) is float


def test_a_format_is_for_the_number_alone() -> None:
    assert f"{Epsilon(2.0):.3f}" == "2.000"
    assert f"{UNBOUNDED:.3f}" == "unbounded"
    assert f"{UNKNOWN:.3f}" == "unknown"
