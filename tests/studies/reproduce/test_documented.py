"""The numbers in `docs/reproduction.md` are those in `results/`."""

from __future__ import annotations

from pathlib import Path

from dpdl.studies.reproduce import beside_paper, recipes
from dpdl.studies.reproduce.markdown import markdown_tables

ROOT = Path(__file__).parents[3]


def test_the_page_has_all_tables_of_the_results_and_no_others() -> None:
    text = (ROOT / "docs" / "reproduction.md").read_text("utf-8")
    found = markdown_tables(
        beside_paper.compared(
            ROOT / "results", beside_paper.every_cell(), recipes.MODES
        )
    )
    for title, table in found.items():
        assert f"*{title}*\n\n{table}\n\n" in text, title
    assert text.count("| graph | epsilon | `") == len(found) >= 3
