"""`dpdl data list`, `dpdl data fetch`, `dpdl data describe`; `ledger` is in `data_ledger.py`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpdl.cli.common import json_option, out_option, print_json, quiet_option
from dpdl.cli.completion import among
from dpdl.cli.data_ledger import ledger
from dpdl.cli.options import experiment_options, given
from dpdl.experiment.names import datasets
from dpdl.extras import PLOTS, left_out, need

if TYPE_CHECKING:
    from dpdl.studies.describe import Description

DESCRIBED = (
    "dataset",
    "agents",
    "partition",
    "alpha_d",
    "classes_per_agent",
    "batch",
    "rate",
    "seed",
)


@click.group()
def data() -> None:
    """Data sets and partitions."""


data.add_command(ledger)


@data.command("list")
@json_option()
def list_names(as_json: bool) -> None:
    """The data sets that have a name, and whether they are on this machine."""
    from dpdl.tasks.data import NAMES, cache_dir, is_here

    here = {name: is_here(name) for name in NAMES}
    if as_json:
        print_json({"datasets": here, "cache": str(cache_dir())})
        return
    for name, there in here.items():
        state = "here" if there else f"not fetched yet: dpdl data fetch {name}"
        click.echo(f"{name:15} {state}")
    click.echo(
        "Your own: PATH.npz with x and y, PATH.csv with a column y, or module:function."
    )


@data.command()
@click.argument("name", shell_complete=among(datasets))
@quiet_option
def fetch(name: str, quiet: bool) -> None:
    """Fetch the data set NAME, check its hash, and keep it for use without a network."""
    from dpdl.tasks.data import fetch as fetch_data

    click.echo(f"{name}: {fetch_data(name, progress=not quiet)}")


@data.command()
@experiment_options(only=DESCRIBED)
@out_option("picture [runs/partition-NAME.png]")
@json_option()
def describe(out: Path | None, as_json: bool, **options: Any) -> None:
    """Show how many records of every class every agent holds; save a heat map."""
    from dpdl.experiment.experiment import from_mapping
    from dpdl.planning.early import check_data

    if out is not None:
        need(PLOTS, f"The picture {str(out)!r}")
    experiment = from_mapping(given(options))
    check_data(experiment)  # before torch is imported

    from dpdl.studies.describe import describe as described

    found = described(experiment, out, progress=True)
    if found.facts.picture is None:
        click.echo(left_out("The picture was"), err=True)
    if as_json:
        print_json(found.facts)
    else:
        _show(found)


def _show(found: Description) -> None:
    from dpdl.cli.tables import FittingTable
    from dpdl.terminal import Console

    counts = found.facts.counts
    classes = [f"#{c}" for c in range(len(counts[0]))]
    title = f"{found.title}: records of every agent by class"
    table = FittingTable(title, ["agent", *classes, "records"])
    for agent, row in enumerate(counts):
        table.add(str(agent), *(str(n) if n else "." for n in row), str(sum(row)))
    table.show(Console())
    if found.facts.picture is not None:
        click.echo(f"picture: {found.facts.picture}")
