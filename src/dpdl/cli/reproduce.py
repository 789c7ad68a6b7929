"""`dpdl reproduce`: the paper's tables and figures, made again."""

from __future__ import annotations

from typing import Any

import click

from dpdl.carried import carried
from dpdl.cli.common import (
    jobs_option,
    json_option,
    out_option,
    path_option,
    print_json,
    quiet_option,
)
from dpdl.cli.reproduce_show import (
    Announcer,
    list_runs,
    show_attacks,
    show_cells,
    show_status,
)
from dpdl.errors import InputError
from dpdl.extras import PLOTS, need
from dpdl.studies.reproduce.recipes import AS_PUBLISHED
from dpdl.studies.reproduce.request import ALL, ReproductionRequest

STATUS = "status"
DEFAULTS = ReproductionRequest()


@click.command()
@click.argument("table", required=False, metavar="[TABLE|FIGURE|status]")
@click.option(
    "--cells",
    default="",
    help="such as graph=ring/complete,agents=10,epsilon=0.5 [all]",
)
@click.option(
    "--mode",
    "modes",
    help=f"as-published, algorithm1, sound, or all [{AS_PUBLISHED}; status: {ALL}]",
)
@click.option(
    "--seeds",
    type=int,
    default=1,
    show_default=True,
    help="runs of every cell: seed 0, 1, ...",
)
@click.option(
    "--minutes",
    type=float,
    default=None,
    help="measure the most informative cells that fit into this time",
)
@jobs_option("runs, or parts of an attack,")
@out_option("results", default=DEFAULTS.out)
@path_option("--runs", "runs", default=DEFAULTS.runs)
@click.option(
    "--dry-run",
    is_flag=True,
    help="only say what would be run, and how long it should take",
)
@json_option()
@click.option("--markdown", is_flag=True, help="with status: print tables in Markdown")
@quiet_option
def reproduce(
    dry_run: bool, as_json: bool, markdown: bool, quiet: bool, **options: Any
) -> None:
    """Run cells of the paper's tables and figures, and show them beside its numbers.

    What was measured is not measured again; what was interrupted is continued. TABLE is acc-mnist,
    acc-mnist-2 (ring), acc-cifar or acc-cifar-2, or all of these; attack-mnist or attack-cifar10.
    FIGURE is conv-mnist-GRAPH or conv-cifar-GRAPH, where GRAPH is bipartite, complete or ring.
    `status` shows what there is.
    """
    from dpdl.paper.cells import names_of_attacks

    request = ReproductionRequest(**options)
    if markdown and (request.table != STATUS or as_json):
        raise InputError("--markdown is for status, without --json.")
    if request.table == STATUS:
        _refuse_needless(request, dry_run)
        _status(request, as_json, markdown)
    elif request.table in names_of_attacks():
        _attacks(request, dry_run, as_json, quiet)
    else:
        _cells(request, dry_run, as_json, quiet)


def _refuse_needless(request: ReproductionRequest, dry_run: bool) -> None:
    needless = {
        "seeds": request.seeds != 1,
        "minutes": request.minutes is not None,
        "jobs": request.jobs is not None,
        "dry-run": dry_run,
    }
    for name, given in needless.items():
        if given:
            raise InputError(f"{STATUS} runs nothing: leave --{name} out.")


def _status(request: ReproductionRequest, as_json: bool, markdown: bool) -> None:
    from dpdl.studies.reproduce.beside_paper import status
    from dpdl.studies.reproduce.markdown import claim_tables, markdown_tables

    out = request.out
    is_elsewhere = out == DEFAULTS.out and not out.is_dir()
    found = carried(str(out)) if is_elsewhere else None
    facts = status(found or out, request.cells, request.chosen_modes(ALL))
    if found:
        click.echo(f"There is no folder {out} here: these came with dpdl.", err=True)
    if as_json:
        print_json(facts.to_json())
    elif markdown:
        tables = markdown_tables(facts.cells) | claim_tables(facts.claims.cells)
        for title, table in tables.items():
            click.echo(f"*{title}*\n\n{table}\n")
    else:
        show_status(facts)


def _cells(
    request: ReproductionRequest, dry_run: bool, as_json: bool, quiet: bool
) -> None:
    from dpdl.cli.board import Board
    from dpdl.studies.reproduce.measure_cells import measure_cells, plan_cells
    from dpdl.studies.reproduce.queue import refuse_unfinished

    if dry_run:
        list_runs(plan_cells(request), "runs", as_json)
        return
    with Board(quiet) as board:
        announce = Announcer("runs", quiet)
        made = measure_cells(request, board, announce, progress=not quiet)
    if as_json:
        print_json(made.facts.to_json())
    else:
        show_cells(made.facts)
    refuse_unfinished(made.endings)


def _attacks(
    request: ReproductionRequest, dry_run: bool, as_json: bool, quiet: bool
) -> None:
    from dpdl.cli.attack_show import AttackProgress
    from dpdl.studies.reproduce.measure_attacks import measure_attacks, plan_attacks
    from dpdl.studies.reproduce.queue import refuse_unfinished

    if dry_run:
        list_runs(plan_attacks(request), "attacks", as_json)
        return
    need(PLOTS, "The gallery of rebuilt images")
    made = measure_attacks(request, AttackProgress(quiet), Announcer("attacks", quiet))
    if as_json:
        print_json(made.facts.to_json())
    else:
        show_attacks(made.facts)
    refuse_unfinished(made.endings)
