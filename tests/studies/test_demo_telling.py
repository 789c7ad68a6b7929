"""The story is told once, goes on where it was left, and loses nothing."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.folder import names
from dpdl.folder.demo_facts import DemoFacts
from dpdl.folder.run_folder import RunFolder
from dpdl.pages.attack_section import seen
from dpdl.studies.demo.script import ScriptPart
from dpdl.studies.demo.telling import tell
from dpdl.studies.demo.watch import Unwatched
from dpdl.training.interrupt import Interrupted
from tests.studies.small_story import small_story


class Noted(Unwatched):
    """Remembers which parts began, and which of them were found."""

    def __init__(self) -> None:
        self.parts: dict[str, bool] = {}

    def begin(self, part: ScriptPart, found: bool) -> None:
        self.parts[part.name] = found


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[DemoFacts, Path]:
    out = tmp_path_factory.mktemp("story") / "demo"
    return tell(small_story(), out, Unwatched(), notes=("A note.",)), out


def test_without_noise_the_records_come_back_and_nothing_is_proven(told) -> None:
    open_, *_ = told[0].parts
    assert seen(open_.attack) == "the records"
    assert open_.attack.label_recovery == 1.0
    assert all(one.unbounded for one in open_.epsilon.proven.values())


def test_with_noise_they_do_not(told) -> None:
    for part in told[0].parts[1:]:
        assert seen(part.attack) == "nothing"
        assert part.sigma > 0


def test_the_last_part_proves_what_the_paper_claims(told) -> None:
    _, paper, proven = told[0].parts
    claimed = paper.epsilon.claimed_theorem1.value
    assert claimed == 4.0
    for one in proven.epsilon.proven.values():
        assert one.value <= claimed
    assert all(one.value > claimed for one in paper.epsilon.proven.values())
    assert paper.certified is not None
    assert paper.confidence == 0.95
    assert proven.certified is None


def test_all_of_it_is_in_the_folder(told) -> None:
    facts, out = told
    assert DemoFacts.read(out) == facts
    assert Path(facts.picture).read_bytes().startswith(b"\x89PNG")
    page = Path(facts.page).read_text("utf-8")
    assert "What a neighbour rebuilds" in page
    assert "A note." in page
    for part in facts.parts:
        assert RunFolder(Path(part.run)).finished
        assert f"{part.accuracy:.1%}" in page


def test_told_again_it_is_found_and_says_the_same(told) -> None:
    facts, out = told
    watch = Noted()
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*.safetensors")}
    assert tell(small_story(), out, watch, notes=("A note.",)) == facts
    assert watch.parts == {"open": True, "paper": True, "proven": True}
    assert before == {path: path.stat().st_mtime_ns for path in before}


def test_what_was_left_goes_on_and_ends_the_same(told, tmp_path: Path) -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(Interrupted):
        tell(small_story(), tmp_path / "demo", Unwatched(), stop=stop)
    kept = RunFolder(tmp_path / "demo" / names.part_of_story("digits", "open"))
    assert kept.started
    assert not kept.finished
    again = tell(small_story(), tmp_path / "demo", Unwatched(), notes=("A note.",))
    for one, other in zip(again.parts, told[0].parts, strict=True):
        assert one.accuracy == other.accuracy
        assert replace(one.attack, run=None) == replace(other.attack, run=None)


def test_other_settings_than_a_folder_began_with_are_refused(told) -> None:
    with pytest.raises(InputError, match="was started with rounds = 6, not 7"):
        tell(small_story(rounds=7), told[1], Unwatched())


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("mine")
    with pytest.raises(InputError, match="holds something else"):
        tell(small_story(), tmp_path, Unwatched())
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]
