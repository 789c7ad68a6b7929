"""What a person asks the ledger of a data set."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from dpdl.folder.data_ledger_facts import LedgerFacts, facts_of
from dpdl.records import written
from tests.folder.data_ledgers import LARGE, ROUND, made


def test_facts_say_who_spent_what(tmp_path: Path) -> None:
    with made(tmp_path, about="scans") as ledger:
        ledger.reserve("a", [ROUND.times(1000)], threat="neighbours:1")
        ledger.debit("a", 0, 1)
        facts = facts_of(ledger)
        spending = ledger.epsilon()
    (run,) = facts.runs
    assert (run.run, run.rounds_spent, run.rounds_reserved) == ("a", 1, 999)
    assert run.threat == "neighbours:1"
    assert facts.about == "scans" and facts.budget == 1.0
    assert facts.spent.value == spending.spent
    assert run.epsilon == facts.reserved, "it is the only run"


def test_facts_are_json_also_when_nothing_bounds_the_epsilon(tmp_path: Path) -> None:
    with made(tmp_path) as ledger:
        ledger.spent_up_to("lost", 0, 3, LARGE)
        ledger.spent_up_to("open", 0, 1, replace(LARGE, sigma=0.0))
        facts = facts_of(ledger)
    text = json.dumps(written(facts), allow_nan=False)
    assert '"spent": "unbounded"' in text
    assert LedgerFacts.from_json(json.loads(text)) == facts
