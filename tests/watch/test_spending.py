"""Epsilons are those of the accountant, one number of rounds after the other."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from dpdl.folder.ledger_content import read
from dpdl.folder.ledger_cost import model_of
from dpdl.folder.ledger_lines import Header
from dpdl.folder.run_folder import RunFolder
from dpdl.privacy.threats import DEFAULT_THREATS
from dpdl.watch.charges import Charges
from dpdl.watch.spending import GROWTH, OFTEN, POINTS, Spending
from tests.folder.measured import RUN
from tests.watch.growing import Growing


def header_of(path: Path) -> Header:
    charges = Charges(path)
    charges.refresh()
    assert charges.header is not None
    return charges.header


@pytest.fixture
def header(tmp_path: Path) -> Header:
    return header_of(Growing(tmp_path / "run", rounds=12).ledger)


def finish(spending: Spending) -> int:
    """Compute all that is wanted; how much that was."""
    count = 0
    while (rounds := spending.wanted) is not None:
        spending.compute(rounds)
        count += 1
    return count


def test_it_says_what_the_accountant_says(header: Header) -> None:
    spending = Spending(header, 12, {})
    spending.charge(5, ended=True)
    finish(spending)
    found, model = spending.to_json(), model_of(header, 12)
    for threat in DEFAULT_THREATS:
        assert found["spent"][threat.key] == model.worst(threat, 5)
        assert found["end"][threat.key] == model.worst(threat, 12)
        assert found["proven"][threat.key] == [
            model.worst(threat, t) for t in found["rounds"]
        ]
    assert found["spent_after"] == 5
    assert found["main"] == "eavesdropper"


def test_it_agrees_with_the_summary_of_a_finished_run() -> None:
    run = RunFolder(RUN)
    content, epsilons = read(run.ledger_path), run.summary().epsilon
    spending = Spending(content.header, content.rounds, run.facts().experiment)
    spending.charge(content.charged(), ended=True)
    finish(spending)
    found = spending.to_json()
    assert found["spent"] == pytest.approx(
        {key: value.value for key, value in epsilons.proven.items()}
    )
    assert found["claimed"] == pytest.approx(epsilons.claimed_theorem1.value)


def test_theorem_1_has_the_constants_of_the_run(header: Header) -> None:
    claims = []
    for c2 in (1.0, 4.0):
        spending = Spending(header, 12, {"c2": c2})
        spending.compute(1)
        claims.append(spending.to_json()["claimed"])
    assert claims[0] != claims[1]


def test_what_is_spent_comes_first_and_then_the_end(header: Header) -> None:
    spending = Spending(header, 1000, {})
    spending.charge(700, ended=False)
    assert spending.wanted == 700
    spending._known = {700: {}}
    assert spending.wanted == 1000


def test_the_work_is_bounded_however_many_rounds_there_are(header: Header) -> None:
    spending, asked = Spending(header, 5000, {}), set()
    for charged in range(1, 5001):
        spending.charge(charged, ended=charged == 5000)
        while (rounds := spending.wanted) is not None:
            asked.add(rounds)
            spending._known = {**spending._known, rounds: {}}
    assert 5000 in asked
    growing = math.log(5000) / math.log(1 + 1 / GROWTH)
    assert len(asked) <= OFTEN + POINTS + 3 + growing


def test_what_is_spent_is_not_far_behind_at_the_beginning_of_a_long_run(
    header: Header,
) -> None:
    spending = Spending(header, 1_000_000, {})
    for charged in range(1, 3000):
        spending.charge(charged, ended=False)
        assert spending._spent >= charged / (1 + 1 / GROWTH)


def test_a_run_of_an_old_format_has_no_curve(header: Header) -> None:
    old = {**header.to_json(), "ledger": 1}
    for name in ("rounds", "randomness", "weights", "parameters", "options"):
        old.pop(name)
    assert Spending(Header.from_json(old), 10, {}).wanted is None


def test_what_cannot_be_computed_is_said_and_not_tried_again(header: Header) -> None:
    spending = Spending(header, 12, {"c2": "many"})
    spending.compute(12)
    assert "c2" in spending.to_json()["wrong"]
    assert spending.wanted is None


def test_nothing_is_known_at_first(header: Header) -> None:
    found = Spending(header, 12, {}).to_json()
    assert (found["rounds"], found["spent"], found["end"]) == ([], {}, {})
    assert "claimed" not in found


def test_the_noise_is_that_of_one_answer(header: Header) -> None:
    spending = Spending(header, 12, {})
    spending.compute(1)
    std = header.sigma * header.clip / header.batch
    expected = std * header.parameters**0.5
    assert spending.to_json()["noise"] == pytest.approx(expected)
