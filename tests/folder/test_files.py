"""Files are the old one or the new one, and hold JSON that every program reads."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import final

import pytest

from dpdl.errors import InputError
from dpdl.folder import files
from dpdl.records import Record


@final
@dataclass(frozen=True)
class Pair(Record):
    FORMAT = 1

    a: int
    b: float


def test_a_file_is_replaced_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    files.write(path, b"old")
    files.write(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_file_that_cannot_be_replaced_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    path.mkdir()
    (path / "inside").write_text("here")
    with pytest.raises(OSError, match="directory"):
        files.write(path, b"new")
    assert (path / "inside").read_text() == "here"
    assert list(tmp_path.iterdir()) == [path]


def test_a_value_that_is_no_json_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    files.write_json(path, {"x": 1})
    for wrong in (float("nan"), float("inf"), object()):
        with pytest.raises((ValueError, TypeError)):
            files.write_json(path, {"x": wrong})
    assert json.loads(path.read_text()) == {"x": 1}


def test_records_and_plain_values_are_written_alike(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    files.write_json(one, Pair(1, 2.0))
    files.write_json(other, {"format": 1, "a": 1, "b": 2.0})
    assert one.read_bytes() == other.read_bytes()
    assert one.read_text().endswith("}\n")
    assert files.read_record(Pair, one) == Pair(1, 2.0)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "is damaged: Expecting property name"),
        ("[]", "is damaged: A record must be an object"),
        ('{"a": 1}', "is damaged: Pair has no 'b'"),
        ('{"a": 1, "b": NaN}', "is damaged: NaN is not JSON"),
        ('{"a": 1, "b": -Infinity}', "is damaged: -Infinity is not JSON"),
        ('{"format": 2, "a": 1, "b": 1}', "is of format 2"),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "pair.json"
    path.write_text(content)
    with pytest.raises(InputError, match=words) as failure:
        files.read_record(Pair, path)
    assert "pair.json" in str(failure.value)
    assert not str(failure.value).endswith("..")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'.*gone' cannot be read: No such file"):
        files.read_record(Pair, tmp_path / "gone")


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "no" / "page.html"
    with (
        pytest.raises(
            InputError, match=r"Page '.*page.html' cannot be written: No such"
        ),
        files.refusing("Page", path),
    ):
        files.write(path, b"")


def test_a_picture_without_a_name_goes_to_the_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert files.among_runs("graph.png") == Path("runs/graph.png")
    assert Path("runs").is_dir()
    assert files.among_runs("other.png") == Path("runs/other.png")


def test_a_file_in_the_place_of_the_runs_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("runs").write_text("")
    with pytest.raises(InputError, match=r"'runs/graph.png' cannot be written: File"):
        files.among_runs("graph.png")
