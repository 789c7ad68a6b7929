"""Folders of the time when every experiment had the options of all algorithms go on.

The files in `old/` were written by that version; `old/make.sh` says how.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from dpdl.experiment.experiment import Experiment
from dpdl.folder.verify import verify
from dpdl.options import Typed
from dpdl.records import JsonObject
from dpdl.studies.comparison_request import make_comparison
from dpdl.studies.folders import comparison_folder, search_folder
from dpdl.studies.search import make_search
from dpdl.training.train import resume
from tests.commands import dpdl

OLD = Path(__file__).with_name("old")
RUNS = ["dpdl", "dp-dpsgd", "dpdl-sound", "muffliato"]
SMALL = ["--dataset", "digits", "--model", "own_model:Linear", "--agents", "3"]
SMALL += ["--batch", "8", "--rounds", "2", "--sigma", "1", "--quiet", "--json"]


@pytest.fixture(autouse=True)
def _in_a_copy_of_the_old_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "old"
    shutil.copytree(OLD, home)
    monkeypatch.chdir(home)
    monkeypatch.delenv("RANK", raising=False)


def read(path: str) -> JsonObject:
    """The object in a file, or in the first line of one."""
    text = Path(path).read_text("utf-8")
    found: JsonObject = json.loads(
        text.splitlines()[0] if path.endswith("jsonl") else text
    )
    return found


@pytest.mark.parametrize("run", RUNS)
def test_a_run_is_verified_and_goes_on(run: str) -> None:
    written = read(f"{run}/experiment.json")["experiment"]
    header = read(f"{run}/ledger.jsonl")
    assert written["correlation"] == header["options"]["correlation"] == 3.0
    assert verify(Path(run)).agrees
    resume(Path(run), rounds=3)
    assert read(f"{run}/summary.json")["rounds"] == 3
    assert verify(Path(run)).agrees


def test_an_option_that_the_ledger_does_not_state_is_found() -> None:
    path = Path("dpdl/experiment.json")
    content = json.loads(path.read_text())
    content["experiment"]["momentum"] = 0.5
    path.write_text(json.dumps(content))
    verdict = verify(Path("dpdl"))
    (wrong,) = [check for check in verdict.checks if check.agrees is False]
    assert (wrong.reported, wrong.recomputed) == ({"momentum": 0.5}, {"momentum": 0.7})


@pytest.mark.parametrize("run", RUNS)
def test_a_run_is_shown(run: str, monkeypatch, capsys) -> None:
    for words in (["report", run], ["privacy", "statement", run], ["export", run]):
        code, _, err = dpdl(monkeypatch, capsys, *words)
        assert code == 0, err
    for file in ("report.html", "statement.html", "metrics.csv"):
        assert Path(run, file).stat().st_size > 0


def test_a_comparison_goes_on(monkeypatch, capsys) -> None:
    words = ["compare", "--algorithms", "dpdl-sound,dp-dpsgd", "--lr", "0.2"]
    words += ["--alpha", "1.2", *SMALL, "--out", "comparison"]
    asked = read("comparison/compare.json")["algorithms"]
    assert asked["dp-dpsgd"]["experiment"]["correlation"] == 3.0
    before = read("comparison/table.json")
    rows = json.loads(dpdl(monkeypatch, capsys, *words)[1])["rows"]
    known = [
        {name: row[name] for name in old}
        for row, old in zip(rows, before["rows"], strict=True)
    ]
    assert known == before["rows"]
    code, out, err = dpdl(monkeypatch, capsys, *words, "--seeds", "2")
    assert code == 0, err
    assert [row["seeds"] for row in json.loads(out)["rows"]] == [[0, 1]] * 2
    code, _, err = dpdl(monkeypatch, capsys, *words, "--alpha", "1.3")
    assert code == 2
    assert "was started with alpha = 1.2 for dpdl-sound, not 1.3" in err


def test_a_search_goes_on(monkeypatch, capsys) -> None:
    words = ["tune", "--over", "lr", "--algorithm", "dp-dpsgd", *SMALL]
    words += ["--out", "search"]
    assert read("search/tune.json")["asked"]["correlation"] == 3.0
    before = read("search/result.json")["trials"]
    code, out, err = dpdl(monkeypatch, capsys, *words, "--trials", "2")
    assert code == 0, err
    trials = json.loads(out)["trials"]
    assert (len(trials), trials[:1]) == (2, before)
    code, _, err = dpdl(monkeypatch, capsys, *words, "--momentum", "0.5")
    assert code == 2
    assert "was started with momentum = 0.0, not 0.5" in err


def test_requests_find_the_folders_that_they_found_before() -> None:
    shared = {"dataset": "digits", "agents": 4, "rounds": 4, "batch": 16}
    given = {**shared, "epsilon": 20.0, "alpha": Typed("1.2"), "lr": Typed("0.2")}
    c = make_comparison("dpdl-sound,dp-dpsgd", 1, given, ["dp-dpsgd.lr=0.3"])
    assert comparison_folder(c).name == "compare-71a7713bf8"
    e = Experiment(**shared, algorithm="dpdl-sound", momentum=0.6, epsilon=20.0)
    assert search_folder(make_search(e, "lr,alpha", 3)).name == "tune-4c2a8764b3"
