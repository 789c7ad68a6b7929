"""The statement as a page, as text, and for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands import dpdl as command
from tests.pages.planted import SEED
from tests.pages.stated import Edit


def test_the_command_writes_the_page_and_prints_the_text(
    edited: Edit, monkeypatch, capsys
) -> None:
    copy = edited()
    code, out, err = command(monkeypatch, capsys, "privacy", "statement", str(copy))
    assert (
        code == 0
        and err == ""
        and out.startswith("Privacy statement: dpdl-sound on digits, ring of 4 agents")
    )
    assert (
        out.endswith(f"Page: {copy / 'statement.html'}\n")
        and "<html" in (copy / "statement.html").read_text()
    )


def test_formats(edited: Edit, tmp_path: Path, monkeypatch, capsys) -> None:
    copy, place = edited(), tmp_path / "x"
    words = ("privacy", "statement", str(copy))
    code, out, _ = command(monkeypatch, capsys, *words, "--format", "text")
    assert (
        code == 0
        and out.startswith("Privacy statement")
        and not (copy / "statement.html").exists()
    )
    assert (
        command(monkeypatch, capsys, *words, "--format", "text", "--out", str(place))[1]
        == f"Page: {place}\n"
    )
    assert place.read_text() == out
    assert (
        command(monkeypatch, capsys, *words, "--format", "html", "--out", str(place))[1]
        == f"Page: {place}\n"
    )
    assert place.read_text().startswith("<!doctype html>")


def test_programs_get_the_same_numbers(
    secure: Path, edited: Edit, monkeypatch, capsys
) -> None:
    code, out, _ = command(
        monkeypatch, capsys, "privacy", "statement", str(edited()), "--json"
    )
    facts, told = (
        json.loads(out),
        json.loads((secure / "summary.json").read_text())["epsilon"],
    )
    assert code == 0 and facts["protects"] is True and facts["alarms"] == []
    assert facts["epsilon"] == pytest.approx(
        {name: value for name, value in told.items() if name in facts["epsilon"]}
    )
    assert max(facts["per_agent"]["eavesdropper"]) == facts["epsilon"]["eavesdropper"]
    assert "records" not in facts and str(SEED) not in out


def test_a_simulation_protects_nobody_for_programs_too(
    planted: Path, monkeypatch, capsys
) -> None:
    _, out, _ = command(
        monkeypatch, capsys, "privacy", "statement", str(planted), "--json"
    )
    assert json.loads(out)["protects"] is False
