"""The relations that have a name are those that can be accounted for."""

from __future__ import annotations

import pytest

from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.privacy.accounting import Step, epsilon
from dpdl.privacy.losses import neighbouring
from dpdl.privacy.relations import CHANGES

ROUNDS = [(Step(2.0, 10, 100), 5)]


@pytest.mark.parametrize("relation", CHANGES)
def test_a_relation_has_an_epsilon_and_a_name_elsewhere(relation: str) -> None:
    assert 0 < epsilon(ROUNDS, 1e-5, relation) < 10
    assert neighbouring(relation) is not None
    assert Experiment(dataset="digits", relation=relation).relation == relation


def test_a_replaced_record_costs_more_than_one_added_or_removed() -> None:
    costs = [epsilon(ROUNDS, 1e-5, name) for name in ("add-remove", "replace-one")]
    assert costs[0] < costs[1]


def test_another_relation_is_refused_with_those_there_are() -> None:
    with pytest.raises(InputError, match="one of add-remove, replace-one, not 'swap'"):
        epsilon(ROUNDS, 1e-5, "swap")
