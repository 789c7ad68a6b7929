"""The history has a line for each benchmark, and all its lines are read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpdl import __version__
from dpdl.bench.history import history_line, processor, record
from dpdl.errors import InputError
from dpdl.folder.bench_results import HistoryLine, Startup

MEASURED = Startup(help=0.1, plan=2.0)


def test_a_line_says_when_where_and_what() -> None:
    line = history_line("startup", MEASURED)
    assert line.bench == "startup" and line.processor
    assert line.versions["dpdl"] == __version__ and "torch" in line.versions
    assert line.measured == {"help": 0.1, "plan": 2.0}
    assert len(line.when) == len("2026-01-01T00:00:00Z")


def test_lines_are_added_to_a_file(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    record("startup", MEASURED, path)
    record("startup", Startup(help=0.2, plan=3.0), path)
    first, second = map(json.loads, path.read_text().splitlines())
    assert (first["help"], second["help"]) == (0.1, 0.2)
    assert HistoryLine.from_json(first).to_json() == first


def test_only_a_checkout_has_a_history(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    record("startup", MEASURED)
    assert list(tmp_path.iterdir()) == []
    Path("benchmarks").mkdir()
    record("startup", MEASURED)
    assert len(Path("benchmarks/history.jsonl").read_text().splitlines()) == 1


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"History .* cannot be written"):
        record("startup", MEASURED, tmp_path / "nowhere" / "history.jsonl")


def test_the_processor_is_named(tmp_path: Path) -> None:
    file = tmp_path / "cpuinfo"
    file.write_text("processor : 0\nmodel name : Fast (R) 3000\nmodel name : other\n")
    assert processor(file) == "Fast (R) 3000"
    file.write_text("processor : 0\n")
    assert processor(file), "the family, where it has no name"
    assert isinstance(processor(tmp_path / "nothing"), str)
