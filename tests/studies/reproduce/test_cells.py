"""Cells of the paper, and the experiments they stand for."""

from __future__ import annotations

import pytest

from dpdl.errors import InputError
from dpdl.paper.cells import Cell, claim, names_of_tables, published, select
from dpdl.studies.reproduce import recipes

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


def test_all_cells_have_experiments_and_all_that_they_share_is_shared() -> None:
    for cell in select(None, "agents=10,alpha_d=0.25,dataset=mnist"):
        for mode in recipes.MODES:
            if not recipes.has(cell, mode):
                assert (mode, cell.algorithm == "dpdl") == ("algorithm1", False)
                continue
            e = recipes.experiment(cell, mode, seed=2)
            assert (e.dataset, e.graph, e.agents, e.alpha_d, e.epsilon, e.seed) == (
                *cell[:5],
                2,
            )
            assert (
                e.noise
                == {
                    "as-published": "public-code",
                    "algorithm1": "theorem1",
                    "sound": "accountant",
                }[mode]
            )
            first = recipes.experiment(
                select(None, f"graph={cell.graph},algorithm=dpdl")[0], mode, seed=2
            )
            assert (e.partition, e.sampling, e.rounds > 0) == (
                first.partition,
                first.sampling,
                True,
            )
    assert recipes.experiment(CELL, "sound", 0).algorithm == "dpdl-sound"
    assert recipes.experiment(CELL, "as-published", 0).clip_unit == "chunks"
    assert recipes.experiment(CELL, "sound", 0).threat == "eavesdropper"


def test_as_published_has_one_eta_and_one_beta_for_all_algorithms() -> None:
    made = {
        name: recipes.experiment(CELL._replace(algorithm=name), "as-published", 0)
        for name in ("dpdl", "dp-dpsgd", "muffliato", "dp-netfleet", "dp-cga")
    }
    assert {
        name: (e.lr, e.options.get("momentum"), e.clip_unit) for name, e in made.items()
    } == {
        "dpdl": (0.005, 0.7, "chunks"),
        "dp-dpsgd": (0.005, 0.7, "batch"),
        "muffliato": (0.0167, None, "none"),
        "dp-netfleet": (0.0167, None, "batch"),
        "dp-cga": (0.005, 0.7, "batch"),
    }
    assert (
        recipes.experiment(
            Cell("cifar10", "ring", 10, 0.25, 4.0, "muffliato"), "as-published", 0
        ).lr
        == 0.1
    )


def test_unknown_modes_and_modes_without_a_cell_are_refused() -> None:
    with pytest.raises(InputError, match="as-published"):
        recipes.experiment(CELL, "as-publishd", 0)
    with pytest.raises(InputError, match="dpdl only"):
        recipes.experiment(CELL._replace(algorithm="muffliato"), "algorithm1", 0)


def test_an_algorithm_beyond_the_paper_is_there_for_those_who_name_it() -> None:
    assert all(
        cell.algorithm != "decor"
        for cell in select("acc-mnist", "agents=10", recipes.BEYOND)
    )
    found = select("acc-mnist-2", "agents=10,algorithm=decor/dpdl", recipes.BEYOND)
    assert [cell.algorithm for cell in found] == ["dpdl"] * 6 + ["decor"] * 6
    assert claim(CELL._replace(algorithm="decor")) == published()[CELL]
    assert (
        claim(CELL._replace(algorithm="dp-cga"))
        == published()[CELL._replace(algorithm="dp-cga")]
    )
    decor = CELL._replace(algorithm="decor")
    assert recipes.experiment(decor, "sound", 0).algorithm == "decor"
    assert [mode for mode in recipes.MODES if recipes.has(decor, mode)] == ["sound"]
    with pytest.raises(InputError, match="decor is for mode sound"):
        recipes.experiment(decor, "as-published", 0)
    with pytest.raises(InputError, match="algorithm of the paper"):
        select(None, "algorithm=decor")


def test_tables_have_names() -> None:
    assert names_of_tables() == ["acc-cifar", "acc-cifar-2", "acc-mnist", "acc-mnist-2"]
