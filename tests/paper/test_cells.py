"""Cells of the paper are found by table, by figure and by their values."""

from __future__ import annotations

import itertools

import pytest

from dpdl.errors import InputError
from dpdl.paper.cells import (
    AttackedPlace,
    Cell,
    CellRecord,
    algorithms_of_paper,
    claim,
    is_shown,
    names_of_attacks,
    names_of_tables,
    places,
    published,
    select,
)
from dpdl.paper.numbers import FIGURES, names

EPSILONS = {"mnist": (0.25, 0.5, 1.0), "cifar10": (2.0, 4.0, 8.0)}
FIVE = {"dpdl", "dp-cga", "dp-netfleet", "muffliato", "dp-dpsgd"}
CELL = Cell("mnist", "ring", 10, 0.25, 0.5, "dpdl")


def test_every_published_accuracy_is_a_cell() -> None:
    assert len(published()) == 540 and len({cell.name for cell in published()}) == 540
    assert published()[CELL] == (91.8, 0.6, "acc-mnist-2")
    assert CELL.name == "mnist-ring-10-alpha0.25-epsilon0.5-dpdl"


def test_the_most_telling_cells_come_first() -> None:
    cells = list(published())
    assert {cell[:1] + cell[2:4] + cell[5:] for cell in cells[:9]} == {
        ("mnist", 10, 0.25, "dpdl")
    }
    assert all(cell.agents == 10 and cell.alpha_d == 0.25 for cell in cells[:45])
    assert [cell.dataset for cell in cells] == ["mnist"] * 270 + ["cifar10"] * 270


@pytest.mark.parametrize(
    ("table", "words", "count"),
    [
        (None, "", 540),
        ("acc-mnist", "", 180),
        ("acc-mnist-2", "", 90),
        (None, "graph=ring/complete,agents=10", 120),
        ("acc-cifar", "epsilon=4,algorithm=dpdl,alpha_d=1", 6),
    ],
)
def test_cells_are_selected(table: str | None, words: str, count: int) -> None:
    assert len(select(table, words)) == count


@pytest.mark.parametrize(
    ("table", "words", "hint"),
    [
        ("acc-mnits", "", "acc-mnist"),
        (None, "agents=11", "10, 20, 30"),
        (None, "agents=ten", "10, 20, 30"),
        (None, "size=10", "agents"),
        (None, "ring", "name=value"),
        ("acc-mnist", "graph=ring", "No cell"),
    ],
)
def test_what_is_not_in_the_paper_is_refused(
    table: str | None, words: str, hint: str
) -> None:
    with pytest.raises(InputError, match=hint):
        select(table, words)


def test_an_algorithm_beyond_the_paper_is_there_for_those_who_name_it() -> None:
    assert all(
        cell.algorithm != "decor"
        for cell in select("acc-mnist", "agents=10", ["decor"])
    )
    found = select("acc-mnist-2", "agents=10,algorithm=decor/dpdl", ["decor"])
    assert [cell.algorithm for cell in found] == ["dpdl"] * 6 + ["decor"] * 6
    assert claim(CELL._replace(algorithm="decor")) == published()[CELL]
    assert (
        claim(CELL._replace(algorithm="dp-cga"))
        == published()[CELL._replace(algorithm="dp-cga")]
    )
    with pytest.raises(InputError, match="algorithm of the paper"):
        select(None, "algorithm=decor")


def test_tables_have_names() -> None:
    assert names_of_tables() == ["acc-cifar", "acc-cifar-2", "acc-mnist", "acc-mnist-2"]
    assert names_of_attacks() == ["attack-cifar10", "attack-mnist"]
    assert names() == sorted([*names_of_tables(), *names_of_attacks(), *FIGURES])
    assert algorithms_of_paper()[0] == "dpdl" and set(algorithms_of_paper()) == FIVE


def test_a_record_knows_its_cell() -> None:
    record = CellRecord(*CELL)
    assert record.cell == CELL and list(record.to_json()) == list(Cell._fields)
    assert CELL._replace(algorithm="muffliato").of_dpdl == CELL


# ------------------------------------------------------------------ figures
@pytest.mark.parametrize("name", FIGURES)
def test_the_cells_of_a_figure_are_the_papers_panels(name: str) -> None:
    _, short, graph = name.split("-")
    dataset = {"mnist": "mnist", "cifar": "cifar10"}[short]
    cells = select(name)
    panels = itertools.product((10, 20, 30), EPSILONS[dataset])
    assert {(cell.agents, cell.epsilon) for cell in cells} == set(panels)
    assert {(cell.dataset, cell.graph, cell.alpha_d) for cell in cells} == {
        (dataset, graph, 0.25)
    }
    assert {cell.algorithm for cell in cells} == FIVE and len(cells) == 9 * 5
    assert cells == [cell for cell in published() if cell in set(cells)], (
        "in the order of the tables"
    )


def test_cells_of_a_figure_are_selected() -> None:
    cells = select("conv-mnist-ring", "agents=10/20,algorithm=dpdl")
    assert [(cell.agents, cell.epsilon) for cell in cells] == list(
        itertools.product((10, 20), EPSILONS["mnist"])
    )


def test_a_table_shows_no_line_of_a_cell() -> None:
    assert is_shown(CELL, "conv-mnist-ring")
    assert not is_shown(CELL, "acc-mnist") and not is_shown(CELL, None)
    assert not is_shown(CELL._replace(alpha_d=1.0), "conv-mnist-ring")


# ------------------------------------------------------------------ attacks
def test_places_are_those_that_the_paper_attacked() -> None:
    assert len(places()) == 18
    assert len(places("attack-mnist")) == len(places("attack-cifar10")) == 9
    assert places("attack-mnist", "graph=ring,agents=10") == [
        AttackedPlace("mnist", "ring", 10)
    ]
    sizes = [place.agents for place in places("attack-mnist")]
    assert sizes == [10] * 3 + [20] * 3 + [30] * 3, "small ones first"
    assert AttackedPlace("mnist", "ring", 10).name == "mnist-ring-10"
