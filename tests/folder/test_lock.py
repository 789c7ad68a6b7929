"""A folder of many runs has one writer and one request, and is left alone if it is not ours."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.folder.lock import locked, refuse_difference
from dpdl.records import Record


@dataclass(frozen=True)
class About(Record):
    FORMAT = 1

    asked: int


def test_a_folder_that_is_not_ours_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/note.txt").write_text("mine")
    for name, hint in (("file", "must be a folder"), ("other", "holds something else")):
        with (
            pytest.raises(InputError, match=hint),
            locked(tmp_path / name, "a.json", About),
        ):
            pytest.fail("it was opened")
    assert [one.name for one in (tmp_path / "other").iterdir()] == ["note.txt"]


def test_a_second_writer_is_refused_until_the_first_is_done(tmp_path: Path) -> None:
    out = tmp_path / "new"
    with locked(out, "a.json", About) as before:
        assert before is None
        with (
            pytest.raises(InputError, match="another process"),
            locked(out, "a.json", About),
        ):
            pytest.fail("it was opened twice")
        (out / "a.json").write_text(json.dumps(About(5).to_json()))
    with locked(out, "a.json", About) as before:
        assert before == About(5)


def test_a_new_folder_in_which_nothing_was_written_is_removed(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "new"
    with (
        pytest.raises(InputError, match="wrong from the start"),
        locked(out, "a.json", About),
    ):
        raise InputError("wrong from the start")
    assert not out.exists()


def test_a_folder_with_nothing_but_a_lock_is_new(tmp_path: Path) -> None:
    (tmp_path / ".lock").touch()
    with locked(tmp_path, "a.json", About) as before:
        assert before is None
    assert tmp_path.exists(), "it was there before"


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        ("{", "is damaged"),
        ("[]", "must be an object"),
        ('{"format": 2, "asked": 5}', "is of format 2"),
        ('{"format": 1}', "has no 'asked'"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(
    tmp_path: Path, content: str, hint: str
) -> None:
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(InputError, match=hint), locked(tmp_path, "a.json", About):
        pytest.fail("it was opened")
    (tmp_path / "a.json").write_text('{"format": 1, "asked": 5}')
    with locked(tmp_path, "a.json", About) as before:
        assert before == About(5), "the lock is free again"


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(InputError, match="cannot be written"),
        locked(tmp_path / "file" / "below", "a.json", About),
    ):
        pytest.fail("it was opened")


def test_an_error_of_the_writer_is_passed_on(tmp_path: Path) -> None:
    with pytest.raises(BlockingIOError), locked(tmp_path / "new", "a.json", About):
        raise BlockingIOError("of a pipe")


def test_the_first_difference_is_named() -> None:
    refuse_difference(Path("c"), {"lr": 0.1}, {"lr": 0.1})
    with pytest.raises(InputError, match=r"started with rounds = 5 for dpdl, not 6"):
        refuse_difference(
            Path("c"),
            {"lr": 0.1, "rounds": 5},
            {"lr": 0.1, "rounds": 6, "batch": 2},
            " for dpdl",
        )


def test_an_option_that_only_one_has_is_a_difference_unless_it_is_none() -> None:
    refuse_difference(Path("c"), {"lr": 0.1, "budget": None}, {"lr": 0.1})
    with pytest.raises(InputError, match="started with batch = None, not 2"):
        refuse_difference(Path("c"), {}, {"batch": 2})
