"""What is attacked is said in words; wrong ones are refused before anything is attacked."""

from __future__ import annotations

import pytest

from dpdl.attacks import scenarios
from dpdl.errors import InputError
from dpdl.studies.attack_request import SCENARIOS, AttackRequest, sizes_of


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("1", [1]),
        ("own", [None]),
        ("16", [None]),
        ("1,own,4", [1, None, 4]),
        ("2,16", [2, None]),
    ],
)
def test_sizes_are_numbers_or_the_runs_own(text: str, sizes: list) -> None:
    assert sizes_of(text, 16) == sizes


def test_a_size_that_is_no_number_is_refused() -> None:
    with pytest.raises(InputError, match="Batches must be whole numbers"):
        sizes_of("1,many", 16)


def test_agents_are_all_or_those_that_are_named() -> None:
    assert AttackRequest().agents is None
    assert AttackRequest(whose="2,0").agents == (0, 2)
    with pytest.raises(InputError, match="Agents must be whole numbers"):
        assert AttackRequest(whose="me").agents


def test_scenarios_are_those_of_the_code() -> None:
    assert set(SCENARIOS) == set(scenarios.SCENARIOS)
    for name in ("cg", "cg,mm", "all", None):
        assert AttackRequest(scenario=name).scenario == name


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        ({"scenario": "cg,mn"}, "Unknown scenario 'mn'. Did you mean 'mm'"),
        ({"rounds": "first"}, "Rounds must be whole numbers"),
        ({"batch": "own,big"}, "Batches must be whole numbers"),
    ],
)
def test_what_cannot_be_attacked_is_refused(change: dict, hint: str) -> None:
    with pytest.raises(InputError, match=hint):
        AttackRequest(**change)
