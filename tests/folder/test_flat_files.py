"""Folders of the time when every experiment had the options of all algorithms go on."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dpdl.cli import main
from dpdl.experiment.experiment import Experiment
from dpdl.experiment.options import FLAT
from dpdl.experiment.shared import SHARED
from dpdl.folder.verify import verify
from dpdl.options import Typed
from dpdl.studies.comparison import ask
from dpdl.studies.folders import comparison_folder, search_folder
from dpdl.studies.search import ask as search
from dpdl.training.train import resume, train

SMALL = ["--dataset", "digits", "--agents", "3", "--batch", "8", "--rounds", "2"]
NOISE = ["--sigma", "1", "--quiet", "--json"]


@contextmanager
def of_old() -> Iterator[None]:
    """Files are written as they were then."""

    def as_dict(self: Experiment) -> dict[str, Any]:
        shared = {name: getattr(self, name) for name in SHARED}
        return {**shared, **FLAT, **self.options}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Experiment, "as_dict", as_dict)
        yield


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RANK", raising=False)


def dpdl(monkeypatch, capsys, *words: str) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["dpdl", *words])
    with pytest.raises(SystemExit) as leaving:
        main()
    out, err = capsys.readouterr()
    return int(leaving.value.code or 0), out, err


@pytest.mark.parametrize(
    "own",
    [
        {"algorithm": "dp-dpsgd"},
        {"algorithm": "dpdl-sound", "noise_split": "calibrated"},
        {"algorithm": "muffliato"},
    ],
    ids=str,
)
def test_a_run_is_verified_and_goes_on(own: dict[str, Any], tmp_path: Path) -> None:
    e = Experiment(dataset="digits", agents=3, batch=8, rounds=2, sigma=1.0, **own)
    with of_old():
        train(e, out=tmp_path / "run")
    written = json.loads((tmp_path / "run/experiment.json").read_text())["experiment"]
    header = json.loads((tmp_path / "run/ledger.jsonl").read_text().splitlines()[0])
    assert written["correlation"] == header["options"]["correlation"] == 3.0
    assert verify(tmp_path / "run").agrees
    result = resume(tmp_path / "run", rounds=4)
    assert result.summary["rounds"] == 4
    assert verify(tmp_path / "run").agrees


def test_an_option_that_the_ledger_does_not_state_is_found(tmp_path: Path) -> None:
    with of_old():
        train(
            Experiment(dataset="digits", agents=3, batch=8, rounds=2, sigma=1.0),
            out=tmp_path / "run",
        )
    path = tmp_path / "run/experiment.json"
    content = json.loads(path.read_text())
    content["experiment"]["momentum"] = 0.5
    path.write_text(json.dumps(content))
    verdict = verify(tmp_path / "run")
    (wrong,) = [check for check in verdict.checks if check.agrees is False]
    assert (wrong.reported, wrong.recomputed) == ({"momentum": 0.5}, {"momentum": 0.7})


def test_a_comparison_goes_on(monkeypatch, capsys) -> None:
    words = ["compare", "--algorithms", "dpdl-sound,dp-dpsgd", "--lr", "0.2"]
    words += ["--alpha", "1.2", *SMALL, *NOISE, "--out", "c"]
    with of_old():
        assert dpdl(monkeypatch, capsys, *words)[0] == 0
    asked = json.loads(Path("c/compare.json").read_text())["algorithms"]
    assert asked["dp-dpsgd"]["experiment"]["correlation"] == 3.0
    code, out, err = dpdl(monkeypatch, capsys, *words, "--seeds", "2")
    assert code == 0, err
    assert [row["seeds"] for row in json.loads(out)["rows"]] == [[0, 1]] * 2
    code, _, err = dpdl(monkeypatch, capsys, *words, "--alpha", "1.3")
    assert code == 2
    assert "was started with alpha = 1.2 for dpdl-sound, not 1.3" in err


def test_a_search_goes_on(monkeypatch, capsys) -> None:
    words = ["tune", "--over", "lr", "--algorithm", "dp-dpsgd", *SMALL, *NOISE]
    words += ["--out", "t"]
    with of_old():
        assert dpdl(monkeypatch, capsys, *words, "--trials", "1")[0] == 0
    assert json.loads(Path("t/tune.json").read_text())["asked"]["correlation"] == 3.0
    code, out, err = dpdl(monkeypatch, capsys, *words, "--trials", "2")
    assert code == 0, err
    assert len(json.loads(out)["trials"]) == 2
    code, _, err = dpdl(monkeypatch, capsys, *words, "--momentum", "0.5")
    assert code == 2
    assert "was started with momentum = 0.0, not 0.5" in err


def test_requests_find_the_folders_that_they_found_before() -> None:
    shared = {"dataset": "digits", "agents": 4, "rounds": 4, "batch": 16}
    given = {**shared, "epsilon": 20.0, "alpha": Typed("1.2"), "lr": Typed("0.2")}
    c = ask("dpdl-sound,dp-dpsgd", 1, given, ["dp-dpsgd.lr=0.3"])
    assert comparison_folder(c).name == "compare-71a7713bf8"
    e = Experiment(**shared, algorithm="dpdl-sound", momentum=0.6, epsilon=20.0)
    assert search_folder(search(e, "lr,alpha", 3)).name == "tune-4c2a8764b3"
