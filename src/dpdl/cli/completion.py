"""What a shell is offered after TAB: names of options' values, and run folders.

Neither torch nor a data set is needed for it. A value that cannot be completed never ends in an
error: a shell would show it in the middle of a line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import Field
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from dpdl.folder import names
from dpdl.options import Value, allowed_names

Completed = list[CompletionItem]
Complete = Callable[[click.Context, click.Parameter, str], Completed]
FILES = ("dataset", "sites", "test", "graph")
"""Shared options whose value may be a file."""


def among(listed: Callable[[], Iterable[str]] | Iterable[str]) -> Complete:
    """One of some names, which are listed only when a shell asks."""

    def complete(
        ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> Completed:
        found = listed() if callable(listed) else listed
        return matching(found, incomplete)

    return complete


def several(listed: Callable[[], Iterable[str]] | Iterable[str]) -> Complete:
    """Some names, separated by commas; the last one is completed, by one that is not there yet."""

    def complete(
        ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> Completed:
        found = listed() if callable(listed) else listed
        before, comma, _ = incomplete.rpartition(",")
        taken = before.split(",")
        left = [name for name in found if name not in taken]
        return matching([f"{before}{comma}{name}" for name in left], incomplete)

    return complete


def matching(found: Iterable[str], incomplete: str) -> Completed:
    """The names that begin so."""
    return [CompletionItem(name) for name in found if name.startswith(incomplete)]


def values_of(f: Field[Value], incomplete: str) -> Completed:
    """The names that an option allows; a file where it may be one and no name begins so."""
    found = matching(allowed_names(f), incomplete)
    if not found and f.name in FILES:
        return [CompletionItem(incomplete, type="file")]
    return found


def values_of_any(fields: Iterable[Field[Value]], incomplete: str) -> Completed:
    """The names that an option allows, of whichever algorithm."""
    every = {name for f in fields for name in allowed_names(f)}
    return matching(sorted(every), incomplete)


def run_folders(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> Completed:
    """Run folders that begin so, newest first; where there are none, folders on the way to them.

    Nothing is read but the names of files. Without a beginning, those in `runs` are offered.
    """
    with suppress(OSError):
        start = incomplete or f"{names.RUNS}/"
        inside = _folders(start)
        runs = [one for one in inside if (one / names.EXPERIMENT).is_file()]
        if runs:
            newest = sorted(runs, key=_written, reverse=True)
            return [CompletionItem(str(one)) for one in newest]
    return [CompletionItem(incomplete, type="dir")]


def _folders(start: str) -> Sequence[Path]:
    base = Path(start) if start.endswith("/") else Path(start).parent
    prefix = "" if start.endswith("/") else Path(start).name
    if not base.is_dir():
        return []
    return [
        one for one in base.iterdir() if one.is_dir() and one.name.startswith(prefix)
    ]


def _written(run: Path) -> float:
    return (run / names.EXPERIMENT).stat().st_mtime
