"""`dpdl export`: the metrics of a run, or its model, for other programs."""

from __future__ import annotations

from pathlib import Path

import click

from dpdl.cli.common import json_option, out_option, print_json, run_argument
from dpdl.cli.completion import among
from dpdl.errors import InputError, unknown
from dpdl.folder import names

FORMATS = ("csv", "model", "tensorboard")


@click.command()
@run_argument
@click.option(
    "--to",
    default="csv",
    show_default=True,
    metavar="FORMAT",
    shell_complete=among(FORMATS),
    help="csv or tensorboard for the metrics, model for the trained model",
)
@click.option(
    "--agent",
    type=int,
    default=None,
    help="the model of this agent [the average of all]",
)
@out_option(
    f"a file for csv, a folder for the others [in RUN; {names.MODEL}/ for a model]"
)
@json_option()
def export(
    run_dir: Path, to: str, agent: int | None, out: Path | None, as_json: bool
) -> None:
    """Write the metrics of a run as a CSV table or as TensorBoard's event files, or its model.

    For metrics the run need not be finished. A model is written as safetensors, with a card that
    says what it is and what is proven about it, and a script that loads it without dpdl.
    """
    if to not in FORMATS:
        raise unknown("format", to, FORMATS)
    if to == "model":
        _model(run_dir, out, agent, as_json)
        return
    if agent is not None:
        raise InputError("--agent is about a model; add --to model.")
    from dpdl.folder.export import export as write

    path = write(run_dir, to, out)
    if as_json:
        print_json({"metrics": str(path)})
    else:
        click.echo(f"Metrics: {path}")


def _model(run_dir: Path, out: Path | None, agent: int | None, as_json: bool) -> None:
    from dpdl.studies.model_export import export_model

    made = export_model(run_dir, out, agent)
    if as_json:
        print_json(made)
    else:
        click.echo(f"Model: {made.folder} ({', '.join(made.files)})")
