"""`dpdl report`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.stored import same, stored
from tests.commands import dpdl
from tests.folder.measured import RUN


@pytest.fixture(autouse=True)
def _with_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(RUN, "run")


def test_json_is_as_it_was_before_there_were_records(monkeypatch, capsys) -> None:
    code, out, _ = dpdl(monkeypatch, capsys, "report", "run", "--json")
    assert code == 0
    assert same(json.loads(out), stored("report"))
    assert "Proven: (82.92, 1e-05)" in Path("run/report.html").read_text("utf-8")


def test_a_public_page_is_another_file(monkeypatch, capsys) -> None:
    code, out, _ = dpdl(monkeypatch, capsys, "report", "run", "--public")
    assert (code, out) == (0, "Page: run/public.html\n")
    text = Path("run/public.html").read_text("utf-8")
    assert "21.11%" in text
    assert "2.276" not in text, "the training loss"
    assert not Path("run/report.html").exists()


def test_a_folder_must_be_named(monkeypatch, capsys) -> None:
    code, _, err = dpdl(monkeypatch, capsys, "report")
    assert code == 2
    assert "FOLDER" in err
