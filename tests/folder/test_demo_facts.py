"""What the demonstration found is read as it was written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.folder import names
from dpdl.folder.demo_facts import DemoFacts, DemoFile
from tests.told import facts


def test_facts_are_read_as_they_were_written(tmp_path: Path) -> None:
    written = facts("runs/demo/rebuilt.png", ("A note.",))
    written.write(tmp_path)
    assert DemoFacts.read(tmp_path) == written


def test_json_has_words_where_nothing_is_proven_and_no_nan(tmp_path: Path) -> None:
    facts().write(tmp_path)
    found = json.loads((tmp_path / names.STORY).read_text("utf-8"))
    assert found["parts"][0]["epsilon"]["eavesdropper"] == "unbounded"
    assert found["parts"][1]["epsilon"]["claimed_theorem1"] == 0.5
    assert "picture" not in found
    assert "certified" not in found["parts"][2]


def test_damaged_facts_are_refused_with_their_place(tmp_path: Path) -> None:
    (tmp_path / names.STORY).write_text('{"dataset": 3}')
    with pytest.raises(InputError, match=names.STORY):
        DemoFacts.read(tmp_path)


def test_a_folder_of_a_later_format_is_refused() -> None:
    with pytest.raises(InputError, match="format"):
        DemoFile.from_json({"format": 2, "version": "9"})
