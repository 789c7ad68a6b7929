"""Default folders of studies, and what happens when their files cannot be written."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from dpdl.errors import RunFailed
from dpdl.records import Record
from dpdl.studies.comparison_request import make_comparison
from dpdl.studies.folders import (
    comparison_folder,
    default_folder,
    search_folder,
    write_record,
    write_text,
)
from dpdl.studies.search import make_search
from tests.studies.scored import E


@dataclass(frozen=True)
class Note(Record):
    FORMAT = 1

    text: str


def test_the_same_request_has_the_same_folder_and_another_one_another() -> None:
    one, same = (
        default_folder("tune", {"a": 1, "b": 2}),
        default_folder("tune", {"b": 2, "a": 1}),
    )
    assert one == same
    assert one.parent == Path("runs")
    assert one.name.startswith("tune-")
    assert default_folder("tune", {"a": 1}) != one
    assert default_folder("compare", {"a": 1, "b": 2}) != one


def test_comparisons_that_differ_have_folders_of_their_own() -> None:
    requests = [
        make_comparison("dpdl", 1, {}),
        make_comparison("dpdl", 2, {}),
        make_comparison("dpdl,dp-dpsgd", 1, {}),
        make_comparison("dpdl", 1, {"rounds": 7}),
        make_comparison("dpdl", 1, {}, ["dpdl.lr=0.5"]),
        make_comparison("dpdl", 1, {}, preset="as-published"),
        make_comparison("dpdl", 1, {}, megabytes=2.0),
    ]
    assert len(set(map(comparison_folder, requests))) == len(requests)


def test_searches_that_differ_in_work_have_folders_of_their_own() -> None:
    folders = [
        search_folder(make_search(E, "lr", 1, work=work)) for work in (4.0, 2.0, 4.0)
    ]
    assert folders[0] == folders[2] != folders[1]
    assert search_folder(make_search(E, "lr", 1)) not in folders
    assert search_folder(make_search(E, "lr", 2)) != search_folder(
        make_search(E, "lr", 1)
    )


def test_files_are_replaced(tmp_path: Path) -> None:
    write_record(tmp_path / "a.json", Note("old"))
    write_record(tmp_path / "a.json", Note("new"))
    found = json.loads((tmp_path / "a.json").read_text())
    assert found == {"format": 1, "text": "new"}
    write_text(tmp_path / "b.txt", "ü\n")
    assert (tmp_path / "b.txt").read_text("utf-8") == "ü\n"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.json", "b.txt"]


def test_a_disk_that_fails_says_how_to_go_on(tmp_path: Path) -> None:
    missing = tmp_path / "gone" / "a.json"
    for write in (
        lambda: write_record(missing, Note("x")),
        lambda: write_text(missing, "x"),
    ):
        with pytest.raises(RunFailed, match="continue with the same command"):
            write()
