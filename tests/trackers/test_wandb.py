"""Weights & Biases, the real one, offline: what it wrote is read back by a reader of our own."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from dpdl.trackers.base import Outcome, TrackerFailed
from dpdl.trackers.wandb import Wandb
from tests.reference.wandb_file import messages, told
from tests.trackers.abouts import OPTIONS, ROUNDS, SUMMARY, about


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "run" / "wandb"


def test_a_run_is_kept_in_its_folder_with_all_digits(home: Path, capfd) -> None:
    session = Wandb().open(about(home), {})
    for t, values in ROUNDS.items():
        session.log(t, values)
    assert session.kept == 0, "its writer may still have everything in memory"
    session.close(Outcome.FINISHED, SUMMARY)
    assert session.kept == 4
    found = told(home)
    assert found["rounds"] == ROUNDS
    assert found["ids"] == [session.id]
    assert (found["project"], found["name"]) == ("dpdl", "ring")
    assert OPTIONS.items() <= found["config"].items()
    assert SUMMARY.items() <= found["summary"].items()
    assert found["exit"] == 0
    assert capfd.readouterr() == ("", ""), "it is silent"
    assert [path.name for path in home.parents[1].iterdir()] == ["run"]


def test_neither_the_machine_nor_code_nor_the_terminal_is_in_the_file(
    home: Path,
) -> None:
    session = Wandb().open(about(home), {})
    print("said on the terminal")
    session.log(1, ROUNDS[1])
    session.close(Outcome.FINISHED, {})
    (path,) = home.glob("offline-run-*/*.wandb")
    found = {one.WhichOneof("record_type"): one for one in messages(path)}
    assert found["run"].run.host != socket.gethostname()
    assert not found["run"].run.HasField("git")
    assert set(found) == {
        *("header", "run", "history", "summary", "telemetry", "exit"),
    }
    assert b"terminal" not in path.read_bytes()
    assert not list((path.parent / "files").iterdir())


@pytest.mark.parametrize(
    ("outcome", "code"), [(Outcome.INTERRUPTED, 130), (Outcome.FAILED, 1)]
)
def test_a_run_goes_on_under_its_id_after_any_end(
    home: Path, outcome: Outcome, code: int
) -> None:
    first = Wandb().open(about(home), {})
    first.log(1, ROUNDS[1])
    first.close(outcome, {})
    assert told(home)["exit"] == code
    more = {**OPTIONS, "rounds": 12}
    second = Wandb().open(about(home, options=more, id=first.id, kept=1), {})
    assert (second.id, second.kept) == (first.id, 1)
    second.log(2, ROUNDS[2])
    second.log(4, ROUNDS[4])
    second.close(Outcome.FINISHED, SUMMARY)
    found = told(home)
    assert found["rounds"] == ROUNDS
    assert set(found["ids"]) == {first.id}
    assert (found["exit"], found["config"]["rounds"]) == (0, 12)


def test_a_run_of_somebody_else_in_the_process_goes_on(home: Path) -> None:
    """Then the server cannot be ended, and nothing is claimed."""
    import wandb

    other = Wandb().open(about(home.parents[1] / "other" / "wandb"), {})
    session = Wandb().open(about(home), {})
    session.log(1, ROUNDS[1])
    session.close(Outcome.FINISHED, {})
    assert session.kept == 0
    other.log(1, ROUNDS[1])
    other.close(Outcome.FINISHED, {})
    assert other.kept == 1
    for found in (told(home), told(home.parents[1] / "other" / "wandb")):
        assert found["rounds"] == {1: ROUNDS[1]} and found["exit"] == 0
    assert wandb.run is None


def test_its_own_variables_hold(home: Path, tmp_path: Path) -> None:
    said = {"WANDB_PROJECT": "clinics", "WANDB_DIR": str(tmp_path / "there")}
    (tmp_path / "there").mkdir()
    session = Wandb().open(about(home), said)
    session.log(1, ROUNDS[1])
    session.close(Outcome.FINISHED, {})
    found = told(tmp_path / "there" / "wandb")
    assert found["project"] == "clinics" and list(found["rounds"]) == [1]
    assert list(home.iterdir()) == []


def test_who_wants_to_send_must_be_logged_in(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NETRC", str(tmp_path / "no-netrc"))
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    with pytest.raises(TrackerFailed, match="say: wandb login"):
        Wandb().open(about(home), {"WANDB_MODE": "online"})
