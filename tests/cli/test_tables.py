"""Tables of any width: whatever the terminal, every number is there as a whole."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console
from rich.text import Text

from dpdl.cli.tables import FittingTable


def drawn(table: FittingTable, width: int, borders: bool = True) -> list[str]:
    file = io.StringIO()
    table.show(Console(file=file, width=width), borders)
    return [line.rstrip() for line in file.getvalue().splitlines()]


def wide(columns: int, size: int = 5) -> tuple[FittingTable, list[str]]:
    """A table of numbers, and all of them."""
    table = FittingTable("Many", ["agent", *(f"#{c}" for c in range(columns))])
    numbers = []
    for agent in range(3):
        row = [str(10**size - 1 - 100 * agent - c) for c in range(columns)]
        numbers += row
        table.add(str(agent), *row)
    return table, numbers


@pytest.mark.parametrize("width", [20, 42, 80, 200])
@pytest.mark.parametrize("columns", [1, 4, 10, 100])
def test_no_number_is_cut(width: int, columns: int) -> None:
    table, numbers = wide(columns)
    lines = drawn(table, width)
    words = re.findall(r"\d+", " ".join(lines))
    for number in numbers:
        assert number in words
    assert max(map(len, lines)) <= width
    assert "…" not in "".join(lines)


def test_what_fits_has_borders_and_what_does_not_has_none() -> None:
    table, _ = wide(4)
    assert any("┏" in line for line in drawn(table, 80))
    assert not any("┏" in line for line in drawn(table, 34))
    assert not any("┏" in line for line in drawn(table, 80, borders=False))


def test_a_table_in_parts_repeats_its_first_column() -> None:
    table, _ = wide(10)
    heads = [line for line in drawn(table, 42) if "#" in line]
    assert len(heads) == 2
    assert all(head.startswith("agent") for head in heads)


def test_texts_wrap_between_words_and_give_way_first() -> None:
    table = FittingTable("A title that is long", ["what", "value"])
    table.add("the number of records that were held out", "1,234,567.8 MB")
    lines = drawn(table, 34)
    assert any("1,234,567.8 MB" in line for line in lines)
    assert max(map(len, lines)) <= 34
    assert " ".join(" ".join(lines).split()).count("records") == 1


def test_a_value_and_its_spread_stay_on_one_line() -> None:
    table = FittingTable("", ["algorithm", "accuracy", "other"])
    table.add("a long name of an algorithm", "91.25 ± 0.75", "not private")
    for width in range(24, 60):
        assert any("91.25 ± 0.75" in line for line in drawn(table, width)), width


def test_where_not_even_one_number_fits_there_is_a_list() -> None:
    table = FittingTable("Title", ["who", "epsilon"])
    table.add("unbreakable-name", "123456.789")
    assert drawn(table, 18) == ["Title", "unbreakable-name", "  epsilon", "123456.789"]


def test_cells_are_shown_as_they_are() -> None:
    table = FittingTable("[bold]", ["what", "value"])
    table.add("[red]name[/]", Text("red", "bold red"), dim=True)
    lines = " ".join(drawn(table, 60))
    assert "[bold]" in lines
    assert "[red]name[/]" in lines


def test_a_least_width_is_kept_where_there_is_room() -> None:
    table = FittingTable("Title", ["what", "value"], least_width=50)
    table.add("a", "1")
    assert max(map(len, drawn(table, 80))) == 50
    assert max(map(len, drawn(table, 42))) == 42
