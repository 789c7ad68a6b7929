"""The epsilons of a run: one claim, and one proof per listener."""

from __future__ import annotations

import pytest

from dpdl.errors import InputError
from dpdl.privacy.epsilon import UNBOUNDED, UNKNOWN, Epsilon
from dpdl.privacy.epsilons import Epsilons
from dpdl.privacy.threats import EAVESDROPPER, FINAL_MODEL, ONE_NEIGHBOUR, Threat

CONTENT = {
    "claimed_theorem1": 0.5,
    "eavesdropper": "unbounded",
    "neighbour": 3.0,
    "neighbours:2": 4.0,
}


def test_they_come_back_in_their_order() -> None:
    found = Epsilons.from_json(CONTENT)
    assert list(found.to_json().items()) == list(CONTENT.items())
    assert [name for name, _ in found.items()] == list(CONTENT)


def test_a_proof_is_found_by_its_threat() -> None:
    found = Epsilons.from_json(CONTENT)
    assert found.against(EAVESDROPPER) == UNBOUNDED
    assert found.against(Threat("neighbours", 2)) == Epsilon(4.0)
    assert found.against(ONE_NEIGHBOUR) == Epsilon(3.0)
    assert found.against(FINAL_MODEL) == UNKNOWN


def test_the_claim_is_never_taken_for_a_proof() -> None:
    found = Epsilons.from_json(CONTENT)
    assert "claimed_theorem1" not in found.proven
    assert Epsilons.from_json({}).to_json() == {"claimed_theorem1": None}


def test_a_word_that_is_no_epsilon_is_refused() -> None:
    with pytest.raises(InputError, match="eavesdropper must be a number"):
        Epsilons.from_json({"eavesdropper": "little"})
