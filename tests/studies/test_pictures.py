"""Runs of a comparison are drawn when they end; a picture that fails stops nothing."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from dpdl.studies.pictures import draw_table, drawing, place_of
from dpdl.studies.pool_messages import Ending, EndState, News
from tests.folder.measured import RUN
from tests.studies.tables import small_table

PNG = b"\x89PNG"


def run_in(out: Path, name: str) -> Path:
    """A finished run of a comparison."""
    folder = out / "runs" / name
    shutil.copytree(RUN, folder)
    return folder


@pytest.mark.parametrize("state", list(EndState))
def test_runs_that_are_done_are_drawn_and_news_is_passed_on(
    tmp_path: Path, state: EndState
) -> None:
    folder = run_in(tmp_path, "a-seed0")
    heard: list[tuple[str, News]] = []
    news = Ending(state)
    drawing(tmp_path, lambda name, news: heard.append((name, news)))("a-seed0", news)
    assert heard == [("a-seed0", news)]
    picture = folder / "training.png"
    assert picture.exists() == (state is EndState.DONE)


def test_a_run_without_metrics_stops_nobody(tmp_path: Path) -> None:
    heard: list[str] = []
    watch = drawing(tmp_path, lambda name, news: heard.append(name))
    watch("gone-seed0", Ending(EndState.DONE))
    assert heard == ["gone-seed0"]


def test_the_curves_of_all_finished_runs_are_in_one_picture(tmp_path: Path) -> None:
    table = replace(small_table(), out=str(tmp_path))
    finished = [(row.algorithm, seed) for row in table.rows for seed in row.seeds]
    assert len(finished) == 4
    for name, seed in finished:
        run_in(tmp_path, f"{name}-seed{seed}")
    path = draw_table(table)
    assert path == tmp_path / "curves.png" and path.read_bytes().startswith(PNG)


def test_without_a_finished_run_there_is_no_picture(tmp_path: Path) -> None:
    table = small_table()
    unfinished = tuple(replace(row, seeds=()) for row in table.rows)
    path = draw_table(replace(table, out=str(tmp_path), rows=unfinished))
    assert not path.exists()


def test_the_title_names_data_and_graph_without_their_folders() -> None:
    table = replace(
        small_table(), dataset="data/own.npz", graph="graphs/my.csv", agents=7
    )
    assert place_of(table) == "own.npz, my.csv of 7 agents"
