"""`dpdl compare`, and what a person sees while many runs go on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from types import TracebackType
from typing import Any

import click
from rich import progress
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dpdl.cli.options import experiment_options, given, preset_option
from dpdl.errors import DpdlError, RunFailed
from dpdl.run.experiment import Experiment

OPTIONS = [f.name for f in fields(Experiment) if f.name != "algorithm"]


@click.command()
@click.argument("file", type=click.Path(path_type=Path), required=False, metavar="[FILE.toml]")
@click.option("--algorithms", required=True, help="names of algorithms, separated by commas")
@click.option("--seeds", type=int, default=1, show_default=True, help="runs of every algorithm: seed, seed + 1, ...")
@click.option("--set", "sets", multiple=True, metavar="ALGORITHM.option=value", help="an option of one algorithm")
@click.option("--equal", default=None, help="what all have in common (epsilon, sigma, bytes) [by what is given]")
@click.option("--bytes", "megabytes", type=float, default=None, help="megabytes that a run may send; sets its rounds")
@preset_option
@experiment_options(only=OPTIONS)
@click.option("--out", type=click.Path(path_type=Path), default=None, help="folder [runs/compare-..., by the request]")
@click.option("--jobs", type=int, default=None, help="runs that go on at the same time [one per core]")
@click.option("--json", "as_json", is_flag=True, help="print table.json on standard output")
@click.option("--quiet", is_flag=True, help="no progress")
def compare(
    file: Path | None, algorithms: str, seeds: int, sets: tuple[str, ...], equal: str | None, megabytes: float | None,
    preset: str | None, out: Path | None, jobs: int | None, as_json: bool, quiet: bool, **options: Any,
) -> None:  # fmt: skip
    """Run several algorithms on the same data, graph and seeds, with the same epsilon, noise or bytes.

    The same command continues what was interrupted; more algorithms or seeds add to the folder.
    """
    from dpdl.report.compare import draw_comparison
    from dpdl.run.claim import usual_folder
    from dpdl.run.compare import ask, curves
    from dpdl.run.compare import compare as run

    c = ask(
        algorithms, seeds, given(options), sets, file=file, preset=preset, equal=equal, megabytes=megabytes
    )  # fmt: skip
    out = out or usual_folder("compare", [c.facts(), c.own, c.seeds])
    with Board(quiet, folder=out / "runs") as board:
        table = run(c, out, jobs=jobs, watch=board, progress=not quiet)
    picture = out / "curves.png"
    lines = curves(table)
    if lines:
        draw_comparison(lines, picture, _place(table))
    if as_json:
        click.echo(json.dumps(table, allow_nan=False))
    else:
        show_table(table, picture)
    failed = [f"{row['algorithm']}-seed{one['seed']}" for row in table["rows"] for one in row["failed"]]
    if failed:
        raise RunFailed(f"{len(failed)} run(s) failed: {', '.join(failed)}; continue with the same command.")


class Board:
    """A line on standard error for every run that ends, and which runs are going on."""

    def __init__(self, hidden: bool, folder: Path | None = None) -> None:
        """With `folder`, the curves of every run that ends are drawn into its folder there."""
        self._console = Console(stderr=True)
        self._hidden = hidden
        self._folder = folder
        self._going: dict[str, int] = {}
        self._ended = 0
        self._bar = progress.Progress(
            progress.SpinnerColumn(),
            progress.TextColumn("{task.description}"),
            progress.TimeElapsedColumn(),
            console=self._console,
            transient=True,
            disable=hidden or not self._console.is_terminal,
        )
        self._task = self._bar.add_task("checking", total=None)

    def __enter__(self) -> Board:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def __call__(self, name: str, news: dict[str, Any]) -> None:
        """Something happened to a run."""
        if "state" in news:
            self._going.pop(name, None)
            self._ended += 1
            self._draw(name, news)
            self._say(f"{name}: {_ending(news)}{self._others()}")
        else:
            self._going[name] = news.get("round", 0)
        self._bar.update(self._task, description=f"{self._ended} ended{self._others()}")

    def _others(self) -> str:
        going = ", ".join(f"{name} (round {t})" if t else name for name, t in self._going.items())
        return f"; going on: {going}" if going else ""

    def _say(self, line: str) -> None:
        if not self._hidden:
            self._console.print(escape(line), highlight=False, soft_wrap=True)

    def _draw(self, name: str, news: Mapping[str, Any]) -> None:
        if self._folder is None or news["state"] != "done":
            return
        from dpdl.report.training import draw_training
        from dpdl.run.store import RunFolder

        folder = self._folder / name
        with suppress(DpdlError):  # a picture that cannot be written must not stop the other runs
            draw_training(RunFolder(folder).metrics(), folder / "training.png", name)


def _ending(news: Mapping[str, Any]) -> str:
    if news["state"] in ("done", "paused"):
        early = ", its budget is spent" if news.get("stopped") else ""
        return f"accuracy {news['accuracy']:.2%} after round {news['round']}{early}"
    return f"{news['state']}: {news['error']}" if "error" in news else f"{news['state']}, its state is saved"


def show_table(table: Mapping[str, Any], picture: Path) -> None:
    """The table, best first; what protects nobody says so."""
    console = Console()
    title = f"{_place(table)}, equal {table['equal']}; epsilon against {table['threat']}"
    shown = Table(title=title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    shown.add_column("", justify="right")
    shown.add_column("algorithm")
    for name in ("accuracy %", "worst", "rounds", "MB sent", "sigma", "epsilon", "seeds"):
        shown.add_column(name, justify="right", no_wrap=True)
    for row in table["rows"]:
        shown.add_row(*_cells(row, _key(table)))
    console.print(shown)
    for row in table["rows"]:
        for one in row["stopped"]:
            words = f"stopped after round {one['rounds']} of {one['asked']}, its budget is spent"
            console.print(f"{row['algorithm']}, seed {one['seed']}: {words}.", highlight=False, soft_wrap=True)
        for one in row["failed"]:
            words = f"{row['algorithm']}, seed {one['seed']} failed: {one['error']}"
            console.print(escape(words), highlight=False, soft_wrap=True)
    if any(row["seeds"] and not row["proven"] for row in table["rows"]):
        words = (
            f"Rows that are 'not private' prove no epsilon against {table['threat']}; they are no match for the others."
        )
        console.print(words, highlight=False, soft_wrap=True)
    console.print(f"Folder: {table['out']}   Curves: {picture}", highlight=False, soft_wrap=True)


def _place(table: Mapping[str, Any]) -> str:
    return f"{Path(table['dataset']).name}, {Path(table['graph']).name} of {table['agents']} agents"


def _key(table: Mapping[str, Any]) -> str:
    from dpdl.privacy.threats import threat

    return threat(table["threat"]).key


def _cells(row: Mapping[str, Any], key: str) -> list[str]:
    if not row["seeds"]:
        return ["", row["algorithm"], "failed", *[""] * 5, "0"]
    a = row["accuracy"]
    spread = "" if a["spread"] is None else f" ± {100 * a['spread']:.2f}"
    failed = f" ({len(row['failed'])} failed)" if row["failed"] else ""
    return [
        str(row["rank"]),
        row["algorithm"],
        f"{100 * a['mean']:.2f}{spread}",
        f"{100 * a['worst']:.2f}",
        str(row["rounds"]) + ("*" if row["stopped"] else ""),
        f"{row['bytes_sent'] / 1e6:,.1f}",
        f"{row['sigma']:.4g}",
        f"{row['epsilon'][key]:.4g}" if row["proven"] else "[bold red]not private[/]",
        f"{len(row['seeds'])}{failed}",
    ]
