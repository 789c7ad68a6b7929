"""What was measured stands beside what the paper published."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.paper.cells import published
from dpdl.privacy.epsilon import UNBOUNDED, UNKNOWN, Epsilon
from dpdl.studies.reproduce import beside_paper, cell_store, recipes
from tests.studies.reproduce.small import CELL, CURVE, RUN, entered


def test_a_cell_is_compared_with_the_papers(tmp_path: Path) -> None:
    entered(tmp_path, CELL, 90.0, seed=1)
    entered(tmp_path, CELL, 92.0, seed=0)
    (row,) = beside_paper.compared(tmp_path, [CELL], recipes.MODES)
    assert (row.ours, row.paper, row.difference) == (91.0, 91.8, -0.8)
    assert (row.within, row.seeds, row.proven) == (False, (0, 1), Epsilon(2.0))
    entered(tmp_path, CELL, 93.0, seed=2)
    (row,) = beside_paper.compared(tmp_path, [CELL], recipes.MODES)
    assert row.within, "0.13 points from the paper, whose spread is 0.6"


def test_curves_are_kept_beside_a_cell_as_far_as_there_are_any(tmp_path: Path) -> None:
    entered(tmp_path, CELL)
    entered(tmp_path, CELL, seed=1, curve=CURVE)
    (found,) = beside_paper.measured(tmp_path, [CELL], ["as-published"])
    assert found.curves == (CURVE,) and found.compared.seeds == (0, 1)


def test_cells_come_mode_by_mode(tmp_path: Path) -> None:
    complete = CELL._replace(graph="complete")
    for mode in ("sound", "as-published"):
        for cell in (complete, CELL):
            entered(tmp_path, cell, mode=mode)
    rows = beside_paper.compared(tmp_path, [CELL, complete], recipes.MODES)
    assert [(row.mode, row.graph) for row in rows] == [
        ("as-published", "ring"),
        ("as-published", "complete"),
        ("sound", "ring"),
        ("sound", "complete"),
    ]


@pytest.mark.parametrize(
    ("epsilons", "largest"),
    [
        ([0.4, 0.5], Epsilon(0.5)),
        ([0.4, "unbounded"], UNBOUNDED),
        (["unbounded", None], UNKNOWN),
        ([], UNKNOWN),
    ],
)
def test_the_largest_epsilon_of_all_seeds_counts(epsilons, largest: Epsilon) -> None:
    found = [Epsilon.from_json(value) for value in epsilons]
    runs = [replace(RUN, epsilon={"eavesdropper": one}) for one in found]
    assert beside_paper.largest_proven(runs) == largest


def test_a_seed_without_any_epsilon_makes_it_unknown() -> None:
    runs = [RUN, replace(RUN, epsilon=None)]
    assert beside_paper.largest_proven(runs) == UNKNOWN


def test_rankings_need_all_five_algorithms(tmp_path: Path) -> None:
    cells = [
        CELL._replace(algorithm=name)
        for name in ("dpdl", "dp-cga", "dp-netfleet", "muffliato", "dp-dpsgd")
    ]
    for k, cell in enumerate(cells[:4]):
        entered(tmp_path, cell, 90.0 - k)
    assert beside_paper.status(tmp_path).rankings == ()
    entered(tmp_path, cells[4], 50.0)
    (ranking,) = beside_paper.status(tmp_path).rankings
    assert ranking.agrees and ranking.ours[0] == "dpdl"
    entered(tmp_path, cells[4], 99.0)  # the same seed again replaces it
    (ranking,) = beside_paper.status(tmp_path).rankings
    assert (
        not ranking.agrees and not ranking.same_best and ranking.ours[0] == "dp-dpsgd"
    )
    assert beside_paper.status(tmp_path).measured == {
        "as-published": 5,
        "algorithm1": 0,
        "sound": 0,
    }


def test_the_best_at_a_proven_epsilon_stands_beside_the_claim_whichever_algorithm_it_is(
    tmp_path: Path,
) -> None:
    assert published()[CELL].accuracy == 91.8
    entered(tmp_path, CELL, 99.0)  # as published: proves nothing
    assert beside_paper.status(tmp_path).proven == ()
    entered(tmp_path, CELL, 90.0, mode="sound")
    (best,) = beside_paper.status(tmp_path).proven
    assert (best.ours, best.claimed, best.algorithm, best.reached) == (
        90.0,
        91.8,
        "dpdl",
        False,
    )
    entered(tmp_path, CELL._replace(algorithm="decor"), 95.0, mode="sound")
    entered(tmp_path, CELL._replace(algorithm="muffliato"), 93.0, mode="sound")
    found = beside_paper.status(tmp_path)
    (best,) = found.proven
    assert (best.ours, best.algorithm, best.reached) == (95.0, "decor", True)
    assert found.measured == {
        "as-published": 1,
        "algorithm1": 0,
        "sound": 2,
    }  # decor is not in the paper
    assert [row.algorithm for row in found.cells if row.beyond] == ["decor"]


@pytest.mark.parametrize("content", ["{", '{"format": 0}', "[]"])
def test_results_of_other_versions_are_refused(tmp_path: Path, content: str) -> None:
    path = cell_store.path_of(tmp_path, CELL, "sound")
    path.parent.mkdir(parents=True)
    path.write_text(content)
    with pytest.raises(InputError, match=r"another version|cannot be read"):
        beside_paper.status(tmp_path)


def test_the_counts_are_of_everything_and_the_cells_those_selected(
    tmp_path: Path,
) -> None:
    entered(tmp_path, CELL)
    entered(tmp_path, CELL, mode="sound")
    found = beside_paper.status(tmp_path, "graph=complete", ["sound"])
    assert found.cells == found.rankings == found.proven == ()
    assert found.measured == {"as-published": 1, "algorithm1": 0, "sound": 1}
    assert found.of == len(published()) == 540
