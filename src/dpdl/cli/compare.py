"""`dpdl compare`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.markup import escape
from rich.text import Text

from dpdl.cli.board import Board
from dpdl.cli.common import (
    jobs_option,
    json_option,
    out_option,
    print_json,
    quiet_option,
    toml_argument,
)
from dpdl.cli.completion import among, several
from dpdl.cli.options import (
    ExperimentCommand,
    experiment_options,
    given,
    preset_option,
)
from dpdl.cli.tables import Cell, FittingTable
from dpdl.errors import RunFailed
from dpdl.experiment.names import algorithms as algorithm_names
from dpdl.experiment.shared import SHARED
from dpdl.extras import left_out
from dpdl.folder import names
from dpdl.terminal import Console

if TYPE_CHECKING:
    from dpdl.privacy.threats import Threat
    from dpdl.studies.comparison_table import ComparisonRow, ComparisonTable

NOT_PRIVATE = Text("not private", "bold red")
OPTIONS = [name for name in SHARED if name != "algorithm"]


@click.command(cls=ExperimentCommand)
@toml_argument
@click.option(
    "--algorithms",
    required=True,
    shell_complete=several(algorithm_names),
    help="names of algorithms, separated by commas",
)
@click.option(
    "--seeds",
    type=int,
    default=1,
    show_default=True,
    help="runs of every algorithm: seed, seed + 1, ...",
)
@click.option(
    "--set",
    "sets",
    multiple=True,
    metavar="ALGORITHM.option=value",
    help="an option of one algorithm",
)
@click.option(
    "--equal",
    default=None,
    shell_complete=among(("bytes", "epsilon", "sigma")),
    help="what all have in common (epsilon, sigma, bytes) [by what is given]",
)
@click.option(
    "--bytes",
    "megabytes",
    type=float,
    default=None,
    help="megabytes that a run may send; sets its rounds",
)
@click.option(
    "--tune",
    "trials",
    type=int,
    default=None,
    metavar="TRIALS",
    help="first search for the lr of every algorithm, on held-out records, in so many trials each",
)
@preset_option
@experiment_options(only=OPTIONS)
@out_option("folder [runs/compare-..., by the request]")
@jobs_option("runs that go on")
@json_option(names.TABLE)
@quiet_option
def compare(
    file: Path | None,
    algorithms: str,
    seeds: int,
    sets: tuple[str, ...],
    equal: str | None,
    megabytes: float | None,
    trials: int | None,
    preset: str | None,
    out: Path | None,
    jobs: int | None,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Run several algorithms on the same data, graph and seeds, under equal conditions.

    Equal are the epsilon, the noise or the bytes. The same command continues what was interrupted;
    more algorithms or seeds add to the folder.
    """
    from dpdl.studies import comparison
    from dpdl.studies.comparison_request import make_comparison
    from dpdl.studies.comparison_tuning import tuned
    from dpdl.studies.folders import comparison_folder
    from dpdl.studies.pictures import draw_table, drawing

    c = make_comparison(
        algorithms,
        seeds,
        given(options),
        sets,
        file=file,
        preset=preset,
        equal=equal,
        megabytes=megabytes,
    )
    out = out or comparison_folder(c, trials)
    if trials is not None:
        with Board(quiet) as board:
            c = tuned(c, out, trials, jobs=jobs, watch=board, progress=not quiet)
    with Board(quiet) as board:
        watch = drawing(out, board)
        table = comparison.compare(c, out, jobs=jobs, watch=watch, progress=not quiet)
    picture = draw_table(table)
    if as_json:
        print_json(table.to_json())
    else:
        show_table(table, picture)
    if picture is None:
        click.echo(left_out("The pictures of the curves were"), err=True)
    _refuse_failed(table)


def _refuse_failed(table: ComparisonTable) -> None:
    failed = [
        names.run_of_seed(row.algorithm, one.seed)
        for row in table.rows
        for one in row.failed
    ]
    if failed:
        raise RunFailed(
            f"{len(failed)} run(s) failed: {', '.join(failed)}; continue with the same "
            "command."
        )


