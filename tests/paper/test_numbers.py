"""What the paper published is complete, and has the units that are assumed."""

from __future__ import annotations

import json
import math
from collections import Counter
from importlib.resources import files

import pytest

from dpdl.errors import InputError
from dpdl.paper.numbers import FIGURES, PaperTables, attacks, names, tables


def test_the_tables_are_read_without_loss() -> None:
    content = json.loads(files("dpdl.paper").joinpath("tables.json").read_text("utf-8"))
    assert PaperTables.from_json(content).to_json() == content


def test_all_published_numbers_are_there() -> None:
    found = tables()
    assert (len(found.accuracy), len(found.attack)) == (540, 216)
    assert Counter(cell.table for cell in found.attack) == {
        "attack-mnist": 108,
        "attack-cifar10": 108,
    }
    assert all(0 < cell.accuracy <= 100 > cell.spread for cell in found.accuracy)


def test_tables_and_figures_have_different_names() -> None:
    assert names() == sorted(set(names())) and set(FIGURES) < set(names())
    assert len(names()) == len(FIGURES) + 4 + 2


def test_there_is_a_figure_for_each_data_set_and_graph() -> None:
    graphs = ("bipartite", "complete", "ring")
    assert set(FIGURES) == {
        f"conv-{data}-{graph}" for data in ("mnist", "cifar") for graph in graphs
    }
    assert FIGURES["conv-cifar-ring"] == ("cifar10", "ring", 0.25)


def test_attacks_are_found_by_place() -> None:
    found = attacks("mnist", "ring", 10)
    assert set(found) == {"nd-cg", "nd-mm", "dpdl-cg", "dpdl-mm"}
    assert found["nd-cg"] == {"mse": 0.85, "psnr": 6.84, "ssim": 0.1957}


def test_psnr_of_the_published_attacks_is_that_of_their_mse() -> None:
    """So the units are known: 10 log10(range^2 / MSE), with a range of 2 on MNIST.

    Up to the order of means and logarithms.
    """
    for graph in ("ring", "bipartite", "complete"):
        for agents in (10, 20, 30):
            for found in attacks("mnist", graph, agents).values():
                psnr = 10 * math.log10(4 / found["mse"])
                assert found["psnr"] == pytest.approx(psnr, abs=0.4)


@pytest.mark.parametrize(
    ("place", "hint"),
    [
        (("fashion-mnist", "ring", 10), "Did you mean 'mnist'"),
        (("mnist", "star", 10), "bipartite, complete, ring"),
        (("mnist", "ring", 12), "10, 20, 30 agents, not 12"),
    ],
)
def test_attacks_that_the_paper_does_not_have_are_refused(place, hint: str) -> None:
    with pytest.raises(InputError, match=hint):
        attacks(*place)
