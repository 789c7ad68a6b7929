"""`dpdl privacy statement`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.stored import same, stored
from tests.commands import dpdl
from tests.folder.measured import RUN

STATEMENT = ["privacy", "statement", "run"]


@pytest.fixture(autouse=True)
def _with_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(RUN, "run")


def test_json_is_what_it_was_when_it_was_stored(monkeypatch, capsys) -> None:
    code, out, _ = dpdl(monkeypatch, capsys, *STATEMENT, "--json")
    found, expected = json.loads(out), stored("statement")
    assert code == 0
    assert expected["sha256"].pop("state.safetensors"), "which the stored run lacks"
    assert same(found, expected)
    proven = json.loads((RUN / "summary.json").read_text())["epsilon"]
    assert {**found["epsilon"]} == {k: v for k, v in proven.items() if "claim" not in k}


@pytest.mark.parametrize(
    ("words", "text", "page"),
    [
        ([], True, "run/statement.html"),
        (["--format", "html"], False, "run/statement.html"),
        (["--format", "text"], True, None),
        (["--format", "text", "--out", "s.txt"], False, "s.txt"),
        (["--out", "s.html"], True, "s.html"),
    ],
)
def test_text_is_printed_unless_it_is_in_a_file(
    monkeypatch, capsys, words: list[str], text: bool, page: str | None
) -> None:
    code, out, _ = dpdl(monkeypatch, capsys, *STATEMENT, *words)
    assert code == 0
    assert ("1. What left the agents" in out) == text
    assert (f"Page: {page}" in out) == (page is not None)
    assert page is None or "What left the agents" in Path(page).read_text("utf-8")
