"""Trackio, the real one, which is installed for these tests: it takes no pillow 13, which all others have."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dpdl.folder.export import scalars
from dpdl.folder.run_folder import RunFolder
from dpdl.trackers.trackio import table
from tests.trackers.commands import SHORT, Door, dpdl, stopped

CONSTRAINTS = Path(__file__).parents[2] / "constraints.txt"
TRACK = ["--track", "trackio"]


def test_a_report_is_a_table_whatever_the_texts_are() -> None:
    assert (
        table({"a": 1, "b|c": "x|y"})
        == "| | |\n|---|---|\n| a | 1 |\n| b\\|c | x\\|y |"
    )


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with Trackio and what it needs, in the versions that are pinned, but for pillow."""
    folder = tmp_path_factory.mktemp("trackio")
    lines = CONSTRAINTS.read_text("utf-8").splitlines(keepends=True)
    pinned = folder / "pinned.txt"
    pinned.write_text("".join(one for one in lines if not one.startswith("pillow")))
    words = "-m pip install --quiet --disable-pip-version-check --no-compile --target"
    command = [sys.executable, *words.split(), str(folder / "packages")]
    environment = {**os.environ, "PYTHONWARNINGS": ""}
    subprocess.run(
        [*command, "--constraint", str(pinned), "trackio"], check=True, env=environment
    )
    return str(folder / "packages")


def rows(run: Path) -> list[tuple[str, int, dict[str, Any]]]:
    """Run, step and content of all rows in Trackio's database."""
    with sqlite3.connect(run / "trackio" / "dpdl.db") as database:
        found = database.execute(
            "SELECT run_id, step, metrics FROM metrics ORDER BY id"
        )
        return [(one, step, json.loads(text)) for one, step, text in found]


def rounds(run: Path) -> dict[int, dict[str, float]]:
    """Of the one run that it has, each round once; reports are left out."""
    found: dict[int, dict[str, float]] = {}
    assert len({one for one, _, _ in rows(run)}) == 1
    for _, step, values in rows(run):
        if "report" not in values:
            assert step not in found, f"round {step} is there twice"
            found[step] = values
    return found


def reports(run: Path) -> list[str]:
    found = [values["report"] for _, _, values in rows(run) if "report" in values]
    return [json.dumps(one) for one in found]


def measured(run: Path) -> dict[int, dict[str, float]]:
    found: dict[int, dict[str, float]] = {}
    for metrics in RunFolder(run).metrics():
        values = scalars(metrics.to_json())
        found[int(values.pop("round"))] = values
    return found


@pytest.mark.network
def test_a_run_is_in_its_folder_and_nothing_is_sent(
    library: str, tmp_path: Path
) -> None:
    with Door() as door:
        where = door.environment(library)
        done = dpdl(tmp_path, where, "run", *SHORT, "--out", "r", *TRACK)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rounds"] == 6
    assert [line for line in done.stderr.splitlines() if "Waiting" not in line] == []
    run = tmp_path / "r"
    assert rounds(run) == measured(run) and list(rounds(run)) == [1, 2, 4, 6]
    (report,) = reports(run)
    assert "| outcome | finished |" in report and "privacy_statement" in report
    with sqlite3.connect(run / "trackio" / "dpdl.db") as database:
        ((config,),) = database.execute("SELECT config FROM configs")
    assert json.loads(config)["batch"] == 8
    assert door.knocks == []
    assert [path.name for path in tmp_path.iterdir()] == ["r"]


@pytest.mark.network
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_or_killed_run_goes_on_and_loses_no_round(
    library: str, tmp_path: Path, number: signal.Signals
) -> None:
    run = tmp_path / "r"
    with Door() as door:
        where = door.environment(library)
        code, said = stopped(tmp_path, where, number, "trackio")
        if number is signal.SIGINT:
            assert code == 1 and "Interrupted after round 9 of 12" in said
            assert rounds(run) == measured(run)
            assert "| outcome | interrupted |" in reports(run)[0]
        done = dpdl(tmp_path, where, "resume", "r", "--quiet", "--json", *TRACK)
    assert done.returncode == 0, done.stderr
    expected = measured(run)
    found = rounds(run)
    assert list(found) == list(expected) == list(range(1, 13))
    for t, values in expected.items():
        assert found[t] | {"seconds": 0} == values | {"seconds": 0}
    assert "| outcome | finished |" in reports(run)[-1]
    assert door.knocks == []


@pytest.mark.network
def test_a_database_that_cannot_be_written_costs_a_sentence(
    library: str, tmp_path: Path
) -> None:
    with Door() as door:
        (tmp_path / "full").touch()
        where = {**door.environment(library), "TRACKIO_DIR": "/proc/nothing"}
        done = dpdl(tmp_path, where, "run", *SHORT, "--out", "r", *TRACK)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rounds"] == 6
    said = [one for one in done.stderr.splitlines() if one.startswith("trackio failed")]
    assert len(said) == 1


TWO = """
import sys
from pathlib import Path
from dpdl.trackers.base import About, Outcome, TrackerFailed
from dpdl.trackers.trackio import Trackio

for name in ("a", "b"):
    home = Path(name, "trackio")
    home.mkdir(parents=True)
    try:
        Trackio().open(About(name, home, 0.0, {}), {}).close(Outcome.FINISHED, {})
    except TrackerFailed as failure:
        print(failure)
"""


@pytest.mark.network
def test_a_second_folder_in_one_process_is_refused(
    library: str, tmp_path: Path
) -> None:
    with Door() as door:
        done = subprocess.run(
            [sys.executable, "-c", TWO], cwd=tmp_path, env=door.environment(library),
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    assert "set TRACKIO_DIR before it starts" in done.stdout
    assert done.stdout.count("\n") == 1
    assert not list((tmp_path / "b" / "trackio").iterdir())
