"""Attacks beside the paper's, as if they had been made."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from dpdl.attacks import harness, paper
from dpdl.folder.attack_facts import AttackFacts
from dpdl.paper.cells import AttackedPlace
from dpdl.privacy.epsilon import UNBOUNDED
from dpdl.privacy.epsilons import Epsilons
from dpdl.studies.reproduce import attack_store
from tests.attacks.facts import MEAN, case_scores
from tests.folder.measured import scores, summary

RING = AttackedPlace("mnist", "ring", 10)
SUMMARY = summary(
    rounds=801,
    sigma=6.90512,
    score=replace(scores(0.5), average_model=0.98764),
    epsilon=Epsilons(proven={"eavesdropper": UNBOUNDED}),
)
"""Of both runs that are attacked."""


def facts(
    place: AttackedPlace, run: Path, scenarios: tuple[str, ...] = ("cg", "mm")
) -> AttackFacts:
    """What an attack found, with both runs in a folder."""
    rows = []
    for who in ("ND", "DPDL"):
        folder = run / who
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "summary.json").write_text(json.dumps(SUMMARY.to_json()))
        for scenario in scenarios:
            row = case_scores(
                run=str(folder),
                who=who,
                scenario=scenario,
                mse=0.123456,
                psnr=9.87654321,
                label_recovery=None,
            )
            rows.append(row)
    beside = tuple(paper.PAPER.compared(rows, place))
    return AttackFacts(tuple(rows), (MEAN,), {"ND": UNBOUNDED}, paper=beside)


def entered_attack(
    out: Path, place: AttackedPlace, scenarios: tuple[str, ...] = ("cg", "mm")
) -> None:
    """The result of a place."""
    made = facts(place, out / "made", scenarios)
    attack_store.add(out, place, paper.kept(made, place, harness.Effort()))
