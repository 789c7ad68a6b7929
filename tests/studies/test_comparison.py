"""A comparison runs what is missing, after everything was checked, and tabulates it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from dpdl.errors import InputError
from dpdl.planning.plan import plan
from dpdl.planning.traffic import most_rounds
from dpdl.studies.comparison import compare
from dpdl.studies.comparison_request import Comparison, make_comparison
from dpdl.studies.comparison_table import ComparisonTable
from dpdl.studies.pool_messages import Ending, EndState, PooledRun
from dpdl.training.interrupt import Interrupted
from dpdl.training.train import train
from tests.sites import write_sites, write_test

SMALL = {"dataset": "digits", "agents": 3, "batch": 8, "rounds": 2}


class Pool:
    """A pool that trains in this process, except for runs of algorithms that it is to fail."""

    def __init__(self, fails: str = "", state: EndState = EndState.FAILED) -> None:
        self.fails, self.state = fails, state
        self.ran: list[PooledRun] = []

    def __call__(self, runs: Sequence[PooledRun], jobs: int, watch) -> dict:
        self.ran += runs
        return {run.name: self._ending(run) for run in runs}

    def _ending(self, run: PooledRun) -> Ending:
        if run.experiment.algorithm == self.fails:
            return Ending(self.state, error="It broke.")
        train(run.experiment, out=run.folder)
        return Ending(EndState.DONE)


def compared(c: Comparison, out: Path, pool: Pool) -> ComparisonTable:
    return compare(c, out, jobs=None, watch=lambda name, news: None, pool=pool)


def request(names: str, seeds: int = 1, **options) -> Comparison:
    megabytes = options.pop("megabytes", None)
    shared = {k: v for k, v in SMALL.items() if megabytes is None or k != "rounds"}
    return make_comparison(names, seeds, {**shared, **options}, megabytes=megabytes)


def test_what_is_finished_is_not_run_again_and_the_table_is_written(
    tmp_path: Path,
) -> None:
    out, pool = tmp_path / "c", Pool(fails="dpdl")
    first = compared(request("dp-dpsgd,dpdl", sigma=1.0), out, pool)
    assert [(row.algorithm, row.seeds) for row in first.rows] == [
        ("dp-dpsgd", (0,)),
        ("dpdl", ()),
    ]
    assert first.rows[1].failed[0].error == "It broke."
    assert json.loads((out / "table.json").read_text()) == first.to_json()
    assert (out / "table.csv").read_text().startswith("algorithm,rank,accuracy_mean,")
    again = Pool(fails="dpdl")
    second = compared(request("dp-dpsgd", 2, sigma=1.0), out, again)
    assert [run.name for run in again.ran] == ["dpdl-seed0", "dp-dpsgd-seed1"]
    assert second.rows[0].seeds == (0, 1)


def test_nothing_is_written_if_one_run_cannot_be_planned(tmp_path: Path) -> None:
    pool = Pool()
    alone = {"agents": 1, "graph": "complete", "sigma": 1.0}
    with pytest.raises(InputError, match=r"^dp-cga, seed 0: .*agent 0 has none"):
        compared(request("dp-dpsgd,dp-cga", **alone), tmp_path / "c", pool)
    assert pool.ran == []
    assert not (tmp_path / "c").exists()


def test_an_interrupted_comparison_has_no_table(tmp_path: Path) -> None:
    pool = Pool(fails="dpdl", state=EndState.INTERRUPTED)
    with pytest.raises(Interrupted, match="with 1 of 2 runs finished"):
        compared(request("dp-dpsgd,dpdl", sigma=1.0), tmp_path / "c", pool)
    assert not (tmp_path / "c/table.json").exists()
    table = compared(request("dp-dpsgd,dpdl", sigma=1.0), tmp_path / "c", Pool())
    assert all(row.seeds == (0,) for row in table.rows)


@pytest.mark.parametrize(
    ("algorithm", "options"),
    [
        ("dpdl-sound", {"sigma": 1.0}),
        ("dpdl-sound", {"epsilon": 8.0, "noise": "theorem1"}),
        ("d-psgd", {}),
    ],
    ids=str,
)
def test_rounds_are_counted_without_any_noise(
    tmp_path: Path, algorithm: str, options
) -> None:
    e = request(algorithm, sigma=1.0).experiment(algorithm)
    expected = most_rounds(plan(e).public, 0.5)
    pool = Pool(fails=algorithm)
    compared(request(algorithm, megabytes=0.5, **options), tmp_path / "c", pool)
    assert [run.experiment.rounds for run in pool.ran] == [expected]


def test_records_at_sites_are_compared(tmp_path: Path) -> None:
    sites = ",".join(write_sites(tmp_path, (40, 40, 40)))
    at_sites = {"sites": sites, "test": write_test(tmp_path), "records": "exact"}
    shared = {"dataset": "digits", "batch": 8, "rounds": 2, "sigma": 1.0, **at_sites}
    c = make_comparison("dp-dpsgd,dpdl", 1, shared)
    table = compared(c, tmp_path / "c", Pool())
    assert [(row.seeds, row.failed) for row in table.rows] == [((0,), ())] * 2
    assert table.agents == 3
    again = Pool()
    assert compared(c, tmp_path / "c", again) == table
    assert again.ran == []
    as_list = make_comparison("dpdl", 1, {**shared, "sites": tuple(sites.split(","))})
    assert compared(as_list, tmp_path / "c", again) == table


def test_regression_is_ranked_by_its_error(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    x = draw.normal(size=(90, 3)).astype(np.float32)
    y = x.sum(axis=1)
    np.savez(tmp_path / "own.npz", x=x, y=y, x_test=x[:9], y_test=y[:9])
    own = {"dataset": str(tmp_path / "own.npz"), "predict": "numbers", "model": "mlp"}
    c = request("dp-dpsgd,dpdl", **own, partition="iid", sigma=1.0)
    table = compared(c, tmp_path / "c", Pool())
    assert {row.score.name for row in table.rows} == {"squared_error"}
    first, second = (row.score.mean for row in table.rows)
    assert first and second and first <= second
    found = json.loads((tmp_path / "c/table.json").read_text())
    assert found["rows"][0]["squared_error"]["mean"] == first


def test_a_table_names_what_is_equal(tmp_path: Path) -> None:
    c = request("dpdl", megabytes=0.5, noise="theorem1")
    table = compared(c, tmp_path / "c", Pool(fails="dpdl"))
    assert (table.equal, table.megabytes) == ("bytes", 0.5)
    assert table.noise == "theorem1"
    assert table.out == str(tmp_path / "c")
