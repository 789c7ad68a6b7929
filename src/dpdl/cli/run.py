"""`dpdl run` and `dpdl resume`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpdl.cli.options import experiment_options, given, preset_option
from dpdl.errors import PrivacyRefused

if TYPE_CHECKING:
    from dpdl.run.plan import Plan
    from dpdl.run.record import Wish
    from dpdl.run.track import Tracker

PLACEMENT = "alone, threads:K, or gloo (under torchrun)"

track_option = click.option(
    "--track", default=None, metavar="FORMATS", help="write metrics for other programs, too: csv, tensorboard, or both"
)


@click.command()
@click.argument("file", type=click.Path(path_type=Path), required=False, metavar="[FILE.toml]")
@preset_option
@experiment_options()
@click.option("--out", type=click.Path(path_type=Path), default=None, help="run folder [runs/NAME]")
@click.option("--placement", default="alone", show_default=True, help=PLACEMENT)
@click.option("--record", default=None, metavar="ROUNDS", help="record what leaves in these rounds, for dpdl attack")
@click.option("--record-batches", default="", metavar="SIZES", help="play recorded rounds with such batches, too")
@click.option("--record-links", default="all", show_default=True, help="links such as 0-1,1-0")
@click.option("--record-limit", default=500, show_default=True, metavar="MB", help="most that a recording may take")
@track_option
@click.option("--json", "as_json", is_flag=True, help="print summary.json on standard output")
@click.option("--quiet", is_flag=True, help="no progress")
def run(
    file: Path | None,
    preset: str | None,
    out: Path | None,
    placement: str,
    record: str | None,
    record_batches: str,
    record_links: str,
    record_limit: int,
    track: str | None,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Train. Options on the command line win over FILE.toml, which wins over the preset."""
    from dpdl.run.experiment import load
    from dpdl.run.plan import plan
    from dpdl.run.record import wish_of
    from dpdl.run.store import new_folder
    from dpdl.run.track import Tracker, formats_in

    formats = formats_in(track)
    experiment = load(file, preset, given(options))
    p = plan(experiment, progress=not quiet)
    wish = None
    if record:
        wish = wish_of(record, record_batches, record_links, record_limit)
    out = out or new_folder(p.experiment)
    _go(p, out, placement, Tracker(out, formats), as_json, quiet, record=wish)


@click.command()
@click.argument("run_dir", type=click.Path(path_type=Path), metavar="RUN")
@click.option("--rounds", type=int, default=None, help="extend the run to so many rounds, with the noise it has")
@click.option("--placement", default="alone", show_default=True, help=PLACEMENT)
@track_option
@click.option("--json", "as_json", is_flag=True, help="print summary.json on standard output")
@click.option("--quiet", is_flag=True, help="no progress")
def resume(run_dir: Path, rounds: int | None, placement: str, track: str | None, as_json: bool, quiet: bool) -> None:
    """Continue an interrupted run from its last checkpoint, or give it more rounds.

    With reproducible randomness the result is bit-identical to that of an uninterrupted run.
    """
    from dpdl.run.extend import price
    from dpdl.run.track import Tracker, formats_in
    from dpdl.run.train import replan

    tracker = Tracker(run_dir, formats_in(track))
    p = replan(run_dir, progress=not quiet, rounds=rounds)
    if rounds is not None and os.environ.get("RANK", "0") == "0":
        click.echo(price(p, run_dir), err=True)
    _go(p, run_dir, placement, tracker, as_json, quiet, again=True)


def _go(
    p: Plan,
    out: Path,
    placement: str,
    tracker: Tracker,
    as_json: bool,
    quiet: bool,
    again: bool = False,
    record: Wish | None = None,
) -> None:
    from dpdl.cli.show import Progress, show_result
    from dpdl.report.training import draw_training
    from dpdl.run.train import launch

    with Progress(p, hidden=quiet) as progress:

        def watch(t: int, metrics: dict[str, Any] | None) -> None:
            tracker(t, metrics)
            progress(t, metrics)

        result = launch(p, out=out, placement=placement, watch=watch, again=again, record=record)
    if result is None:  # another process speaks
        return
    tracker.finish()
    picture = out / "training.png"
    if as_json:
        click.echo(json.dumps(result.summary, allow_nan=False))
    else:
        show_result(result, picture)
    draw_training(result.metrics, picture, f"{p.experiment.algorithm}, {p.experiment.dataset}, {p.graph.name}")
    if result.stopped:
        raise PrivacyRefused(result.stopped)
