"""The queue: what is missing, what fits, and that nothing is lost or done twice."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from dpdl.cli.reproduce_show import Announcer, duration
from dpdl.errors import InputError, RunFailed
from dpdl.experiment.experiment import Experiment
from dpdl.paper.cells import Cell, published, select
from dpdl.studies.pool_messages import Ending, EndState
from dpdl.studies.reproduce import beside_paper, queue, recipes, store
from dpdl.studies.reproduce.clock import Clock, clock_of
from dpdl.studies.reproduce.forecast import Beginning
from dpdl.studies.reproduce.measure_cells import measure_cells
from dpdl.studies.reproduce.recipes import Recipes
from dpdl.studies.reproduce.request import ReproductionRequest
from dpdl.training.interrupt import Interrupted
from tests.commands import dpdl as command
from tests.studies.reproduce.small import (
    CELL,
    LONG,
    ONE,
    SMALL,
    entered,
    small,
    small_experiment,
    summary,
)


# ------------------------------------------------------------------ results
def test_seeds_are_collected_with_mean_and_spread(tmp_path: Path) -> None:
    assert entered(tmp_path, CELL, 0.90, seed=1)["spread"] is None
    found = entered(tmp_path, CELL, 0.92, seed=0)
    assert (found["ours"], found["spread"], list(found["runs"])) == (
        91.0,
        1.41,
        ["0", "1"],
    )
    assert (
        json.loads(store.path_of(tmp_path, CELL, "as-published").read_text()) == found
    )
    assert (
        found["runs"]["0"]["commit"] == "abc" and found["runs"]["0"]["seconds"] == 12.3
    )
    (row,) = beside_paper.compared(tmp_path, [CELL], recipes.MODES)
    assert (row["difference"], row["within"], row["seeds"]) == (-0.8, False, [0, 1])
    assert entered(tmp_path, CELL, 0.93, seed=2)["ours"] == 91.67
    assert beside_paper.compared(tmp_path, [CELL], recipes.MODES)[0]["within"]


def test_a_note_stays_when_another_seed_is_entered(tmp_path: Path) -> None:
    found = entered(tmp_path, CELL, 0.90)
    path = store.path_of(tmp_path, CELL, "as-published")
    path.write_text(json.dumps({**found, "note": "on a warm day"}))
    assert (
        entered(tmp_path, CELL, 0.92, seed=1)["note"]
        == json.loads(path.read_text())["note"]
        == "on a warm day"
    )


def test_rankings_need_all_five_algorithms(tmp_path: Path) -> None:
    cells = [
        CELL._replace(algorithm=name)
        for name in ("dpdl", "dp-cga", "dp-netfleet", "muffliato", "dp-dpsgd")
    ]
    for k, cell in enumerate(cells[:4]):
        entered(tmp_path, cell, 0.9 - k / 100)
    assert beside_paper.status(tmp_path)["rankings"] == []
    entered(tmp_path, cells[4], 0.5)
    (ranking,) = beside_paper.status(tmp_path)["rankings"]
    assert ranking["agrees"] and ranking["ours"][0] == "dpdl"
    entered(tmp_path, cells[4], 0.99)  # the same seed again replaces it
    (ranking,) = beside_paper.status(tmp_path)["rankings"]
    assert (
        not ranking["agrees"]
        and not ranking["same_best"]
        and ranking["ours"][0] == "dp-dpsgd"
    )
    assert beside_paper.status(tmp_path)["measured"] == {
        "as-published": 5,
        "algorithm1": 0,
        "sound": 0,
    }


def test_the_best_at_a_proven_epsilon_stands_beside_the_claim_whichever_algorithm_it_is(
    tmp_path: Path,
) -> None:
    assert published()[CELL].accuracy == 91.8
    entered(tmp_path, CELL, 0.99)  # as published: proves nothing
    assert beside_paper.status(tmp_path)["proven"] == []
    entered(tmp_path, CELL, 0.90, mode="sound")
    (best,) = beside_paper.status(tmp_path)["proven"]
    assert (best["ours"], best["claimed"], best["algorithm"], best["reached"]) == (
        90.0,
        91.8,
        "dpdl",
        False,
    )
    entered(tmp_path, CELL._replace(algorithm="decor"), 0.95, mode="sound")
    entered(tmp_path, CELL._replace(algorithm="muffliato"), 0.93, mode="sound")
    found = beside_paper.status(tmp_path)
    (best,) = found["proven"]
    assert (best["ours"], best["algorithm"], best["reached"]) == (95.0, "decor", True)
    assert found["measured"] == {
        "as-published": 1,
        "algorithm1": 0,
        "sound": 2,
    }  # decor is not in the paper
    assert [row["algorithm"] for row in found["cells"] if row["beyond"]] == ["decor"]


@pytest.mark.parametrize("content", ["{", '{"format": 0}', "[]"])
def test_results_of_other_versions_are_refused(tmp_path: Path, content: str) -> None:
    path = store.path_of(tmp_path, CELL, "sound")
    path.parent.mkdir(parents=True)
    path.write_text(content)
    with pytest.raises(InputError, match=r"another version|cannot be read"):
        beside_paper.status(tmp_path)


def test_seeds_with_other_settings_are_not_mixed(tmp_path: Path) -> None:
    def shorter(cell: Cell, mode: str, seed: int) -> Experiment:
        return replace(recipes.experiment(cell, mode, seed), rounds=900)

    entered(tmp_path, CELL, 0.9)
    with pytest.raises(InputError, match="rounds = 1000, the recipe now has 900"):
        queue.missing([CELL], ["as-published"], 2, tmp_path, Recipes(shorter))


# ------------------------------------------------------------------ what to run
def test_what_is_measured_is_not_missing_and_first_seeds_come_first(
    tmp_path: Path,
) -> None:
    cells = select(
        None, "graph=ring,agents=10,alpha_d=0.25,algorithm=dpdl/muffliato,epsilon=0.5"
    )
    entered(tmp_path, cells[0], 0.9)
    found = queue.missing(cells, ["as-published", "algorithm1"], 2, tmp_path)
    names = [(one.cell.algorithm, one.mode, one.experiment.seed) for one in found]
    assert names == [
        ("dpdl", "algorithm1", 0),
        ("muffliato", "as-published", 0),
        ("dpdl", "as-published", 1),
        ("dpdl", "algorithm1", 1),
        ("muffliato", "as-published", 1),
    ]


def test_time_is_estimated_from_what_was_measured(tmp_path: Path) -> None:
    e = recipes.experiment(CELL, "as-published", 0)
    guess = clock_of(tmp_path).seconds(e)
    assert guess == pytest.approx(
        1000 * 216 * 30 * 30e-6
    )  # a ring of 10 has 20 links and 10 loops
    sound = recipes.experiment(
        CELL._replace(dataset="cifar10", epsilon=4.0, algorithm="dp-dpsgd"), "sound", 0
    )
    assert clock_of(tmp_path).seconds(sound) == pytest.approx(300 * 216 * 10 * 70e-6)
    entered(tmp_path, CELL, 0.9)
    clock = clock_of(tmp_path)
    assert clock.seconds(e) == pytest.approx(12.3)
    alone = recipes.experiment(CELL._replace(algorithm="muffliato"), "as-published", 0)
    assert clock.seconds(alone) == pytest.approx(
        4.1
    )  # one gradient per agent instead of three


def test_time_is_that_of_the_runs_with_most_in_common(tmp_path: Path) -> None:
    def seconds(cell: Cell) -> float:
        return clock_of(tmp_path).seconds(recipes.experiment(cell, "as-published", 0))

    def took(cell: Cell, time_of_it: float) -> None:
        e = recipes.experiment(cell, "as-published", 0)
        store.add(tmp_path, cell, "as-published", e, summary(0.9, time_of_it), None)

    complete = CELL._replace(graph="complete")
    took(CELL._replace(algorithm="dp-dpsgd"), 10.0)
    assert seconds(complete) == pytest.approx(
        10.0
    )  # equal models: one gradient per agent serves all links
    took(CELL, 90.0)
    assert seconds(complete) == pytest.approx(30.0)  # now by its own algorithm
    took(complete, 20.0)
    assert seconds(complete._replace(epsilon=1.0)) == pytest.approx(
        20.0
    )  # by its own graph
    assert seconds(complete._replace(agents=20)) == pytest.approx(40.0)
    took(
        complete._replace(algorithm="dp-cga"), 100.0
    )  # its models differ: a gradient for every link
    assert seconds(complete._replace(algorithm="dp-cga", agents=20)) == pytest.approx(
        400.0
    )
    assert seconds(CELL._replace(algorithm="dp-dpsgd", epsilon=1.0)) == pytest.approx(
        10.0
    )


def test_a_budget_takes_what_fits_in_order() -> None:
    cells = select(
        None,
        "graph=ring/bipartite,agents=10,alpha_d=0.25,dataset=mnist,algorithm=dpdl,epsilon=0.5",
    )
    wanted = [
        queue.Wanted(cell, "as-published", recipes.experiment(cell, "as-published", 0))
        for cell in cells
    ]
    clock = Clock(
        {("mnist", "lenet"): 1e-5}
    )  # 130 s on the bipartite graph, 65 s on the ring
    assert [one.cell.graph for one in queue.within(wanted, clock, 1, None)] == [
        "bipartite",
        "ring",
    ]
    assert [one.cell.graph for one in queue.within(wanted, clock, 1, 3.0)] == [
        "bipartite"
    ]
    assert [one.cell.graph for one in queue.within(wanted, clock, 2, 3.0)] == [
        "bipartite",
        "ring",
    ]
    assert [one.cell.graph for one in queue.within(wanted, clock, 2, 2.0)] == [
        "ring"
    ]  # the large one takes too long
    with pytest.raises(
        InputError, match=r"too few for one cell: the shortest should take 1\.1"
    ):
        queue.within(wanted, clock, 2, 1.0)


# ------------------------------------------------------------------ running
def test_results_are_written_and_finished_runs_are_not_done_again(
    tmp_path: Path,
) -> None:
    wanted = [small(CELL, seed, 3) for seed in (0, 1)]
    heard: list[str] = []
    outcomes = queue.perform(
        wanted,
        tmp_path / "r",
        tmp_path / "runs",
        2,
        None,
        lambda name, news: heard.append(name),
    )
    assert {outcome.state for outcome in outcomes.values()} == {"done"} and heard
    path = store.path_of(tmp_path / "r", CELL, "as-published")
    assert sorted(json.loads(path.read_text())["runs"]) == ["0", "1"]
    path.unlink()  # as if the power had failed before it was written: the run folders are enough
    assert (
        queue.perform(
            wanted, tmp_path / "r", tmp_path / "runs", 2, None, lambda name, news: None
        )
        == {}
    )
    assert sorted(json.loads(path.read_text())["runs"]) == ["0", "1"]


def test_a_deadline_stops_what_goes_on_and_keeps_it(tmp_path: Path) -> None:
    wanted = [small(CELL, 0, 100_000)]
    outcomes = queue.perform(
        wanted, tmp_path / "r", tmp_path / "runs", 1, 0.15, lambda name, news: None
    )
    assert [outcome.state for outcome in outcomes.values()] == ["interrupted"]
    folder = tmp_path / "runs" / wanted[0].name
    if folder.exists():  # on a busy machine the time may be over before a run begins
        charged = len((folder / "ledger.jsonl").read_text().splitlines()) - 1
        assert charged == 0 or (folder / "state.safetensors").exists()
    assert store.read(tmp_path / "r", CELL, "as-published") is None


SCRIPT = """
import sys
from pathlib import Path
from dpdl.studies.reproduce import queue
from tests.studies.reproduce.small import CELL, LONG, small
base = Path(sys.argv[1])
wanted = [small(CELL, 0, 3), small(LONG, 0, 120)]
queue.perform(wanted, base / "r", base / "runs", 1, None, lambda name, news: print(name, news, flush=True))
"""


def test_kill_9_in_the_middle_loses_nothing_and_does_nothing_twice(
    tmp_path: Path,
) -> None:
    words = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    second = tmp_path / "runs" / small(LONG, 0, 120).name
    metrics = second / "ledger.jsonl"
    until = time.monotonic() + 120
    while not (metrics.exists() and len(metrics.read_text().splitlines()) > 20):
        assert time.monotonic() < until and process.poll() is None
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert store.read(tmp_path / "r", CELL, "as-published") and not store.read(
        tmp_path / "r", LONG, "as-published"
    )
    assert not (second / "summary.json").exists()
    first = tmp_path / "runs" / small(CELL, 0, 3).name
    before = {file: file.stat().st_mtime_ns for file in first.iterdir()}
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    found = store.read(tmp_path / "r", LONG, "as-published")
    assert found and list(found["runs"]) == ["0"]
    assert before == {file: file.stat().st_mtime_ns for file in first.iterdir()}, (
        "the finished run was touched"
    )
    rounds = [
        json.loads(line).get("round") for line in metrics.read_text().splitlines()
    ]
    paid = [t for t in rounds if t is not None]
    assert len(paid) <= 122 and set(paid) == set(range(1, 121)), (
        "it went on where it was"
    )


# ------------------------------------------------------------------ the command
@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["acc-mnits"], "acc-mnist"),
        (["--cells", "agents=11"], "10, 20, 30"),
        (["--mode", "sond"], "sound"),
        (["--seeds", "0"], "at least 1"),
        (["--minutes", "0"], "above 0"),
        (["--minutes", "0.01"], "too few for one cell"),
        (["--mode", "algorithm1", "--cells", "algorithm=muffliato"], "dpdl only"),
        (["status", "--cells", "graph=torus"], "bipartite, complete, ring"),
        (["status", "--mode", "sond"], "'sound'"),
        (["status", "--seeds", "3"], "leave --seeds out"),
        (["status", "--dry-run"], "leave --dry-run out"),
        (["acc-mnist", "--markdown"], "--markdown is for status"),
        (["status", "--markdown", "--json"], "without --json"),
    ],
)
def test_wrong_words_are_one_sentence(
    words: list[str], hint: str, monkeypatch, capsys, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = command(monkeypatch, capsys, "reproduce", *words)
    assert code == 2 and hint in err and err.count("\n") == 1


def test_status_and_dry_run(monkeypatch, capsys, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, _ = command(monkeypatch, capsys, "reproduce", "status")
    assert code == 0 and "None of these cells was measured yet" in out
    entered(tmp_path / "results", CELL, 0.9)
    code, out, _ = command(monkeypatch, capsys, "reproduce", "status", "--json")
    facts = json.loads(out)
    assert (
        code == 0
        and facts["measured"]["as-published"] == 1
        and facts["of"] == len(published())
    )
    code, out, _ = command(monkeypatch, capsys, "reproduce", "status")
    assert "mnist ring 10" in out and "-1.8 *" in out and "measured yet" not in out
    assert "*: the difference is larger" in out
    cells = "graph=ring,agents=10,alpha_d=0.25,epsilon=0.5,algorithm=dpdl"
    code, out, _ = command(
        monkeypatch,
        capsys,
        "reproduce",
        "--cells",
        cells,
        "--seeds",
        "2",
        "--dry-run",
        "--json",
    )
    assert code == 0 and [run["name"] for run in json.loads(out)["runs"]] == [
        f"as-published-{CELL.name}-seed1"
    ]
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (179, "179 seconds"),
        (180, "3 minutes"),
        (10799, "180 minutes"),
        (10800, "3 hours"),
    ],
)
def test_durations(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_a_cell_has_a_searched_step_or_not() -> None:
    known, unknown = CELL, CELL._replace(dataset="cifar10", epsilon=4.0)
    table = {"sound": {"mnist": {"ring": {"dpdl": {"lr": 1.0}}}}}
    assert not recipes.untuned(known, "sound", table)
    assert not recipes.untuned(unknown, "as-published", table)
    assert recipes.untuned(unknown, "sound", table)
    assert recipes.untuned(unknown, "algorithm1", table)


@pytest.mark.parametrize("tuned", [True, False])
def test_cells_without_a_searched_step_are_named(
    tuned: bool, capsys, tmp_path: Path
) -> None:
    request = ReproductionRequest(cells=ONE, out=tmp_path / "r", runs=tmp_path / "runs")
    found = Recipes(small_experiment, untuned=lambda cell, mode: not tuned)
    said: list[Beginning] = []
    measure_cells(request, lambda name, news: None, said.append, found)
    (beginning,) = said
    assert beginning.untuned == (not tuned) and len(beginning.forecast.seconds) == 1
    Announcer("runs", quiet=True)(beginning)
    heard = "No step size was searched for 1 of them" in capsys.readouterr().err
    assert heard is not tuned


def test_status_of_some_cells_and_modes(monkeypatch, capsys, tmp_path: Path) -> None:
    entered(tmp_path, CELL, 0.9)
    entered(tmp_path, CELL, 0.9, mode="sound")
    entered(tmp_path, CELL._replace(algorithm="decor"), 0.95, mode="sound")
    entered(tmp_path, CELL._replace(graph="complete"), 0.9, mode="sound")

    def shown(*words: str) -> list[tuple[str, str, str]]:
        code, out, _ = command(
            monkeypatch,
            capsys,
            "reproduce",
            "status",
            "--json",
            "--out",
            str(tmp_path),
            *words,
        )
        facts = json.loads(out)
        assert code == 0 and facts["measured"] == {
            "as-published": 1,
            "algorithm1": 0,
            "sound": 2,
        }
        assert len(facts["proven"]) == len(
            {row["graph"] for row in facts["cells"] if row["mode"] == "sound"}
        )
        return [(row["mode"], row["graph"], row["algorithm"]) for row in facts["cells"]]

    ring = [("sound", "ring", "dpdl"), ("sound", "ring", "decor")]
    assert len(shown()) == 4
    assert shown("--cells", "graph=ring", "--mode", "sound") == ring
    assert shown("--cells", "algorithm=decor") == ring[1:]
    assert shown("--mode", "algorithm1") == []


def test_what_is_missing_is_run(tmp_path: Path) -> None:
    request = ReproductionRequest(cells=ONE, out=tmp_path / "r", runs=tmp_path / "runs")
    facts, outcomes = measure_cells(request, lambda name, news: None, recipes=SMALL)
    assert [outcome.state for outcome in outcomes.values()] == ["done"]
    assert [row["seeds"] for row in facts["cells"]] == [[0]]
    assert (tmp_path / "r" / "as-published" / f"{CELL.name}.json").exists()


def test_what_is_there_is_shown_by_the_command(
    monkeypatch, capsys, tmp_path: Path
) -> None:
    entered(tmp_path, CELL, 0.9)
    words = ["reproduce", "--cells", ONE, "--out", str(tmp_path), "--quiet", "--json"]
    code, out, err = command(monkeypatch, capsys, *words)
    assert (code, err) == (0, "")
    assert [row["seeds"] for row in json.loads(out)["cells"]] == [[0]]


@pytest.mark.parametrize(
    ("states", "kind", "hint"),
    [
        (["done", "interrupted"], Interrupted, "with 1 of 2 runs finished"),
        (["done", "failed"], RunFailed, "1 run(s) failed, the first, run 1: no memory"),
        (["done", "done"], None, ""),
    ],
)
def test_what_did_not_end_is_said(states: list[str], kind, hint: str) -> None:
    outcomes = {
        f"run {k}": Ending(
            EndState(state), error="no memory" if state == "failed" else None
        )
        for k, state in enumerate(states)
    }
    if kind is None:
        queue.refuse_unfinished(outcomes)
        return
    with pytest.raises(kind, match=re.escape(hint)):
        queue.refuse_unfinished(outcomes)
