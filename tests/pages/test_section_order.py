"""A reader meets the attack before the settings."""

from __future__ import annotations

import shutil
from pathlib import Path

from dpdl.pages.page import Section, private, public
from dpdl.pages.section_order import TITLE, settings_last
from dpdl.studies.pages import sections_of
from tests.folder.measured import RUN
from tests.pages.attacked import leave_attack

RUN_SECTION = Section(
    "run-x",
    "A run",
    [
        public("result"),
        public("settings")._replace(setting=True),
        private("the seed", "seed")._replace(setting=True),
    ],
    limits=["a limit"],
)
ATTACK = Section("rebuilt", "An attack", [private("an attack", "images")])


def test_settings_come_after_an_attack() -> None:
    run, attack, settings = settings_last([RUN_SECTION, ATTACK])
    assert [part.html for part in run.parts] == ["result"]
    assert run.limits == ["a limit"] and attack == ATTACK
    assert settings.title == TITLE and settings.appendix
    assert [(part.html, part.public) for part in settings.parts] == [
        ("settings", True),
        ("seed", False),
    ]


def test_a_section_alone_stays_whole() -> None:
    assert settings_last([RUN_SECTION]) == [RUN_SECTION]
    assert settings_last([]) == []
    assert settings_last([ATTACK, ATTACK]) == [ATTACK, ATTACK]


def test_a_run_that_was_attacked_is_told_in_that_order(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(RUN, folder)
    (folder / "attack").mkdir()
    leave_attack(folder / "attack")
    titles = [section.title for section in sections_of(folder)]
    assert titles[1:] == ["What your neighbour could rebuild", TITLE]
