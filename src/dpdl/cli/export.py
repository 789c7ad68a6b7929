"""`dpdl export`: the metrics of a run for other programs."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("run_dir", type=click.Path(path_type=Path), metavar="RUN")
@click.option("--to", default="csv", show_default=True, metavar="FORMAT", help="csv or tensorboard")
@click.option(
    "--out", type=click.Path(path_type=Path), default=None, help="a file for csv, a folder for tensorboard [in RUN]"
)
def export(run_dir: Path, to: str, out: Path | None) -> None:
    """Write the metrics of a run, finished or not, as a CSV table or as TensorBoard's event files."""
    from dpdl.run import track

    click.echo(f"Metrics: {track.export(run_dir, to, out)}")
