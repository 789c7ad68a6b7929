"""Pictures that comparisons and runs leave in their folders."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from dpdl.errors import DpdlError
from dpdl.folder import names
from dpdl.folder.run_folder import RunFolder
from dpdl.studies.comparison import curves
from dpdl.studies.pool import Ending, News, PoolWatch, State


def drawing(out: Path, watch: PoolWatch) -> PoolWatch:
    """A watch that draws the curves of every run of a comparison that ends, and passes news on."""

    def heard(name: str, news: News) -> None:
        if isinstance(news, Ending) and news.state is State.DONE:
            _draw(RunFolder(out / names.RUNS / name))
        watch(name, news)

    return heard


def _draw(run: RunFolder) -> None:
    from dpdl.report.training_curves import draw_training

    with suppress(DpdlError):  # a picture must not stop the other runs
        draw_training(run.metrics(), run.curves_path, run.path.name)


def draw_table(table: Mapping[str, Any]) -> Path:
    """Draw the curves of all runs of a comparison's table; where they are, if there are any."""
    from dpdl.report.comparison_curves import draw_comparison

    path = Path(table["out"]) / names.COMPARISON_CURVES
    lines = curves(table)
    if lines:
        draw_comparison(lines, path, place_of(table))
    return path


def place_of(table: Mapping[str, Any]) -> str:
    """What all runs of a table share."""
    data, graph = Path(table["dataset"]).name, Path(table["graph"]).name
    return f"{data}, {graph} of {table['agents']} agents"
