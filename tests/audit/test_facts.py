"""Audits that were written come back as they were."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from dpdl.audit.certify import Certificate
from dpdl.audit.facts import (
    AuditFacts,
    EffectiveNoise,
    MeasuredErrors,
    facts_of,
)
from dpdl.audit.result import AuditResult, Measured
from dpdl.audit.setting import GameRules, setting_of_options
from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.folder.files import read_record
from dpdl.privacy.epsilon import UNBOUNDED, UNKNOWN, Epsilon
from tests.audit.worlds import ONE

EXAMPLES = Path(__file__).parent / "examples"
ONE_ERROR = Certificate(0.5, 0.1, 0.2, 0.3, 0.4, 0.5)
FOUND = AuditResult(
    threat=ONE,
    sigma=2.0,
    rate=0.1,
    agent=1,
    claimed=UNKNOWN,
    proven=UNBOUNDED,
    by_counting=ONE_ERROR,
    by_gdp=replace(ONE_ERROR, epsilon=0.75),
    sigma_eff_proven=0.0,
    sigma_eff_attack=math.inf,
    sigma_eff_measured=Measured(1.5, 1.0, math.inf),
)


@pytest.mark.parametrize("name", ["run", "unbounded"])
def test_files_are_kept_byte_for_byte(name: str) -> None:
    path = EXAMPLES / f"{name}.json"
    found = read_record(AuditFacts, path)
    assert json.dumps(found.to_json(), indent=2) + "\n" == path.read_text()


def test_numbers_have_types() -> None:
    found = read_record(AuditFacts, EXAMPLES / "unbounded.json")
    assert found.proven == UNBOUNDED and found.sigma_eff.proven == "unbounded"
    assert found.claimed.bounded and found.run is None
    assert found.sigma_eff.interval is not None
    low, high = found.sigma_eff.interval
    assert low < found.sigma_eff.measured < high
    assert found.options["alpha"] == found.alpha == 1.5


def test_what_is_not_a_number_is_a_text_or_null() -> None:
    assert EffectiveNoise.of(FOUND).to_json() == {
        "proven": "unbounded",
        "attack": "unbounded",
        "measured": 1.5,
        "interval": [1.0, "unbounded"],
    }
    sampled = EffectiveNoise.of(replace(FOUND, sigma_eff_measured=None))
    assert sampled.measured is None and sampled.interval is None
    nothing = Certificate(0.0, math.nan, math.nan, math.nan, 1.0, 1.0)
    assert MeasuredErrors.of(nothing) == MeasuredErrors(None, None, None, 1.0, 1.0)


def test_all_is_said_about_what_was_audited_and_how() -> None:
    e = Experiment(algorithm="gut", graph="ring", agents=3, batch=4, rounds=7)
    setting = setting_of_options(e, 40)
    rules = GameRules(20, 30, "along", 0.9, 5)
    facts = facts_of(FOUND, setting, rules, "runs/x", 1.5)
    assert (facts.claimed, facts.proven) == (UNKNOWN, UNBOUNDED)
    assert (facts.certified, facts.certified_lower_bound.gdp) == (0.5, 0.75)
    assert (facts.threat, facts.graph, facts.agents) == ("neighbours:1", "ring", 3)
    assert (facts.records, facts.batch, facts.rounds) == (40, 4, 7)
    assert (facts.parameters, facts.trials, facts.canaries) == (20, 30, 1)
    assert (facts.crowd, facts.confidence, facts.seed) == ("along", 0.9, 5)
    assert facts.alpha is None and facts.options["lr"] == setting.experiment.lr
    content = json.loads(json.dumps(facts.to_json(), allow_nan=False))
    assert AuditFacts.from_json(content) == facts
    assert content["claimed"] is None and content["proven"] == "unbounded"


def test_another_word_than_unbounded_is_refused() -> None:
    content = json.loads((EXAMPLES / "run.json").read_text())
    content["sigma_eff"]["attack"] = "boundless"
    with pytest.raises(InputError, match=r"sigma_eff.attack must be 'unbounded'"):
        AuditFacts.from_json(content)
    content["sigma_eff"]["attack"] = 1
    assert AuditFacts.from_json(content).proven == Epsilon(content["proven"])
