"""Cells are chosen, run as far as they are missing, compared and drawn."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.studies.reproduce import cell_store
from dpdl.studies.reproduce.forecast import Beginning
from dpdl.studies.reproduce.measure_cells import (
    cells_with_curves,
    measure_cells,
    plan_cells,
    work_for,
)
from dpdl.studies.reproduce.printed import PrintedCells
from dpdl.studies.reproduce.recipes import Recipes
from dpdl.studies.reproduce.request import ReproductionRequest
from tests.studies.reproduce.small import (
    CELL,
    CURVE,
    ONE,
    SMALL,
    entered,
    small_experiment,
)

OF_FIGURE = "agents=10,epsilon=0.5,algorithm=dpdl"
PNG = b"\x89PNG\r\n\x1a\n"


def test_what_is_missing_is_run(tmp_path: Path) -> None:
    request = ReproductionRequest(cells=ONE, out=tmp_path / "r", runs=tmp_path / "runs")
    facts, outcomes = measure_cells(request, lambda name, news: None, recipes=SMALL)
    assert [outcome.state for outcome in outcomes.values()] == ["done"]
    assert [row.seeds for row in facts.cells] == [(0,)]
    assert facts.figures is None and "figures" not in facts.to_json()
    assert (tmp_path / "r" / "as-published" / f"{CELL.name}.json").exists()


@pytest.mark.parametrize("tuned", [True, False])
def test_cells_without_a_searched_step_are_named(tuned: bool, tmp_path: Path) -> None:
    request = ReproductionRequest(cells=ONE, out=tmp_path / "r", runs=tmp_path / "runs")
    found = Recipes(small_experiment, untuned=lambda cell, mode: not tuned)
    said: list[Beginning] = []
    measure_cells(request, lambda name, news: None, said.append, found)
    (beginning,) = said
    assert beginning.untuned == (not tuned) and len(beginning.forecast.seconds) == 1


def test_a_plan_lists_the_runs_that_are_missing(tmp_path: Path) -> None:
    entered(tmp_path, CELL)
    request = ReproductionRequest(cells=ONE, seeds=3, jobs=2, out=tmp_path)
    forecast = plan_cells(request)
    assert list(forecast.seconds) == [
        f"as-published-{CELL.name}-seed{k}" for k in (1, 2)
    ]
    assert forecast.total == pytest.approx(12.3), "as long as seed 0, two at a time"


def test_modes_without_the_cells_are_refused(tmp_path: Path) -> None:
    text = "graph=ring,agents=10,algorithm=muffliato"
    request = ReproductionRequest(cells=text, modes="algorithm1", out=tmp_path)
    with pytest.raises(InputError, match="dpdl only"):
        work_for(request)


# ------------------------------------------------------------------ figures
def test_what_is_missing_is_run_and_drawn(tmp_path: Path) -> None:
    request = ReproductionRequest(
        "conv-mnist-ring", OF_FIGURE, out=tmp_path / "results", runs=tmp_path / "runs"
    )
    heard: list[str] = []

    def measure() -> PrintedCells:
        watch = lambda name, news: heard.append(name)  # noqa: E731
        return measure_cells(request, watch, recipes=SMALL).facts

    facts = measure()
    path = tmp_path / "results" / "figures" / "as-published-conv-mnist-ring.png"
    assert facts.figures == {"as-published": str(path)} and heard
    assert path.read_bytes().startswith(PNG)
    assert [row.algorithm for row in facts.cells] == ["dpdl"]
    assert facts.other_recipe == 0
    result = cell_store.read(tmp_path / "results", CELL, "as-published")
    assert result and result.runs["0"].curve.rounds[-1] == 2
    path.unlink()
    heard.clear()
    assert measure().figures == {"as-published": str(path)}
    assert path.exists() and not heard, "nothing is missing, it is only drawn"


def test_a_figure_shows_all_cells_that_have_curves(tmp_path: Path) -> None:
    """Those that were not requested now too: there is one file per figure."""
    others = [
        CELL._replace(agents=20),
        CELL._replace(alpha_d=1.0),
        CELL._replace(graph="complete"),
    ]
    for cell in (CELL, *others):
        entered(tmp_path, cell, curve=CURVE)
    entered(tmp_path, CELL._replace(epsilon=1.0))
    found = cells_with_curves("conv-mnist-ring", "as-published", tmp_path)
    assert [one.compared.cell for one in found] == [CELL, others[0]]
