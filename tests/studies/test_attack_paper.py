"""The paper's attack: what is missing is trained, all is attacked once, and stands beside it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from dpdl.attacks.harness import Effort
from dpdl.cli.attack_show import show
from dpdl.errors import InputError
from dpdl.folder.attack_facts import AttackFacts
from dpdl.paper.cells import AttackedPlace
from dpdl.studies.attack import AttackRequest
from dpdl.studies.attack_paper import attack_paper, folder_of
from dpdl.studies.attack_watch import Unwatched
from tests.attacks.tiny import TINY
from tests.commands import dpdl as command


def test_what_the_paper_attacked_is_trained_attacked_and_compared(
    monkeypatch, capsys, tmp_path: Path
) -> None:
    """With a small data set and few rounds in place of the paper's."""
    folder, place = tmp_path / "made", AttackedPlace("mnist", "ring", 10)
    request = AttackRequest(
        whose="0,1", effort=Effort(iterations=3, restarts=1), membership=True
    )

    def attack(**more) -> AttackFacts:
        wanted = replace(request, **more)
        return attack_paper(place, folder, wanted, Unwatched(), TINY)

    facts = attack()
    assert [row.scenario for row in facts.paper] == [
        "nd-cg",
        "nd-mm",
        "dpdl-cg",
        "dpdl-mm",
    ]
    assert AttackFacts.read(folder / "attack.json") == facts
    bounds = {row.who: row.epsilon for row in facts.membership}
    assert bounds["ND"].to_json() == {
        "proven": "unbounded",
        "certified": None,
        "why": "without noise every epsilon is refuted",
    }
    assert 0 <= bounds["DPDL"].certified <= bounds["DPDL"].proven.finite
    assert bounds["DPDL"].proven == facts.epsilon["DPDL"]

    with pytest.raises(InputError, match="did not record batches of 2; choose another"):
        attack(batch="2")
    with pytest.raises(InputError, match="was started with seed = 0, not 1"):
        attack(effort=Effort(seed=1))

    def files() -> dict[Path, int]:
        every = folder.glob("*/**/*.safetensors")
        return {path: path.stat().st_mtime_ns for path in every}

    before = files()
    show(attack())
    shown = " ".join(capsys.readouterr().out.split())
    for part in (
        "the paper's attack and ours",
        "found, 1 % false",
        "the audit certifies at least",
    ):
        assert part in shown
    assert before == files(), "nothing is done twice"

    code, out, _ = command(monkeypatch, capsys, "report", str(folder), "--json")
    sections = json.loads(out)["sections"]
    assert code == 0 and sections == ["What your neighbour could rebuild"]


def test_runs_of_a_place_and_a_seed_have_a_folder_of_their_own() -> None:
    place = AttackedPlace("mnist", "ring", 10)
    assert folder_of(place, 0) == "attack-mnist-ring-10-seed0"
    assert folder_of(place, 1) != folder_of(place._replace(agents=20), 1)
