"""The paper's attack tables, made again: what is missing is done once, and stands beside the paper's."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from dpdl.attacks import harness, paper
from dpdl.cli.reproduce_show import Announcer, show_attacks
from dpdl.errors import InputError, RunFailed
from dpdl.folder.attack_facts import AttackFacts
from dpdl.paper import tables
from dpdl.paper.cells import Place, places
from dpdl.privacy.epsilon import UNBOUNDED
from dpdl.studies.attack import AttackRequest
from dpdl.studies.attack_paper import attack_paper
from dpdl.studies.attack_watch import Unwatched
from dpdl.studies.reproduce import attack_store, beside_paper
from dpdl.studies.reproduce.clock import clock_of
from dpdl.studies.reproduce.forecast import Reproduced
from dpdl.studies.reproduce.measure_attacks import (
    AttackTools,
    measure_attacks,
    seconds_of,
)
from dpdl.studies.reproduce.queue import refuse_unfinished
from dpdl.studies.reproduce.request import ReproductionRequest
from dpdl.training.interrupt import Interrupted
from tests.attacks.facts import MEAN, case_scores
from tests.attacks.tiny import TINY
from tests.commands import dpdl as command

RING = Place("mnist", "ring", 10)
KEPT = Path(__file__).parents[3] / "results" / "attack" / "mnist-complete-10.json"
"""One that was measured in earnest."""


def facts(place: Place, run: Path, scenarios=("cg", "mm")) -> AttackFacts:
    """What an attack found, with both runs in a folder."""
    rows = []
    for who in ("ND", "DPDL"):
        folder = run / who
        folder.mkdir(parents=True, exist_ok=True)
        summary = {
            "accuracy": {"average_model": 0.98764, "mean": 0.5},
            "rounds": 801,
            "sigma": 6.90512,
        }
        (folder / "summary.json").write_text(
            json.dumps({**summary, "epsilon": {"eavesdropper": "unbounded"}})
        )
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


def entered(out: Path, place: Place, **more) -> None:
    made = facts(place, out / "made", **more)
    attack_store.add(out, place, paper.kept(made, place, harness.Effort()))


# ------------------------------------------------------------------ which
def test_the_places_are_the_papers() -> None:
    assert (
        len(places()) == 18
        and len(places("attack-mnist")) == len(places("attack-cifar10")) == 9
    )
    assert {cell["table"] for cell in tables()["attack"]} == {
        "attack-mnist",
        "attack-cifar10",
    }
    assert places("attack-mnist", "graph=ring,agents=10") == [RING]
    assert [place.agents for place in places("attack-mnist")] == [10] * 3 + [20] * 3 + [
        30
    ] * 3, "small ones first"
    assert RING.name == "mnist-ring-10"


@pytest.mark.parametrize(
    ("table", "words", "hint"),
    [
        ("attack-cifar", "", "Did you mean 'attack-cifar10'"),
        (
            "attack-mnist",
            "dataset=cifar10",
            "No cell of the paper has dataset=cifar10 in attack-mnist",
        ),
        ("attack-mnist", "agents=11", "10, 20, 30"),
        ("attack-mnist", "graph=star", "ring"),
        ("attack-mnist", "epsilon=0.5", "Allowed: agents, dataset, graph"),
        ("attack-mnist", "ring", "name=value"),
    ],
)
def test_what_a_table_does_not_have_is_refused(
    table: str, words: str, hint: str, monkeypatch, capsys, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=hint):
        places(table, words)
    monkeypatch.chdir(tmp_path)
    code, _, err = command(monkeypatch, capsys, "reproduce", table, "--cells", words)
    assert (
        code == 2
        and hint in err
        and err.count("\n") == 1
        and list(tmp_path.iterdir()) == []
    )


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--mode", "sound"], "no modes"),
        (["--mode", "all"], "no modes"),
        (["--seeds", "2"], "seed 0 only"),
        (["--jobs", "0"], "jobs"),
        (["--minutes", "0.01"], "too few for one cell"),
    ],
)
def test_options_of_other_tables_are_refused(
    words: list[str], hint: str, monkeypatch, capsys, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = command(monkeypatch, capsys, "reproduce", "attack-mnist", *words)
    assert (
        code == 2
        and hint in err
        and err.count("\n") == 1
        and list(tmp_path.iterdir()) == []
    )


# ------------------------------------------------------------------ results
def shape(value: object) -> object:
    """Names, however deep, of the first of equal things."""
    if isinstance(value, dict):
        return {name: shape(part) for name, part in value.items()}
    return [shape(value[0])] if isinstance(value, list) else None


def test_the_format_is_that_of_the_files_there_are(tmp_path: Path) -> None:
    entered(tmp_path, RING)
    found = json.loads((tmp_path / "attack" / "mnist-ring-10.json").read_text())
    before = json.loads(KEPT.read_text())
    assert "recomputed" in before.pop("note")
    for run in (*found["runs"].values(), *before["runs"].values()):
        run["epsilon"] = None
    assert shape(found) == shape(before) and list(found) == list(before)
    assert found["what"] == before["what"] and "run" not in found["rows"][0]
    assert (found["rows"][0]["mse"], found["runs"]["ND"]["accuracy"]) == (
        0.1235,
        0.9876,
    )
    assert found["paper"][0]["psnr"] == {"paper": 6.84, "ours": 9.8765}


def test_what_was_attacked_of_many_agents_is_said(tmp_path: Path) -> None:
    place = Place("mnist", "ring", 20)
    entered(tmp_path, place)
    found = attack_store.read(tmp_path, place)
    assert found and "one of each of the first 10 agents;" in found.what


def test_cells_are_counted_metric_by_metric(tmp_path: Path) -> None:
    assert attack_store.count(tmp_path) == {"measured": 0, "of": 216}
    entered(tmp_path, RING)
    assert attack_store.count(tmp_path) == {"measured": 12, "of": 216}
    entered(tmp_path, Place("cifar10", "complete", 30), scenarios=("cg", "self"))
    assert attack_store.count(tmp_path) == {"measured": 18, "of": 216}, (
        "self is not in the paper"
    )
    path = attack_store.path_of(tmp_path, RING)
    found = json.loads(path.read_text())
    found["paper"][0]["mse"]["ours"] = None
    more = [*found["paper"][1:], {**found["paper"][1], "scenario": "dpdl-self"}]
    path.write_text(json.dumps({**found, "paper": found["paper"] + more}))
    assert attack_store.count(tmp_path)["measured"] == 17, (
        "each once, only what was measured, only what is in the paper"
    )
    assert beside_paper.status(tmp_path)["attacks"] == {"measured": 17, "of": 216}


@pytest.mark.parametrize("content", ["{", "[]", "{}"])
def test_damaged_results_are_refused_in_one_sentence(
    content: str, monkeypatch, capsys, tmp_path: Path
) -> None:
    path = attack_store.path_of(tmp_path, RING)
    path.parent.mkdir()
    path.write_text(content)
    for words in (["status"], ["attack-mnist"]):
        code, _, err = command(
            monkeypatch, capsys, "reproduce", *words, "--out", str(tmp_path)
        )
        assert code == 2 and str(path) in err and err.count("\n") == 1


def test_status_counts_attacks(monkeypatch, capsys, tmp_path: Path) -> None:
    entered(tmp_path, RING)
    code, out, _ = command(
        monkeypatch, capsys, "reproduce", "status", "--out", str(tmp_path)
    )
    assert (
        code == 0
        and "Attack cells measured: 12 of 216." in out
        and "None of these cells was measured yet" in out
    )
    code, out, _ = command(
        monkeypatch, capsys, "reproduce", "status", "--out", str(tmp_path), "--json"
    )
    told = json.loads(out)
    assert told["attacks"] == {"measured": 12, "of": 216} and {
        "measured",
        "of",
        "cells",
        "rankings",
    } <= set(told)


# ------------------------------------------------------------------ time
def test_time_is_that_of_both_runs_and_the_attack(tmp_path: Path) -> None:
    clock = clock_of(tmp_path)
    runs = paper.experiments(RING, 0).values()
    trained = sum(clock.seconds(e.resolved()) for e in runs)
    assert seconds_of(RING, clock) == pytest.approx(trained + 360) and trained > 0


def test_a_dry_run_lists_what_is_missing(monkeypatch, capsys, tmp_path: Path) -> None:
    entered(tmp_path, RING)
    words = [
        "reproduce",
        "attack-mnist",
        "--cells",
        "graph=ring",
        "--out",
        str(tmp_path),
        "--dry-run",
    ]
    code, out, _ = command(monkeypatch, capsys, *words, "--json", "--jobs", "1")
    told = json.loads(out)
    assert code == 0 and [run["name"] for run in told["runs"]] == [
        "attack-mnist-ring-20-seed0",
        "attack-mnist-ring-30-seed0",
    ]
    assert told["minutes"] == pytest.approx(
        sum(run["seconds"] for run in told["runs"]) / 60, abs=0.1
    )
    enough = str(told["runs"][0]["seconds"] / 60 + 0.1)
    code, out, _ = command(
        monkeypatch, capsys, *words, "--json", "--jobs", "1", "--minutes", enough
    )
    assert [run["name"] for run in json.loads(out)["runs"]] == [
        "attack-mnist-ring-20-seed0"
    ]
    code, out, _ = command(monkeypatch, capsys, *words, "--jobs", "1")
    assert code == 0 and "2 attacks, about" in out and "with 1 processes" in out


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


def no_attack(*_: object) -> dict:
    pytest.fail("an attack was begun")


def test_what_is_missing_is_attacked_once(capsys, tmp_path: Path) -> None:
    asked = AttackRequest(whose="0,1", effort=harness.Effort(iterations=3, restarts=1))
    attack = partial(attack_paper, paper=TINY)
    place = "graph=ring,agents=10"
    told = measured(tmp_path, place, attack, request=asked).facts
    path = tmp_path / "results" / "attack" / "mnist-ring-10.json"
    assert [row["scenario"] for row in told["cells"]] == [
        "nd-cg",
        "nd-mm",
        "dpdl-cg",
        "dpdl-mm",
    ]
    assert told["files"] == [str(path)]
    found = json.loads(path.read_text())
    assert found["paper"] == told["cells"] and told["cells"][0]["mse"]["paper"] == 0.85
    assert set(found["runs"]) == {"ND", "DPDL"}
    assert "3 iterations, 1 starts" in found["what"]
    made = tmp_path / "runs" / "attack-mnist-ring-10-seed0"
    assert (made / "attack.json").exists() and (made / "gallery.png").exists()

    before = path.stat().st_mtime_ns
    again = measured(tmp_path, place, no_attack)
    assert again == Reproduced(told, {}) and path.stat().st_mtime_ns == before
    show_attacks(again.facts)
    out = capsys.readouterr().out
    assert "the paper's attack and ours" in " ".join(out.split())
    assert f"All numbers: {path}" in out


def saying(say):
    """In place of an attack: what `say` says of a place."""

    def attack(place: Place, folder: Path, *_: object) -> dict:
        say(place)
        return facts(place, folder)

    return attack


def test_every_selected_place_is_attacked(tmp_path: Path) -> None:
    done: list[Place] = []
    made = measured(tmp_path, "agents=10", saying(done.append), "attack-cifar10")
    assert done == places("attack-cifar10", "agents=10")
    assert len(made.facts["cells"]) == 12
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
    def stop(place: Place) -> None:
        if place.graph == "complete":
            raise KeyboardInterrupt

    made = measured(tmp_path, "agents=10", saying(stop))
    with pytest.raises(Interrupted, match="with 1 of 3 runs finished; continue with"):
        refuse_unfinished(made.endings)
    assert {row["graph"] for row in made.facts["cells"]} == {"bipartite"}


def test_minutes_end_what_goes_on(tmp_path: Path) -> None:
    def slow(place: Place, folder: Path, request: AttackRequest, watch) -> dict:
        if place.graph == "complete" and request.stop.wait(30):
            raise Interrupted("The time is over.")
        return facts(place, folder)

    made = measured(
        tmp_path, "agents=10", slow, minutes=0.05, seconds=lambda place, clock: 0.0
    )
    with pytest.raises(Interrupted, match="with 1 of 3 runs finished"):
        refuse_unfinished(made.endings)


def test_an_attack_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    def fail(place: Place) -> None:
        if place.graph == "complete":
            raise RunFailed("Training diverged in round 3.")

    made = measured(tmp_path, "agents=10", saying(fail))
    hint = "attack-mnist-complete-10-seed0: Training diverged in round 3."
    with pytest.raises(RunFailed, match=hint):
        refuse_unfinished(made.endings)
    assert {row["graph"] for row in made.facts["cells"]} == {"bipartite", "ring"}
