"""`dpdl run` and `dpdl resume`."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpdl.cli.common import (
    json_option,
    out_option,
    path_option,
    print_json,
    quiet_option,
    run_argument,
    toml_argument,
)
from dpdl.cli.completion import among, several
from dpdl.cli.options import (
    ExperimentCommand,
    experiment_options,
    given,
    preset_option,
)
from dpdl.errors import InputError, PrivacyRefused
from dpdl.extras import left_out
from dpdl.folder import names

if TYPE_CHECKING:
    from dpdl.experiment.experiment import Experiment
    from dpdl.studies.one_run import OneRun
    from dpdl.training.recording_request import RecordingRequest

placement_option = click.option(
    "--placement",
    default="alone",
    show_default=True,
    shell_complete=among(("alone", "gloo", "threads:")),
    help="alone, threads:K, or gloo (under torchrun)",
)
track_option = click.option(
    "--track",
    default=None,
    metavar="FORMATS",
    shell_complete=several(("csv", "tensorboard", "wandb", "mlflow", "trackio")),
    help="write metrics for other programs, too: some of csv, tensorboard, wandb, "
    "mlflow, trackio; in the run folder",
)

ledger_option = path_option(
    "--ledger",
    "ledger of the data, whose budget all runs on them share; made by dpdl data ledger",
)


@click.command(cls=ExperimentCommand)
@toml_argument
@preset_option
@experiment_options()
@out_option("run folder [runs/NAME]")
@click.option(
    "--resume",
    "go_on",
    is_flag=True,
    help="go on with the run in --out, if it is there and of the same options",
)
@placement_option
@click.option(
    "--record",
    default=None,
    metavar="ROUNDS",
    help="record what leaves in these rounds, for dpdl attack",
)
@click.option(
    "--record-batches",
    default="",
    metavar="SIZES",
    help="play recorded rounds with such batches, too",
)
@click.option(
    "--record-links", default="all", show_default=True, help="links such as 0-1,1-0"
)
@click.option(
    "--record-limit",
    default=500,
    show_default=True,
    metavar="MB",
    help="most that a recording may take",
)
@ledger_option
@track_option
@json_option(names.SUMMARY)
@quiet_option
def run(
    file: Path | None,
    preset: str | None,
    out: Path | None,
    go_on: bool,
    placement: str,
    record: str | None,
    record_batches: str,
    record_links: str,
    record_limit: int,
    ledger: Path | None,
    track: str | None,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Train. Options on the command line win over FILE.toml, which wins over the preset."""
    from dpdl.experiment.experiment import load
    from dpdl.folder.export import formats_in
    from dpdl.planning.early import look_ahead
    from dpdl.training.placement import placement_of
    from dpdl.training.recording_request import recording_request

    # Wrong options are refused before torch is imported.
    experiment = load(file, preset, given(options))
    if go_on and out is None:
        raise InputError("--resume goes on with the run in a folder; name it by --out.")
    formats = formats_in(track)
    placement_of(placement)
    request = None
    if record:
        request = recording_request(record, record_batches, record_links, record_limit)
    look_ahead(experiment)
    _check_ledger(ledger, experiment)

    from dpdl.folder.run_folder import new_folder
    from dpdl.studies.one_run import new_run, same_run

    begin = same_run if go_on else new_run
    home = out or new_folder(experiment.resolved())
    one = begin(experiment, home, placement, not quiet)
    one = replace(one, formats=formats, ledger=ledger)
    _perform(one, as_json, quiet, record=request)


@click.command()
@run_argument
@click.option(
    "--rounds",
    type=int,
    default=None,
    help="extend the run to so many rounds, with the noise it has",
)
@placement_option
@ledger_option
@track_option
@json_option(names.SUMMARY)
@quiet_option
def resume(
    run_dir: Path,
    rounds: int | None,
    placement: str,
    ledger: Path | None,
    track: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Continue an interrupted run from its last checkpoint, or give it more rounds.

    With reproducible randomness the result is bit-identical to that of an uninterrupted run.
    """
    from dpdl.folder.export import formats_in
    from dpdl.folder.run_folder import RunFolder
    from dpdl.training.placement import placement_of

    # A folder without a run, and wrong options, are refused before torch is imported.
    formats = formats_in(track)
    placement_of(placement)
    _check_ledger(ledger, RunFolder(run_dir).experiment())

    from dpdl.studies.one_run import OneRun
    from dpdl.training.extend import price
    from dpdl.training.train import replan

    p = replan(run_dir, progress=not quiet, rounds=rounds)
    if rounds is not None and os.environ.get("RANK", "0") == "0":
        click.echo(price(p, run_dir), err=True)
    one = OneRun(p, run_dir, placement, formats, again=True, ledger=ledger)
    _perform(one, as_json, quiet)


def _check_ledger(ledger: Path | None, experiment: Experiment) -> None:
    """Refuse a ledger that is not there, or that has nothing to account for, before all else."""
    from dpdl.folder.data_ledger_place import check_randomness, ledger_folder

    if ledger is None:
        return
    check_randomness(experiment.resolved())
    if os.environ.get("RANK", "0") == "0":  # nobody else needs it
        ledger_folder(ledger)


def _perform(
    one: OneRun, as_json: bool, quiet: bool, record: RecordingRequest | None = None
) -> None:
    from dpdl.cli.show import show_result
    from dpdl.training.progress import RunProgress

    for known in one.disclosures():
        click.echo(known, err=True)
    with RunProgress(one.plan, hidden=quiet) as progress:
        result = one.perform(progress, record, warn=_warn)
    if result is None:  # another process speaks
        return
    if as_json:
        print_json(result.summary)
    else:
        show_result(result, one.picture)
        if spent := one.spending():
            click.echo(spent)
    one.draw(result)
    if one.picture is None:
        click.echo(left_out("The picture of the curves was"), err=True)
    if result.stopped:
        raise PrivacyRefused(result.stopped)


def _warn(sentence: str) -> None:
    click.echo(sentence, err=True)
