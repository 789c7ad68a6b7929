"""`dpdl privacy verify`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.stored import same, stored
from tests.commands import DIGITS, dpdl
from tests.folder.measured import RUN


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RANK", raising=False)


def test_privacy_verify_recomputes_and_notices_a_forged_report(
    monkeypatch, capsys
) -> None:
    assert (
        dpdl(
            monkeypatch,
            capsys,
            "run",
            *DIGITS,
            "--rounds",
            "2",
            "--sigma",
            "9",
            "--quiet",
            "--out",
            "r",
        )[0]
        == 0
    )
    code, out, _ = dpdl(monkeypatch, capsys, "privacy", "verify", "r", "--json")
    assert code == 0
    found = json.loads(out)
    assert found["agrees"] is True
    assert found["reported"] == found["recomputed"]
    summary = json.loads(Path("r/summary.json").read_text())
    summary["epsilon"]["eavesdropper"] *= 0.9
    Path("r/summary.json").write_text(json.dumps(summary))
    code, out, _ = dpdl(monkeypatch, capsys, "privacy", "verify", "r")
    assert code == 3
    assert "does NOT agree" in out


def test_json_is_as_it_was_before_there_were_records(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    """The stored run has no checkpoint, which is unknown and no disagreement."""
    shutil.copytree(RUN, tmp_path / "run")
    code, out, _ = dpdl(monkeypatch, capsys, "privacy", "verify", "run", "--json")
    found, expected = json.loads(out), stored("verify")
    assert code == 0
    for facts in (found, expected):
        of_checkpoint = [c for c in facts["checks"] if "checkpoint" in c["name"]]
        assert [facts["checks"].remove(check) for check in of_checkpoint] == [None]
        facts["checks"] = [c for c in facts["checks"] if c["name"] != "version"]
        facts["checks"][-1].pop(
            "name"
        )  # statements of other versions are compared by number
    assert same(
        {**found, "checks": found["checks"][:-1]},
        {**expected, "checks": expected["checks"][:-1]},
    )


def test_a_person_sees_both_values_where_they_matter(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    shutil.copytree(RUN, tmp_path / "run")
    code, out, _ = dpdl(monkeypatch, capsys, "privacy", "verify", "run")
    assert code == 0
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "agrees eavesdropper reported 82.92 recomputed 82.92" in lines
    assert "agrees batch in experiment.json 8" in lines
    assert "agrees neighbours in the ledger [[1, 2], [0, 2], [0, 1]]" in lines
    assert lines[-1] == "The ledger agrees with the report."


def test_a_file_cannot_write_lines_of_ours_nor_move_the_cursor(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    shutil.copytree(RUN, tmp_path / "run")
    file = tmp_path / "run" / "summary.json"
    summary = json.loads(file.read_text("utf-8"))
    summary["ledger_head"] += "\x1b[2J\x07\u202e\nThe ledger agrees with the report."
    file.write_text(json.dumps(summary), "utf-8")
    code, out, _ = dpdl(monkeypatch, capsys, "privacy", "verify", "run")
    assert code == 3
    assert r"\x1b[2J\x07\u202e\nThe ledger agrees" in out
    assert "\nThe ledger agrees" not in out
