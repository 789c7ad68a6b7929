"""Recipes: from a cell of the paper to an experiment, in three modes."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest

from dpdl.errors import InputError
from dpdl.paper.cells import Cell, select
from dpdl.studies.reproduce import recipes
from dpdl.studies.reproduce.recipes import TunedOptions
from tests.studies.reproduce.small import CELL


def test_all_cells_have_experiments_and_all_that_they_share_is_shared() -> None:
    for cell in select(None, "agents=10,alpha_d=0.25,dataset=mnist"):
        for mode in recipes.MODES:
            if not recipes.is_in_mode(cell, mode):
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


def test_an_algorithm_beyond_the_paper_has_one_mode() -> None:
    decor = CELL._replace(algorithm="decor")
    assert recipes.experiment(decor, "sound", 0).algorithm == "decor"
    assert [mode for mode in recipes.MODES if recipes.is_in_mode(decor, mode)] == [
        "sound"
    ]
    with pytest.raises(InputError, match="decor and concord are for mode sound"):
        recipes.experiment(decor, "as-published", 0)


def test_a_cell_has_a_searched_step_or_not() -> None:
    known, unknown = CELL, CELL._replace(dataset="cifar10", epsilon=4.0)
    table = TunedOptions("", {"sound": {"mnist": {"ring": {"dpdl": {"lr": 1.0}}}}})
    assert not recipes.untuned(known, "sound", table)
    assert not recipes.untuned(unknown, "as-published", table)
    assert recipes.untuned(unknown, "sound", table)
    assert recipes.untuned(unknown, "algorithm1", table)


def test_searched_options_are_read_without_loss() -> None:
    text = files("dpdl.studies.reproduce").joinpath("tuned.json").read_text("utf-8")
    content = json.loads(text)
    assert TunedOptions.from_json(content).to_json() == content


def test_the_searched_step_is_used() -> None:
    assert recipes.tuned().of(CELL, "sound") == {"lr": 0.8}
    assert recipes.experiment(CELL, "sound", 0).lr == 0.8
    assert recipes.tuned().of(CELL, "as-published") == {}
