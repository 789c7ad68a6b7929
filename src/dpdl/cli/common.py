"""Options that several commands have, declared once, and how a result is printed for programs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from dpdl.cli.completion import run_folders
from dpdl.records import written

Command = TypeVar("Command", bound=Callable[..., Any])

quiet_option = click.option("--quiet", is_flag=True, help="no progress")
run_argument = click.argument(
    "run_dir",
    type=click.Path(path_type=Path),
    metavar="RUN",
    shell_complete=run_folders,
)
optional_run_argument = click.argument(
    "run_dir",
    type=click.Path(path_type=Path),
    required=False,
    metavar="[RUN]",
    shell_complete=run_folders,
)
toml_argument = click.argument(
    "file", type=click.Path(path_type=Path), required=False, metavar="[FILE.toml]"
)


def json_option(what: str = "one JSON object") -> Callable[[Command], Command]:
    """`--json`, which arrives as `as_json`."""
    return click.option(
        "--json", "as_json", is_flag=True, help=f"print {what} on standard output"
    )


def out_option(help: str, default: Path | None = None) -> Callable[[Command], Command]:
    """`--out PATH`."""
    return path_option("--out", help, default)


def path_option(
    name: str, help: str, default: Path | None = None
) -> Callable[[Command], Command]:
    """An option whose value is a path."""
    return click.option(
        name,
        type=click.Path(path_type=Path),
        default=default,
        show_default=default is not None,
        help=help,
    )


def jobs_option(what: str) -> Callable[[Command], Command]:
    """`--jobs N`: how many of them go on at the same time."""
    words = f"{what} at the same time [one per core]"
    return click.option("--jobs", type=int, default=None, help=words)


def print_json(value: object) -> None:
    """A record, or plain values, as one JSON object on standard output; there is no NaN in it."""
    click.echo(json.dumps(written(value), allow_nan=False))