COLUMNS = ("worst", "rounds", "MB sent", "sigma", "epsilon", "seeds")


def show_table(table: ComparisonTable, picture: Path | None) -> None:
    """The table, best first; rows without a proven epsilon are marked."""
    from dpdl.privacy.threats import threat
    from dpdl.studies.pictures import place_of

    console = Console()
    title = f"{place_of(table)}, equal {table.equal}; epsilon against {table.threat}"
    shown = FittingTable(title, ["", "algorithm", _heading(table), *COLUMNS], keys=2)
    for row in table.rows:
        shown.add(*_cells(row, threat(table.threat)))
    shown.show(console, borders=False)
    for line in [*_ends(table), *_warning(table), *_step_sizes(table)]:
        console.print(escape(line), highlight=False, soft_wrap=True)
    curves = f"   Curves: {picture}" if picture else ""
    console.print(f"Folder: {table.out}{curves}", highlight=False, soft_wrap=True)


def _ends(table: ComparisonTable) -> Iterator[str]:
    """Runs that ended early, or failed."""
    for row in table.rows:
        for early in row.stopped:
            after = f"stopped after round {early.rounds} of {early.asked}"
            why = early.why or f"{after}, its budget is spent."
            yield f"{row.algorithm}, seed {early.seed}: {why}"
        for one in row.failed:
            yield f"{row.algorithm}, seed {one.seed} failed: {one.error}"


def _warning(table: ComparisonTable) -> Iterator[str]:
    if any(row.seeds and not row.proven for row in table.rows):
        yield (
            f"Rows that are 'not private' prove no epsilon against {table.threat}; "
            "they are no match for the others."
        )


def _step_sizes(table: ComparisonTable) -> Iterator[str]:
    """Where the step sizes are from, and a warning if some were not looked for."""
    from dpdl.studies.comparison_tuning import searches_of
    from dpdl.studies.tuning import WARNING

    known = [row for row in table.rows if row.lr_from]
    if not known:
        return
    sizes = [f"{row.algorithm} {row.lr:.4g} ({row.lr_from})" for row in known]
    yield f"Step sizes: {', '.join(sizes)}."
    loose = [row.algorithm for row in known if row.lr_from != "tuned"]
    if loose and len(table.rows) > 1:
        yield (
            f"Warning: nobody tuned the step size of {', '.join(loose)} for this comparison; that "
            "can turn a ranking around. --tune 8 tunes all with the same number of trials."
        )
    elif searches_of(Path(table.out)).exists():
        yield f"Warning: {WARNING}"


def _heading(table: ComparisonTable) -> str:
    """The name of the score, and its unit."""
    from dpdl.folder.scored import in_percent, label_of

    name = table.rows[0].score.name
    return f"{label_of(name)} %" if in_percent(name) else label_of(name)


def _cells(row: ComparisonRow, listener: Threat) -> list[Cell]:
    from dpdl.folder.scored import show_score

    if not row.seeds:
        return ["", row.algorithm, "failed", *[""] * 5, "0"]

    def show(value: float | None) -> str:
        return show_score(row.score.name, value or 0.0).removesuffix("%")

    spread = "" if row.score.spread is None else f" ± {show(row.score.spread)}"
    failed = f" ({len(row.failed)} failed)" if row.failed else ""
    proven = f"{row.epsilon[listener.key]:.4g}" if row.proven else NOT_PRIVATE
    return [
        str(row.rank),
        row.algorithm,
        f"{show(row.score.mean)}{spread}",
        show(row.score.worst),
        str(row.rounds) + ("*" if row.stopped else ""),
        f"{(row.bytes_sent or 0) / 1e6:,.1f}",
        f"{row.sigma:.4g}",
        proven,
        f"{len(row.seeds)}{failed}",
    ]
