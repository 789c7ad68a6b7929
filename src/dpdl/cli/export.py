"""`dpdl export`: the metrics of a run for other programs."""

from __future__ import annotations

from pathlib import Path

import click

from dpdl.cli.common import out_option, run_argument


@click.command()
@run_argument
@click.option(
    "--to",
    default="csv",
    show_default=True,
    metavar="FORMAT",
    help="csv or tensorboard",
)
@out_option("a file for csv, a folder for tensorboard [in RUN]")
def export(run_dir: Path, to: str, out: Path | None) -> None:
    """Write the metrics of a run as a CSV table or as TensorBoard's event files.

    The run need not be finished.
    """
    from dpdl.folder.export import export as write

    click.echo(f"Metrics: {write(run_dir, to, out)}")
