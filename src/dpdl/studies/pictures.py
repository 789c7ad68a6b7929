"""Pictures that comparisons and runs leave in their folders."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from dpdl.errors import DpdlError
from dpdl.extras import PLOTS, is_installed
from dpdl.folder import names
from dpdl.folder.run_folder import RunFolder
from dpdl.pages.epsilon_words import compared_words
from dpdl.privacy.epsilon import UNKNOWN
from dpdl.privacy.threats import threat
from dpdl.studies.comparison_folder import curves
from dpdl.studies.comparison_table import ComparisonTable
from dpdl.studies.pool import PoolWatch
from dpdl.studies.pool_messages import Ending, EndState, News


def drawing(out: Path, watch: PoolWatch) -> PoolWatch:
    """A watch that draws the curves of every run of a comparison that ends, and passes news on."""

    def heard(name: str, news: News) -> None:
        if isinstance(news, Ending) and news.state is EndState.DONE:
            _draw(RunFolder(out / names.RUNS / name))
        watch(name, news)

    return heard


def _draw(run: RunFolder) -> None:
    from dpdl.pages.training_curves import draw_training, words_of

    if not is_installed(PLOTS):
        return
    with suppress(DpdlError):  # a picture must not stop the other runs
        about = words_of(run.summary(), threat(run.experiment().threat))
        draw_training(run.metrics(), run.curves_path, about)


def draw_table(table: ComparisonTable) -> Path | None:
    """Draw the curves of all runs of a comparison's table; where they are, if there are any.

    None where there is nothing to draw with.
    """
    from dpdl.pages.comparison_curves import draw_comparison

    if not is_installed(PLOTS):
        return None
    path = Path(table.out) / names.COMPARISON_CURVES
    lines = curves(table)
    if lines:
        draw_comparison(lines, path, place_of(table), proven_of(table))
    return path


def proven_of(table: ComparisonTable) -> str:
    """What is proven of the finished runs of a table."""
    listener = threat(table.threat)
    rows = [row for row in table.rows if row.seeds]
    found = {row.algorithm: row.epsilon.get(listener.key, UNKNOWN) for row in rows}
    return f"Equal {table.equal}. {compared_words(found, listener)}"


def place_of(table: ComparisonTable) -> str:
    """What all runs of a table share."""
    data, graph = Path(table.dataset).name, Path(table.graph).name
    return f"{data}, {graph} of {table.agents} agents"
