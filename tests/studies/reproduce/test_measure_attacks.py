"""The paper's attack tables, made again: what is missing is attacked once."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from dpdl.attacks import harness, paper
from dpdl.cli.reproduce_show import Announcer, show_attacks
from dpdl.errors import RunFailed
from dpdl.folder.attack_facts import AttackFacts
from dpdl.paper.cells import AttackedPlace, places
from dpdl.studies.attack import AttackRequest
from dpdl.studies.attack_paper import attack_paper
from dpdl.studies.attack_watch import Unwatched
from dpdl.studies.reproduce.forecast import Reproduced
from dpdl.studies.reproduce.measure_attacks import (
    AttackTools,
    measure_attacks,
    seconds_of,
)
from dpdl.studies.reproduce.queue import refuse_unfinished
from dpdl.studies.reproduce.request import ReproductionRequest
from dpdl.studies.reproduce.run_times import run_times
from dpdl.training.interrupt import Interrupted
from tests.attacks.tiny import TINY
from tests.studies.reproduce.attacked import RING, facts


def test_time_is_that_of_both_runs_and_the_attack(tmp_path: Path) -> None:
    times = run_times(tmp_path)
    runs = paper.experiments(RING, 0).values()
    trained = sum(times.seconds(e.resolved()) for e in runs)
    assert seconds_of(RING, times) == pytest.approx(trained + 360) and trained > 0


# ------------------------------------------------------------------ attacking
def measured(folder: Path, words: str, attack, table: str = "attack-mnist", **more):
    """What `attack` makes of the places of a table; other arguments belong to the tools."""
    minutes = more.pop("minutes", None)
    request = ReproductionRequest(
        table,
        words,
        minutes=minutes,
        jobs=1,
        out=folder / "results",
        runs=folder / "runs",
    )
    tools = AttackTools(attack, **more)
    return measure_attacks(request, Unwatched(), tools=tools)


def no_attack(*_: object) -> AttackFacts:
    pytest.fail("an attack was begun")


def test_what_is_missing_is_attacked_once(capsys, tmp_path: Path) -> None:
    request = AttackRequest(
        whose="0,1", effort=harness.Effort(iterations=3, restarts=1)
    )
    attack = partial(attack_paper, paper=TINY)
    place = "graph=ring,agents=10"
    shown = measured(tmp_path, place, attack, request=request).facts
    path = tmp_path / "results" / "attack" / "mnist-ring-10.json"
    assert [row.scenario for row in shown.cells] == [
        "nd-cg",
        "nd-mm",
        "dpdl-cg",
        "dpdl-mm",
    ]
    assert shown.files == (str(path),) and shown.cells[0].mse.paper == 0.85
    found = json.loads(path.read_text())
    assert found["paper"] == shown.to_json()["cells"]
    assert set(found["runs"]) == {"ND", "DPDL"}
    assert "3 iterations, 1 starts" in found["what"]
    made = tmp_path / "runs" / "attack-mnist-ring-10-seed0"
    assert (made / "attack.json").exists() and (made / "gallery.png").exists()

    before = path.stat().st_mtime_ns
    again = measured(tmp_path, place, no_attack)
    assert again == Reproduced(shown, {}) and path.stat().st_mtime_ns == before
    show_attacks(again.facts)
    out = capsys.readouterr().out
    assert "the paper's attack and ours" in " ".join(out.split())
    assert f"All numbers: {path}" in out


def saying(say):
    """In place of an attack: what `say` says of a place."""

    def attack(place: AttackedPlace, folder: Path, *_: object) -> AttackFacts:
        say(place)
        return facts(place, folder)

    return attack


def test_every_selected_place_is_attacked(tmp_path: Path) -> None:
    done: list[AttackedPlace] = []
    made = measured(tmp_path, "agents=10", saying(done.append), "attack-cifar10")
    assert done == places("attack-cifar10", "agents=10")
    assert len(made.facts.cells) == 12
    names = sorted(path.stem for path in (tmp_path / "results/attack").iterdir())
    assert names == ["cifar10-bipartite-10", "cifar10-complete-10", "cifar10-ring-10"]


def test_what_is_about_to_be_attacked_is_announced(
    monkeypatch, capsys, tmp_path: Path
) -> None:
    said = []
    request = ReproductionRequest(
        "attack-mnist", "agents=10", out=tmp_path, runs=tmp_path / "runs"
    )
    tools = AttackTools(saying(lambda place: None))
    measure_attacks(request, Unwatched(), said.append, tools)
    (beginning,) = said
    assert len(beginning.forecast.seconds) == 3
    Announcer("attacks", quiet=False)(beginning)
    assert "3 attacks, about" in capsys.readouterr().err


def test_what_was_finished_before_an_interruption_is_kept(tmp_path: Path) -> None:
    def stop(place: AttackedPlace) -> None:
        if place.graph == "complete":
            raise KeyboardInterrupt

    made = measured(tmp_path, "agents=10", saying(stop))
    with pytest.raises(Interrupted, match="with 1 of 3 runs finished; continue with"):
        refuse_unfinished(made.endings)
    assert {row.graph for row in made.facts.cells} == {"bipartite"}


def test_minutes_end_what_goes_on(tmp_path: Path) -> None:
    def slow(
        place: AttackedPlace, folder: Path, request: AttackRequest, watch
    ) -> AttackFacts:
        if place.graph == "complete" and request.stop.wait(30):
            raise Interrupted("The time is over.")
        return facts(place, folder)

    made = measured(
        tmp_path, "agents=10", slow, minutes=0.05, seconds=lambda place, times: 0.0
    )
    with pytest.raises(Interrupted, match="with 1 of 3 runs finished"):
        refuse_unfinished(made.endings)


def test_an_attack_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    def fail(place: AttackedPlace) -> None:
        if place.graph == "complete":
            raise RunFailed("Training diverged in round 3.")

    made = measured(tmp_path, "agents=10", saying(fail))
    hint = "attack-mnist-complete-10-seed0: Training diverged in round 3."
    with pytest.raises(RunFailed, match=hint):
        refuse_unfinished(made.endings)
    assert {row.graph for row in made.facts.cells} == {"bipartite", "ring"}
