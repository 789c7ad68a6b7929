"""The paper's attack tables: its numbers, the runs they need, and the command that makes them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from dpdl.attacks import paper
from dpdl.attacks.harness import Effort
from dpdl.cli.attack_show import show
from dpdl.errors import InputError
from dpdl.folder.attack_facts import AttackFacts, PaperAndOurs
from dpdl.paper.cells import Place
from dpdl.studies.attack import AttackRequest
from dpdl.studies.attack_paper import attack_paper
from dpdl.studies.attack_watch import Unwatched
from tests.attacks.facts import case_scores
from tests.attacks.tiny import TINY
from tests.commands import dpdl as command


@pytest.mark.parametrize(
    ("cell", "hint"),
    [
        (("fashion-mnist", "ring", 10), "mnist"),
        (("mnist", "star", 10), "ring"),
        (("mnist", "ring", 12), "10, 20, 30"),
    ],
)
def test_what_is_not_in_the_paper_is_refused(cell, hint: str) -> None:
    with pytest.raises(InputError, match=hint):
        paper.experiments(Place(*cell), seed=0)


def test_both_runs_are_the_same_but_for_their_protection() -> None:
    runs = paper.experiments(Place("cifar10", "ring", 20), seed=3)
    differ = {
        k for k, v in runs["nd"].as_dict().items() if v != runs["dpdl"].as_dict()[k]
    }
    assert differ == {"noise", "clip_unit", "epsilon"}
    assert (
        runs["dpdl"].epsilon == 4.0
        and runs["nd"].noise == "none"
        and runs["nd"].rounds == 801
    )
    assert paper.experiments(Place("mnist", "complete", 10), seed=0)["nd"].lr == 0.01


def test_one_link_out_of_every_agent_is_recorded() -> None:
    e = paper.experiments(Place("mnist", "bipartite", 10), seed=0)["nd"]
    request = paper.PAPER.recording_request(e, [4, 1])
    assert request.links is not None
    assert sorted(i for i, _ in request.links) == list(range(10))
    assert request.rounds == (200, 400, 800) and request.batches == (1, 4)


def test_rows_of_the_last_round_stand_beside_the_papers() -> None:
    row = case_scores(mse=0.01)
    rows = [row, replace(row, round=200), replace(row, scenario="self")]
    (found,) = paper.PAPER.compared(rows, Place("mnist", "ring", 10))
    assert found.scenario == "nd-cg" and found.mse == PaperAndOurs(0.85, 0.01)
    assert (found.dataset, found.graph, found.agents) == ("mnist", "ring", 10)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ([], "Name recorded runs"),
        (["runs/x", "--paper", "mnist"], "not both"),
        (["runs/x", "--graph", "ring"], "belong to --paper"),
        (["--paper", "mnist", "--graph", "rign"], "ring"),
        (["--paper", "mnist", "--agents", "11"], "10, 20, 30"),
        (["--paper", "mnits"], "mnist"),
    ],
)
def test_wrong_words_are_one_sentence(
    words: list[str], hint: str, monkeypatch, capsys, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = command(monkeypatch, capsys, "attack", *words)
    assert code == 2 and hint in err and err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_what_the_paper_attacked_is_trained_attacked_and_compared(
    monkeypatch, capsys, tmp_path: Path
) -> None:
    """With a small data set and few rounds in place of the paper's."""
    folder, place = tmp_path / "made", Place("mnist", "ring", 10)
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
