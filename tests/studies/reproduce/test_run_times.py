"""How long a run should take follows from those that have most in common with it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.paper.cells import Cell
from dpdl.studies.reproduce import recipes
from dpdl.studies.reproduce.run_times import fitting, run_times, work
from tests.studies.reproduce.small import CELL, entered


def test_time_is_estimated_from_what_was_measured(tmp_path: Path) -> None:
    e = recipes.experiment(CELL, "as-published", 0)
    guess = run_times(tmp_path).seconds(e)
    assert guess == pytest.approx(
        1000 * 216 * 30 * 30e-6
    )  # a ring of 10 has 20 links and 10 loops
    sound = recipes.experiment(
        CELL._replace(dataset="cifar10", epsilon=4.0, algorithm="dp-dpsgd"), "sound", 0
    )
    assert run_times(tmp_path).seconds(sound) == pytest.approx(300 * 216 * 10 * 70e-6)
    entered(tmp_path, CELL)
    times = run_times(tmp_path)
    assert times.seconds(e) == pytest.approx(12.3)
    alone = recipes.experiment(CELL._replace(algorithm="muffliato"), "as-published", 0)
    assert times.seconds(alone) == pytest.approx(
        4.1
    )  # one gradient per agent instead of three


def test_time_is_that_of_the_runs_with_most_in_common(tmp_path: Path) -> None:
    def seconds(cell: Cell) -> float:
        return run_times(tmp_path).seconds(recipes.experiment(cell, "as-published", 0))

    def took(cell: Cell, time_of_it: float) -> None:
        entered(tmp_path, cell, seconds=time_of_it)

    complete = CELL._replace(graph="complete")
    took(CELL._replace(algorithm="dp-dpsgd"), 10.0)
    assert seconds(complete) == pytest.approx(
        10.0
    )  # equal models: one gradient per agent serves all links
    took(CELL, 90.0)
    assert seconds(complete) == pytest.approx(30.0)  # now by its own algorithm
    took(complete, 20.0)
    assert seconds(complete._replace(epsilon=1.0)) == pytest.approx(
        20.0
    )  # by its own graph
    assert seconds(complete._replace(agents=20)) == pytest.approx(40.0)
    took(
        complete._replace(algorithm="dp-cga"), 100.0
    )  # its models differ: a gradient for every link
    assert seconds(complete._replace(algorithm="dp-cga", agents=20)) == pytest.approx(
        400.0
    )
    assert seconds(CELL._replace(algorithm="dp-dpsgd", epsilon=1.0)) == pytest.approx(
        10.0
    )


def test_files_of_other_kinds_tell_nothing(tmp_path: Path) -> None:
    e = recipes.experiment(CELL, "as-published", 0)
    guess = run_times(tmp_path).seconds(e)
    folder = tmp_path / "sound"
    folder.mkdir()
    for name, content in {"a": "{", "b": "[]", "c": '{"format": 1}'}.items():
        (folder / f"{name}.json").write_text(content)
    assert run_times(tmp_path).seconds(e) == guess


def test_work_is_samples_times_gradients() -> None:
    e = recipes.experiment(CELL, "sound", 0)
    assert work(e) == 300 * 216 * 30, "a ring of 10 has 20 links and 10 loops"
    complete = recipes.experiment(CELL._replace(graph="complete"), "sound", 0)
    assert work(complete) == 300 * 216 * 10, "all models are equal there"


@pytest.mark.parametrize(
    ("minutes", "jobs", "chosen"),
    [(None, 1, "abc"), (2.0, 1, "b"), (3.0, 1, "bc"), (2.0, 2, "bc"), (4.0, 2, "abc")],
)
def test_what_fits_is_chosen_in_order(minutes, jobs: int, chosen: str) -> None:
    assert fitting("abc", [200.0, 80.0, 100.0], jobs, minutes) == list(chosen)


def test_too_little_time_for_anything_is_refused() -> None:
    with pytest.raises(InputError, match=r"0\.5 minutes are too few .* take 1\.0"):
        fitting("ab", [200.0, 60.0], 4, 0.5)
    assert fitting("", [], 1, 0.5) == []


def test_settings_without_a_batch_have_the_default(tmp_path: Path) -> None:
    e = recipes.experiment(CELL, "as-published", 0)
    unresolved = replace(e, batch=None)
    assert work(unresolved) == work(unresolved.resolved())
