"""MLflow: a database in the run folder, `mlflow/mlflow.db`, or what `MLFLOW_TRACKING_URI` names.

`mlflow ui --backend-store-uri sqlite:///RUN/mlflow/mlflow.db` shows it. The light package
`mlflow-skinny` writes it with SQLAlchemy and Alembic; a store of plain files is refused by MLflow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, final
from urllib.parse import urlsplit

from dpdl.trackers.base import (
    PROJECT,
    About,
    Destination,
    Entries,
    Environment,
    Outcome,
    unless_said,
)

ADDRESS = "MLFLOW_TRACKING_URI"
STORE = "mlflow.db"
LOCAL = ("", "file", "sqlite")
"""Schemes of addresses on this machine."""
STATUS = {
    Outcome.FINISHED: "FINISHED",
    Outcome.INTERRUPTED: "KILLED",
    Outcome.FAILED: "FAILED",
}
MOST = 5000
"""Characters of a tag that every store takes."""


@final
class Mlflow:
    """Opens runs of MLflow."""

    def libraries(self, environment: Environment) -> Sequence[str]:
        """A database needs two more than a server does."""
        if environment.get(ADDRESS):
            return ("mlflow",)
        return ("mlflow", "sqlalchemy", "alembic")

    def destination(self, environment: Environment) -> Destination:
        """The address without what is secret in it."""
        address = environment.get(ADDRESS)
        if not address:
            return Destination()
        parts = urlsplit(address)
        if parts.scheme in LOCAL and not address.startswith("databricks"):
            return Destination(address)
        host = parts.netloc.rpartition("@")[2]
        open_part = parts._replace(netloc=host, query="", fragment="")
        return Destination(open_part.geturl(), sends=True)

    def open(self, about: About, environment: Environment) -> MlflowSession:
        """Begin, or go on under the id that the run has."""
        unless_said(MLFLOW_DISABLE_TELEMETRY="true", MLFLOW_LOGGING_LEVEL="WARNING")
        from mlflow import MlflowClient

        client = MlflowClient(environment.get(ADDRESS) or _store(about))
        if about.id:
            return _go_on(client, about, about.id)
        experiment = _experiment(client, about, environment)
        began = int(1000 * about.began)
        found = client.create_run(experiment, began, run_name=about.name)
        session = MlflowSession(client, found.info.run_id, about)
        session.say(about.options)
        return session


def _store(about: About) -> str:
    return f"sqlite:///{about.home.resolve() / STORE}"


def _experiment(client: Any, about: About, environment: Environment) -> str:
    """The one that its variables name; otherwise ours, which is made if there is none."""
    number = environment.get("MLFLOW_EXPERIMENT_ID")
    if number:
        return number
    name = environment.get("MLFLOW_EXPERIMENT_NAME") or PROJECT
    found = client.get_experiment_by_name(name)
    if found:
        return str(found.experiment_id)
    # Otherwise files would go below the folder that the command is run in.
    files = None if environment.get(ADDRESS) else about.home.resolve().as_uri()
    return str(client.create_experiment(name, artifact_location=files))


def _go_on(client: Any, about: About, run: str) -> MlflowSession:
    """A parameter cannot be changed; an option that has changed becomes a tag."""
    before = client.get_run(run).data.params
    client.update_run(run, status="RUNNING")
    session = MlflowSession(client, run, about)
    options = about.options.items()
    changed = {name: one for name, one in options if before.get(name) != str(one)}
    session.tag("resumed", changed)
    return session


@final
class MlflowSession:
    """One open run, of which every round is stored before the call returns."""

    def __init__(self, client: Any, run: str, about: About) -> None:
        self._client = client
        self._run = run
        self._began = about.began
        self._kept = about.kept

    @property
    def id(self) -> str:
        """MLflow's own."""
        return self._run

    @property
    def kept(self) -> int:
        """The last round that was stored."""
        return self._kept

    def say(self, options: Entries) -> None:
        """The options, as parameters."""
        from mlflow.entities import Param

        params = [Param(name, str(value)) for name, value in options.items()]
        self._client.log_batch(self._run, params=params)

    def tag(self, group: str, entries: Entries) -> None:
        """Texts and numbers that belong to no round."""
        from mlflow.entities import RunTag

        tags = [
            RunTag(f"{group}.{name}", str(value)[:MOST])
            for name, value in entries.items()
        ]
        self._client.log_batch(self._run, tags=tags)

    def log(self, t: int, values: Mapping[str, float]) -> None:
        """Metrics at step t. The same round told twice is stored once: its time is the same."""
        from mlflow.entities import Metric

        when = int(1000 * (self._began + values.get("seconds", 0)))
        metrics = [Metric(name, value, when, t) for name, value in values.items()]
        self._client.log_batch(self._run, metrics=metrics)
        self._kept = t

    def close(self, outcome: Outcome, summary: Entries) -> None:
        """The summary as tags; an interrupted run is `KILLED`, as MLflow calls it."""
        self.tag("summary", summary)
        self._client.set_terminated(self._run, STATUS[outcome])
