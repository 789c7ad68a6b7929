"""The folder of a comparison grows by algorithms and seeds, and refuses anything else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.studies.comparison_folder import ComparisonFile, curves, merged, runs_of
from dpdl.studies.comparison_request import Comparison, make_comparison
from tests.studies.tables import small_table

OLD = Path(__file__).parents[1] / "folder" / "old" / "comparison"
OUT = Path("c")
SMALL = {"dataset": "digits", "agents": 3, "batch": 8, "sigma": 1.0, "rounds": 4}


def request(names: str = "dpdl", seeds: int = 1, **options) -> Comparison:
    return make_comparison(names, seeds, {**SMALL, **options})


def file_of(c: Comparison, before: ComparisonFile | None = None) -> ComparisonFile:
    return merged(OUT, before, c, {name: c.experiment(name) for name in c.own})


def started(folder: Path, e: Experiment) -> None:
    """A run that has begun."""
    folder.mkdir(parents=True)
    content = {"format": 1, "version": "0", "experiment": e.to_json()}
    (folder / "experiment.json").write_text(json.dumps(content))


def test_the_file_comes_back_as_it_was() -> None:
    file = file_of(request("dpdl,dp-dpsgd", 2, seed=5))
    found = json.loads(json.dumps(file.to_json()))
    assert list(found) == ["format", "version", "asked", "algorithms"]
    assert found["asked"]["equal"] == "sigma"
    assert found["asked"]["rounds"] == 4
    assert found["algorithms"]["dpdl"]["seeds"] == [5, 6]
    assert found["algorithms"]["dpdl"]["experiment"]["seed"] == 0
    assert ComparisonFile.from_json(found) == file


def test_a_file_of_an_older_version_is_read() -> None:
    file = ComparisonFile.from_json(json.loads((OLD / "compare.json").read_text()))
    assert list(file.algorithms) == ["dpdl-sound", "dp-dpsgd"]
    assert file.asked.equal == "sigma"
    assert file.algorithms["dpdl-sound"].experiment.alpha == 1.2


def test_algorithms_and_seeds_are_added() -> None:
    first = file_of(request("dpdl", seed=3))
    second = file_of(request("dp-dpsgd,dpdl", 2), first)
    assert {name: one.seeds for name, one in second.algorithms.items()} == {
        "dpdl": (0, 1, 3),
        "dp-dpsgd": (0, 1),
    }
    assert file_of(request("dpdl", seed=3), second).algorithms == second.algorithms


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ({"rounds": 5}, "started with rounds = 4, not 5"),
        ({"lr": 0.5}, "started with lr = None, not 0.5"),
        ({"sigma": 2.0}, "started with sigma = 1.0, not 2.0"),
        ({"momentum": 0.25}, "momentum = 0.7 for dpdl, not 0.25"),
    ],
    ids=str,
)
def test_a_request_that_differs_is_refused(options, hint: str) -> None:
    before = file_of(request())
    with pytest.raises(InputError, match=hint):
        file_of(request(**options), before)


def test_all_algorithms_run_with_the_first_seed_before_any_with_the_second() -> None:
    runs = runs_of(OUT, file_of(request("dpdl,dp-dpsgd", 2)))
    assert [run.folder for run in runs] == [
        OUT / "runs" / f"{name}-seed{seed}"
        for seed in (0, 1)
        for name in ("dpdl", "dp-dpsgd")
    ]
    assert [run.experiment.seed for run in runs] == [0, 0, 1, 1]
    assert not any(run.started or run.finished for run in runs)


def test_a_run_of_another_experiment_is_refused(tmp_path: Path) -> None:
    file = file_of(request())
    (run,) = runs_of(tmp_path, file)
    started(run.folder, replace(run.experiment, batch=9))
    with pytest.raises(InputError, match="started with batch = 9, not 8"):
        runs_of(tmp_path, file)


def test_a_started_run_keeps_the_rounds_that_were_counted_for_its_bytes(
    tmp_path: Path,
) -> None:
    for megabytes, expected in ((2.0, 7), (None, None)):
        out = tmp_path / str(megabytes)
        options = {k: v for k, v in SMALL.items() if megabytes is None or k != "rounds"}
        c = make_comparison("dpdl", 1, options, megabytes=megabytes)
        file = merged(out, None, c, {"dpdl": c.experiment("dpdl")})
        (run,) = runs_of(out, file)
        started(run.folder, run.with_rounds(7).experiment)
        if expected is None:
            with pytest.raises(InputError, match="rounds = 7, not 4"):
                runs_of(out, file)
        else:
            (again,) = runs_of(out, file)
            assert again.started
            assert again.experiment.rounds == expected


def test_curves_are_those_of_finished_runs(tmp_path: Path) -> None:
    table = replace(small_table(), out=str(OLD))
    rows = [replace(row, algorithm="dp-dpsgd", seeds=(0,)) for row in table.rows[:1]]
    found = curves(replace(table, rows=(*rows, table.rows[2])))
    assert list(found) == ["dp-dpsgd"]
    ((metrics,),) = found.values()
    assert [one.round for one in metrics] == [1, 2]


@pytest.mark.parametrize(
    "name", ["../../elsewhere", "a/b", "a\x00", "\ud800", "9" * 300]
)
def test_an_algorithm_that_cannot_be_the_name_of_a_folder_is_refused(name: str) -> None:
    """Its runs would be elsewhere, or nowhere."""
    file = file_of(request())
    with pytest.raises(InputError, match="algorithms names"):
        replace(file, algorithms={name: file.algorithms["dpdl"]})
