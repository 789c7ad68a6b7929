"""`--track wandb,mlflow` as a person types it: tracked, stopped, killed, gone on with; and nothing is sent."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from dpdl.folder.export import scalars
from dpdl.folder.run_folder import RunFolder
from tests.reference.wandb_file import told
from tests.trackers.commands import QUICK, SHORT, Door, dpdl, stopped

BOTH = ["--track", "wandb,mlflow"]
AGAIN = ["resume", "r", "--quiet", "--track", "mlflow"]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*noload:DeprecationWarning"),
]


def measured(run: Path) -> dict[int, dict[str, float]]:
    """What the run folder says."""
    found: dict[int, dict[str, float]] = {}
    for metrics in RunFolder(run).metrics():
        values = scalars(metrics.to_json())
        found[int(values.pop("round"))] = values
    return found


def without_seconds(rounds: dict[int, dict[str, float]]) -> dict[int, dict[str, float]]:
    """Rounds that were made twice took another time; their numbers are the same."""
    return {
        t: {name: n for name, n in values.items() if name != "seconds"}
        for t, values in rounds.items()
    }


def in_mlflow(run: Path) -> tuple[Any, dict[int, dict[str, float]]]:
    """The one run that MLflow has, and its rounds."""
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{run.resolve() / 'mlflow/mlflow.db'}")
    experiment = client.get_experiment_by_name("dpdl")
    (found,) = client.search_runs([experiment.experiment_id])
    rounds: dict[int, dict[str, float]] = {}
    for name in found.data.metrics:
        for one in client.get_metric_history(found.info.run_id, name):
            assert name not in rounds.setdefault(one.step, {})
            rounds[one.step][name] = one.value
    return found, dict(sorted(rounds.items()))


def test_a_run_is_in_its_folder_and_nothing_is_sent(tmp_path: Path) -> None:
    with Door() as door:
        done = dpdl(tmp_path, door.environment(), "run", *SHORT, "--out", "r", *BOTH)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rounds"] == 6
    assert [line for line in done.stderr.splitlines() if "Waiting" not in line] == []
    run = tmp_path / "r"
    expected = measured(run)
    assert list(expected) == [1, 2, 4, 6]
    found = told(run / "wandb")
    assert found["rounds"] == expected and found["exit"] == 0
    assert found["summary"]["ledger_head"] == json.loads(done.stdout)["ledger_head"]
    assert found["config"]["batch"] == 8
    stored, rounds = in_mlflow(run)
    assert rounds == expected and stored.info.status == "FINISHED"
    assert stored.data.params["batch"] == "8"
    assert door.knocks == []
    assert [path.name for path in tmp_path.iterdir()] == ["r"]


def test_ctrl_c_closes_both_and_the_same_runs_go_on(tmp_path: Path) -> None:
    run = tmp_path / "r"
    with Door() as door:
        where = door.environment()
        code, said = stopped(tmp_path, where, signal.SIGINT, "wandb", "mlflow")
        assert code == 1 and "Interrupted after round 9 of 12" in said
        assert told(run / "wandb")["exit"] == 130
        assert in_mlflow(run)[0].info.status == "KILLED"
        assert told(run / "wandb")["rounds"] == in_mlflow(run)[1] == measured(run)
        assert list(measured(run)) == list(range(1, 10))
        done = dpdl(tmp_path, where, "resume", "r", "--quiet", "--json", *BOTH)
    assert done.returncode == 0, done.stderr
    found = told(run / "wandb")
    stored, rounds = in_mlflow(run)
    assert found["rounds"] == rounds == measured(run)
    assert list(rounds) == list(range(1, 13))
    assert len(set(found["ids"])) == 1
    assert (found["exit"], stored.info.status) == (0, "FINISHED")
    assert door.knocks == []


def test_a_killed_run_loses_no_round_in_either(tmp_path: Path) -> None:
    """Rounds 8 and 9 are made again, after the checkpoint."""
    with Door() as door:
        where = door.environment()
        code, _ = stopped(tmp_path, where, signal.SIGKILL, "wandb", "mlflow")
        assert code == -signal.SIGKILL
        done = dpdl(tmp_path, where, "resume", "r", "--quiet", "--json", *BOTH)
    assert done.returncode == 0, done.stderr
    run = tmp_path / "r"
    expected = without_seconds(measured(run))
    assert list(expected) == list(range(1, 13))
    assert without_seconds(told(run / "wandb")["rounds"]) == expected
    assert without_seconds(in_mlflow(run)[1]) == expected


def test_a_server_that_is_gone_costs_a_sentence(tmp_path: Path) -> None:
    with Door() as door:
        said = {
            "MLFLOW_TRACKING_URI": "http://tracker.invalid",
            "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
        }
        where = {**door.environment(), **said}
        words = ["run", *SHORT, "--out", "r", "--track", "mlflow"]
        done = dpdl(tmp_path, where, *words)
        here = dpdl(tmp_path, door.environment(), *AGAIN)
    assert done.returncode == here.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rounds"] == 6
    lines = done.stderr.splitlines()
    first, *_, last = [line for line in lines if "Waiting" not in line]
    assert first.startswith("mlflow sends options, losses and scores to http://tracker")
    assert "no epsilon covers them" in first
    assert last.startswith("mlflow failed, and is told no more: ")
    assert last.endswith("dpdl resume r --track mlflow")
    assert door.knocks, "it tried"
    assert in_mlflow(tmp_path / "r")[1] == measured(tmp_path / "r")


def test_what_is_not_installed_is_refused_before_any_work(tmp_path: Path) -> None:
    with Door() as door:
        words = ["run", *QUICK, "--out", "r", "--track", "csv,trackio"]
        done = dpdl(tmp_path, door.environment(), *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: --track trackio cannot be used: trackio is not installed; get it with: "
        "pip install 'dpdl[trackio]'.\n"
    )
    assert list(tmp_path.iterdir()) == []
