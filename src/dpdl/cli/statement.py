"""`dpdl privacy statement`: the privacy of a run on one page, for a data protection officer."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from dpdl.report.evidence import Evidence

FILE = "statement.html"


@click.command()
@click.argument("run_dir", type=click.Path(path_type=Path), metavar="RUN")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "html"]),
    default=None,
    help=f"only the text, or only the page [the page as RUN/{FILE}, the text on standard output]",
)
@click.option("--out", type=click.Path(path_type=Path), default=None, help="the file to write")
@click.option("--json", "as_json", is_flag=True, help="print one JSON object on standard output")
def statement(run_dir: Path, form: str | None, out: Path | None, as_json: bool) -> None:
    """What left the agents of a run, what is proven about it, and what is not: one page for those who must decide."""
    from dpdl import __version__
    from dpdl.cli.report import write_page
    from dpdl.report.document import as_html, as_text
    from dpdl.report.evidence import read
    from dpdl.report.statement import statement as made

    found = read(run_dir)
    document = made(found, __version__, datetime.now(UTC).date().isoformat())
    text = as_text(document)
    path = out if form == "text" else out or run_dir / FILE
    if path:
        write_page(path, text if form == "text" else as_html(document))
    if as_json:
        click.echo(json.dumps(facts(found, path), allow_nan=False))
    elif form != "html" and not (form == "text" and path):
        click.echo(text, nl=False)
    if path and not as_json:
        click.echo(f"Page: {path}")


def facts(found: Evidence, path: Path | None) -> dict[str, Any]:
    """The statement for programs."""
    from dpdl.report.numbers import best_guess
    from dpdl.report.statement import alarms, leading_order, protects

    proven = {listener: found.proven(listener) for listener in found.listeners}
    delta = found.header["delta"]
    return {
        "page": str(path) if path else None,
        "protects": protects(found),
        "alarms": [alarm.text for alarm in alarms(found)],
        "epsilon": {one.key: "unbounded" if value is None else value for one, value in proven.items()},
        "per_agent": {one.key: found.spent[one] for one, value in proven.items() if value is not None},
        "best_guess": {one.key: best_guess(value, delta) for one, value in proven.items() if value is not None},
        "to_leading_order": leading_order(found),
        **{
            name: found.header.get(name)
            for name in ("delta", "relation", "sampling", "sigma", "neighbours", "releases")
        },
        "sha256": dict(found.hashes),
    }
