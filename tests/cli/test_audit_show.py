"""An audit in a table, a line about the noise, a line about the game, and a sentence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dpdl.audit.facts import AuditFacts, EffectiveNoise
from dpdl.cli.audit_show import show
from dpdl.folder.files import read_record
from dpdl.privacy.epsilon import UNKNOWN

EXAMPLES = Path(__file__).parents[1] / "audit" / "examples"
RUN = read_record(AuditFacts, EXAMPLES / "run.json")
FULL = read_record(AuditFacts, EXAMPLES / "unbounded.json")


def shown(facts: AuditFacts, capsys: pytest.CaptureFixture[str]) -> str:
    show(facts)
    return " ".join(capsys.readouterr().out.split())


def test_all_bounds_are_in_the_table(capsys) -> None:
    text = shown(FULL, capsys)
    for row in (
        "dpdl, complete of 4 agents, against eavesdropper",
        "epsilon at delta = 1e-05, sigma = 0.5",
        "claimed by Theorem 1 │ 15.48",
        "certified lower bound, by counting errors │ 3.149",
        "estimate, if the trade-off is Gaussian │ 16.29",
        "proven upper bound, by the accountant │ unbounded",
        "the accountant proves nothing here",
    ):
        assert row in text


def test_a_claim_that_nobody_made_has_no_row(capsys) -> None:
    assert "Theorem 1 │" not in shown(replace(FULL, claimed=UNKNOWN), capsys)


def test_measured_noise_has_its_interval_and_private_coins_have_none(capsys) -> None:
    measured = "measured 0.1775 (between 0.1656 and 0.1912)"
    assert f"proven unbounded, attack 0.1636, {measured}" in shown(FULL, capsys)
    assert "sigma_eff: proven 2.309, attack 2.33 100 canaries" in shown(RUN, capsys)
    vague = EffectiveNoise(1.0, "unbounded", 2.0, (1.5, "unbounded"))
    text = shown(replace(FULL, sigma_eff=vague), capsys)
    assert "attack unbounded, measured 2 (between 1.5 and unbounded)" in text


def test_the_game_is_described(capsys) -> None:
    text = shown(replace(FULL, seconds=12.4), capsys)
    assert "400 canaries, 4 rounds, confidence 95%, 12 s" in text
    alone = shown(replace(FULL, trials=30), capsys)
    assert "30 trials with the record and without it, 4 rounds" in alone
