"""MLflow, the real one, with a database in the run folder: its own client reads what was written."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from dpdl.trackers.base import Outcome
from dpdl.trackers.mlflow import Mlflow
from tests.trackers.abouts import BEGAN, OPTIONS, ROUNDS, SUMMARY, about

# MLflow's own queries are old-fashioned in the eyes of SQLAlchemy.
pytestmark = pytest.mark.filterwarnings("ignore:.*noload:DeprecationWarning")


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database that MLflow has made: seconds of work, done once."""
    home = tmp_path_factory.mktemp("empty") / "mlflow"
    Mlflow().open(about(home), {}).close(Outcome.FINISHED, {})
    return home / "mlflow.db"


@pytest.fixture
def home(tmp_path: Path, empty: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    found = tmp_path / "run 1 #5% ä" / "mlflow"
    found.mkdir(parents=True)
    shutil.copy(empty, found)
    return found


def client(home: Path) -> Any:
    from mlflow import MlflowClient

    return MlflowClient(f"sqlite:///{home / 'mlflow.db'}")


def rounds(home: Path, run: str) -> dict[int, dict[str, float]]:
    """What MLflow has of a run; a round that it has twice fails."""
    found: dict[int, dict[str, float]] = {}
    for name in client(home).get_run(run).data.metrics:
        for one in client(home).get_metric_history(run, name):
            values = found.setdefault(one.step, {})
            assert name not in values, f"round {one.step} is there twice"
            values[name] = one.value
            assert one.timestamp == int(1000 * (BEGAN + one.step / 4))
    return dict(sorted(found.items()))


def test_a_run_is_kept_in_its_folder_with_all_digits(home: Path, capfd) -> None:
    session = Mlflow().open(about(home), {})
    for t, values in ROUNDS.items():
        session.log(t, values)
        assert session.kept == t
        assert rounds(home, session.id)[t] == values, "before the next round"
    session.close(Outcome.FINISHED, SUMMARY)
    found = client(home).get_run(session.id)
    assert rounds(home, session.id) == ROUNDS
    assert found.data.params == {name: str(value) for name, value in OPTIONS.items()}
    assert {f"summary.{k}": str(v) for k, v in SUMMARY.items()}.items() <= (
        found.data.tags.items()
    )
    assert (found.info.run_name, found.info.status) == ("ring", "FINISHED")
    experiment = client(home).get_experiment(found.info.experiment_id)
    assert experiment.name == "dpdl"
    assert capfd.readouterr() == ("", ""), "it is silent"
    assert {path.name for path in home.iterdir()} == {"mlflow.db"}
    assert [path.name for path in home.parents[1].iterdir()] == [home.parent.name]


@pytest.mark.parametrize(
    ("outcome", "status"), [(Outcome.INTERRUPTED, "KILLED"), (Outcome.FAILED, "FAILED")]
)
def test_a_run_goes_on_under_its_id_after_any_end(
    home: Path, outcome: Outcome, status: str
) -> None:
    first = Mlflow().open(about(home), {})
    first.log(1, ROUNDS[1])
    first.close(outcome, {})
    assert client(home).get_run(first.id).info.status == status
    more = {**OPTIONS, "rounds": 12}
    second = Mlflow().open(about(home, options=more, id=first.id, kept=1), {})
    assert (second.id, second.kept) == (first.id, 1)
    assert client(home).get_run(first.id).info.status == "RUNNING"
    for t in (1, 2, 4):  # the first one once more, as after a crash
        second.log(t, ROUNDS[t])
    second.close(Outcome.FINISHED, SUMMARY)
    found = client(home).get_run(first.id)
    assert rounds(home, first.id) == ROUNDS
    assert found.info.status == "FINISHED"
    assert found.data.params["rounds"] == "8", "a parameter cannot be changed"
    changed = [name for name in found.data.tags if name.startswith("resumed.")]
    assert changed == ["resumed.rounds"]
    assert found.data.tags["resumed.rounds"] == "12"


def test_its_own_variables_hold(home: Path, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    shutil.move(home / "mlflow.db", there)
    said = {
        "MLFLOW_TRACKING_URI": f"sqlite:///{there / 'mlflow.db'}",
        "MLFLOW_EXPERIMENT_NAME": "clinics",
    }
    for _ in range(2):  # made once, found once
        session = Mlflow().open(about(home), said)
        session.log(1, ROUNDS[1])
        session.close(Outcome.FINISHED, {})
    (experiment,) = client(there).search_experiments(filter_string="name = 'clinics'")
    number = experiment.experiment_id
    assert len(client(there).search_runs([number])) == 2
    by_number = {**said, "MLFLOW_EXPERIMENT_ID": number, "MLFLOW_EXPERIMENT_NAME": "x"}
    Mlflow().open(about(home), by_number).close(Outcome.FINISHED, {})
    assert len(client(there).search_runs([number])) == 3
    assert list(home.iterdir()) == []


def test_long_texts_are_cut_and_not_refused(home: Path) -> None:
    session = Mlflow().open(about(home, options={"sites": "x" * 9000}), {})
    session.close(Outcome.FINISHED, {"privacy_statement": "y" * 9000})
    found = client(home).get_run(session.id).data
    assert set(found.params["sites"]) == {"x"}
    assert set(found.tags["summary.privacy_statement"]) == {"y"}
