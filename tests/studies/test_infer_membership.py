"""Membership inference of attacked runs stands beside what is proven and certified."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

import dpdl
from dpdl.attacks.scenarios import AttackCase
from dpdl.attacks.scoring import Attacked
from dpdl.folder.attack_facts import EpsilonBounds
from dpdl.studies.attack_watch import AttackWatch, Unwatched
from dpdl.studies.infer_membership import certified_epsilon, infer_membership
from dpdl.training.recording import RecordingRequest
from dpdl.training.train import replan
from tests.attacks.runs import OPTIONS, record_digits


class Case:
    """An outcome, of which only the case matters."""

    def __init__(self, case: AttackCase) -> None:
        self.case = case


def attacked(run: Path, *cases: AttackCase) -> Attacked:
    (run / "attack").mkdir(exist_ok=True)
    return Attacked(run, [Case(case) for case in cases], replan(run))


def trained(path: Path, **options) -> Attacked:
    changed = {**OPTIONS, "noise": "accountant", "clip_unit": "sample", **options}
    e = dpdl.Experiment(**changed)
    dpdl.train(e, out=path, record=RecordingRequest((2,)))
    return attacked(path)


def forbidden(*_: object) -> AbstractContextManager:
    raise AssertionError("nothing else is done")


def test_every_case_has_a_row_and_a_curve(tmp_path: Path) -> None:
    run = record_digits(tmp_path / "digits")
    cases = AttackCase("cg", 2, 1), AttackCase("cg", 2, None)
    seen = attacked(run, *cases)
    found, picture = infer_membership([seen], tmp_path, [0, 2], 5, Unwatched())
    assert [(one.scenario, one.round, one.batch) for one in found] == [
        ("cg", 2, 1),
        ("cg", 2, None),
    ]
    first = found[0]
    assert (first.run, first.who, first.agents) == (str(run), "ND", (0, 2))
    assert (first.seed, first.members, first.non_members) == (5, 2, 2)
    assert first.scores.gradient.auc == 1.0
    assert picture == tmp_path / "membership.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    why = "without noise every epsilon is refuted"
    assert first.epsilon == EpsilonBounds(seen.epsilon, None, why)


def test_a_run_is_audited_once(tmp_path: Path) -> None:
    seen = trained(tmp_path / "run", sigma=2.0, algorithm="gradient-tracking")
    rounds: list[int] = []

    class Counting:
        shown = False
        training = attacking = forbidden

        def auditing(self, planned: int) -> AbstractContextManager:
            rounds.append(planned)
            return nullcontext(rounds.append)

    watch: AttackWatch = Counting()
    bounds = certified_epsilon(seen, watch)
    assert rounds == [3, 1, 2, 3]
    assert 0 <= bounds.certified <= bounds.proven.value and bounds.why is None
    fewest = min(len(part) for part in seen.plan.parts)
    assert (bounds.confidence, bounds.canaries) == (0.95, fewest)
    path = tmp_path / "run" / "attack" / "audit.json"
    assert EpsilonBounds.read(path) == bounds
    assert certified_epsilon(seen, watch) == bounds and len(rounds) == 4


@pytest.mark.parametrize(
    "options", [{"sampling": "fixed"}, {"clip_unit": "batch"}], ids=str
)
def test_what_the_audit_does_not_play_is_not_certified(
    tmp_path: Path, options: dict
) -> None:
    seen = trained(tmp_path / "run", sigma=2.0, **options)
    bounds = certified_epsilon(seen, Unwatched())
    assert bounds.certified is None
    assert bounds.why == (
        "the audit plays add-remove with Poisson sampling and every sample clipped"
    )
