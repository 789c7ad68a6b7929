"""The page of all options is made from the code."""

from __future__ import annotations

from pathlib import Path

import dpdl
from dpdl import algorithms
from dpdl.experiment.options import options_of
from dpdl.experiment.shared import SHARED
from dpdl.pages.options import COMMAND, HEAD, page

WHOLE = page(algorithms.names())


def section(name: str) -> str:
    return WHOLE.partition(f"### `{name}`\n")[2].partition("###")[0]


def test_the_documentation_is_the_page() -> None:
    docs = Path(dpdl.__file__).parents[2] / "docs" / "options.md"
    assert docs.read_text("utf-8") == WHOLE
    assert COMMAND in WHOLE


def test_every_option_has_a_row_with_every_column() -> None:
    shared = WHOLE.partition("## Shared options")[2].partition("## Options of")[0]
    for name in SHARED:
        assert f"| `{name}` | " in shared
    for name in algorithms.names():
        for option in options_of(name):
            assert f"| `{option}` | " in section(name)
    rows = [line for line in WHOLE.splitlines() if line.startswith("| `")]
    columns = {line.replace("\\|", "").count("|") for line in rows}
    assert columns == {HEAD.count("|")}


def test_a_name_that_stands_for_another_one_says_so() -> None:
    assert "It stands for `noise` `none` and `clip_unit` `none`." in section("d-psgd")


def test_an_algorithm_that_cannot_be_imported_is_a_sentence() -> None:
    text = page(["nowhere:Nothing"])
    assert "### `nowhere:Nothing`" in text
    assert "nowhere" in text.rpartition("### ")[2].partition("\n\n")[2]
