"""`dpdl data list`, `dpdl data fetch`, `dpdl data describe`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from dpdl.cli.options import experiment_options, given


@click.group()
def data() -> None:
    """Data sets and partitions."""


@data.command("list")
@click.option("--json", "as_json", is_flag=True, help="print one JSON object on standard output")
def list_names(as_json: bool) -> None:
    """The data sets that have a name, and whether they are on this machine."""
    from dpdl.tasks.data import NAMES, cache_dir, is_here

    here = {name: is_here(name) for name in NAMES}
    if as_json:
        click.echo(json.dumps({"datasets": here, "cache": str(cache_dir())}))
        return
    for name, there in here.items():
        click.echo(f"{name:15} {'here' if there else f'not fetched yet: dpdl data fetch {name}'}")
    click.echo("Your own: PATH.npz with x and y, or module:function.")


@data.command()
@click.argument("name")
@click.option("--quiet", is_flag=True, help="no progress")
def fetch(name: str, quiet: bool) -> None:
    """Fetch the data set NAME, check its hash, and keep it for use without a network."""
    from dpdl.tasks.data import fetch as fetch_data

    click.echo(f"{name}: {fetch_data(name, progress=not quiet)}")


@data.command()
@experiment_options(only=["dataset", "agents", "partition", "alpha_d", "classes_per_agent", "batch", "seed"])
@click.option("--out", type=click.Path(path_type=Path), default=None, help="picture [partition-NAME.png]")
@click.option("--json", "as_json", is_flag=True, help="print one JSON object on standard output")
def describe(out: Path | None, as_json: bool, **options: Any) -> None:
    """Show how many records of every class every agent holds; save a heat map."""
    from dpdl.report.figures import draw_partition
    from dpdl.run.experiment import from_mapping
    from dpdl.run.plan import split
    from dpdl.tasks.data import load
    from dpdl.tasks.partition import class_counts

    e = from_mapping(given(options)).resolved()
    loaded = load(e.dataset, progress=True)
    counts = class_counts(split(e, loaded, e.agents), loaded.y, loaded.classes)
    picture = out or Path(f"partition-{Path(loaded.name).stem}-{e.agents}.png")
    title = f"{loaded.name}, {e.partition}" + (f", alpha_d = {e.alpha_d:g}" if "dirichlet" in e.partition else "")
    draw_partition(counts, picture, title)
    if as_json:
        facts = {"records": len(loaded.y), "test_records": len(loaded.y_test), "classes": loaded.classes}
        shape = {"shape": list(loaded.shape), "counts": counts.tolist(), "picture": str(picture)}
        click.echo(json.dumps({"dataset": loaded.name, "partition": e.partition, **facts, **shape}))
        return
    _show_counts(counts, title)
    click.echo(f"picture: {picture}")


def _show_counts(counts: Any, title: str) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{title}: records of every agent by class")
    table.add_column("agent", justify="right")
    for label in [*(f"#{c}" for c in range(counts.shape[1])), "records"]:
        table.add_column(label, justify="right")
    for agent, row in enumerate(counts):
        table.add_row(str(agent), *(str(n) if n else "." for n in row), str(row.sum()))
    Console().print(table)
