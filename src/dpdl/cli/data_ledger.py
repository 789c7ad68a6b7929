"""`dpdl data ledger`: the budget that all runs on a data set share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dpdl.cli.common import json_option, print_json
from dpdl.privacy.relations import CHANGES

if TYPE_CHECKING:
    from dpdl.folder.data_ledger_facts import LedgerFacts

path_argument = click.argument("path", type=click.Path(path_type=Path))


@click.group()
def ledger() -> None:
    """The budget that all runs on a data set share.

    PATH is a data file, beside which its ledger is, or the folder of a ledger.
    """


@ledger.command()
@path_argument
@click.option(
    "--budget", required=True, metavar="E:D", help="epsilon and delta, such as 6:1e-6"
)
@click.option(
    "--relation",
    type=click.Choice(list(CHANGES)),
    default="add-remove",
    show_default=True,
    help="what is compared; that of all runs",
)
@click.option(
    "--adaptive",
    is_flag=True,
    help="runs may be planned by what earlier ones showed; affords about a tenth less",
)
@click.option("--about", default="", help="which data, in a few words [name of PATH]")
def create(path: Path, budget: str, relation: str, adaptive: bool, about: str) -> None:
    """Begin a ledger; its budget cannot be changed afterwards."""
    from dpdl.folder.data_ledger import DataLedger
    from dpdl.folder.data_ledger_budget import budget_in
    from dpdl.folder.data_ledger_facts import facts_of

    with DataLedger.create(
        path, *budget_in(budget), relation, about, adaptive=adaptive
    ) as made:
        click.echo(f"{made.folder}: {_words(facts_of(made))}")


@ledger.command()
@path_argument
@json_option()
def show(path: Path, as_json: bool) -> None:
    """What is spent and reserved, by which runs."""
    from dpdl.folder.data_ledger_facts import facts_of
    from dpdl.folder.data_ledger_reader import LedgerReader

    with LedgerReader.open(path) as found:
        facts = facts_of(found)
    if as_json:
        print_json(facts)
    else:
        _show(facts)


@ledger.command()
@path_argument
@click.option("--head", default=None, help="a head that was noted: must be in it")
def verify(path: Path, head: str | None) -> None:
    """Check every entry against the one before it, and print the head."""
    from dpdl.folder.data_ledger_reader import LedgerReader

    with LedgerReader.open(path) as found:
        last = found.verify(head)
        count = len(found.entries())
    click.echo(f"ok: {count} entries, each follows the one before it")
    click.echo(f"Head of the ledger: {last}")


@ledger.command()
@path_argument
@click.argument("run")
def release(path: Path, run: str) -> None:
    """Return what RUN has reserved and not spent: it will not go on."""
    from dpdl.errors import unknown
    from dpdl.folder.data_ledger import DataLedger

    with DataLedger.open(path) as found:
        if run not in found.runs():
            raise unknown("run", run, found.runs())
        click.echo(f"{run}: {found.release(run)} rounds returned")


def _words(facts: LedgerFacts) -> str:
    adaptive = ", also for runs planned by earlier ones" if facts.adaptive else ""
    budget = f"epsilon {facts.budget:g} for delta {facts.delta:g}"
    return f"{budget}, {facts.relation}{adaptive}"


def _show(facts: LedgerFacts) -> None:
    from dpdl.cli.tables import FittingTable
    from dpdl.terminal import Console

    title = f"{facts.about}: {_words(facts)}, since {facts.since}"
    heads = ["run", "rounds spent", "reserved", "epsilon alone", "against"]
    table = FittingTable(title, heads)
    for run in facts.runs:
        cells = (f"{run.rounds_spent}", f"{run.rounds_reserved}", f"{run.epsilon:.4g}")
        table.add(run.run, *cells, run.threat)
    table.show(Console())
    click.echo(
        f"epsilon {facts.spent:.4g} is spent; {facts.reserved:.4g} with what is reserved"
    )
    click.echo(f"Head of the ledger: {facts.head}")
