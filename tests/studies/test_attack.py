"""An attack on recorded runs: which cases, who, what is drawn and what is kept."""

from __future__ import annotations

import shutil
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from dpdl.attacks.effort import Effort
from dpdl.attacks.scenarios import AttackCase
from dpdl.attacks.workers import ShareWatch
from dpdl.folder.attack_facts import AttackFacts
from dpdl.planning.plan import Plan
from dpdl.studies.attack import attack_runs
from dpdl.studies.attack_request import AttackRequest
from dpdl.studies.attack_watch import Unwatched
from tests.attacks.runs import record_digits

LITTLE = Effort(iterations=2, restarts=1)


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    return record_digits(tmp_path_factory.mktemp("runs") / "digits")


def attacked(run: Path, **request) -> AttackFacts:
    return attack_runs([run], AttackRequest(effort=LITTLE, **request), Unwatched())


def test_the_smallest_batches_and_all_scenarios_are_the_default(run: Path) -> None:
    facts = attacked(run)
    cases = [(row.scenario, row.round, row.batch, row.labels) for row in facts.rows]
    assert cases == [(name, 2, 1, "known") for name in ("cg", "mm", "self")]
    assert facts.membership is None and facts.roc is None and facts.paper is None


def test_the_result_and_the_pictures_are_in_the_folder_of_the_first_run(
    run: Path, tmp_path: Path
) -> None:
    other = tmp_path / "more" / "picture.png"
    facts = attacked(run, scenario="cg", whose="1", gallery=other)
    folder = run / "attack"
    assert AttackFacts.read(folder / "attack.json") == facts
    assert (facts.gallery, facts.by_agent) == (str(other), str(folder / "agents.png"))
    assert other.read_bytes() == (folder / "gallery.png").read_bytes()
    assert facts.rows[0].images == 1 and list(facts.epsilon) == ["ND"]


def test_cases_are_the_product_of_what_is_chosen(run: Path) -> None:
    facts = attacked(run, scenario="mm,cg", batch="2,own", labels="recovered")
    cases = [(row.batch, row.scenario) for row in facts.rows]
    assert [scenario for _, scenario in cases] == ["mm", "cg"] * 2
    assert cases[0][0] == 2 and cases[2][0] > 2
    assert {row.labels for row in facts.rows} == {"recovered"}


def test_runs_of_one_algorithm_are_distinguished_by_their_folders(
    run: Path, tmp_path: Path
) -> None:
    shutil.copytree(run, tmp_path / "again")
    request = AttackRequest(scenario="cg", effort=LITTLE)
    facts = attack_runs([run, tmp_path / "again"], request, Unwatched())
    assert [row.who for row in facts.rows] == ["ND digits", "ND again"]
    assert facts.rows[0].mse == facts.rows[1].mse


def test_who_looks_on_hears_of_every_case(run: Path) -> None:
    heard: list[object] = []

    class Watching:
        shown = False

        def training(self, plan: Plan) -> AbstractContextManager:
            raise AssertionError("nothing is trained")

        def auditing(self, rounds: int) -> AbstractContextManager:
            raise AssertionError("nothing is audited")

        def attacking(self, cases: int) -> AbstractContextManager:
            heard.append(cases)
            return nullcontext(self.begin)

        def begin(self, case: AttackCase) -> ShareWatch:
            heard.append(case)
            return heard.append

    request = AttackRequest(scenario="cg", effort=Effort("inverting", 2, 1, seed=4))
    attack_runs([run], request, Watching())
    assert heard[0] == 1 and heard[1].scenario == "cg"
    assert heard[-1] == 1.0
