"""`dpdl privacy statement`: the privacy of a run on one page, for a data protection officer."""

from __future__ import annotations

from pathlib import Path

import click

from dpdl.cli.common import json_option, out_option, print_json, run_argument
from dpdl.folder import names


@click.command()
@run_argument
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "html"]),
    default=None,
    help=(
        f"only the text, or only the page [the page as RUN/{names.STATEMENT}, the text "
        "on standard output]"
    ),
)
@out_option("the file to write")
@json_option()
def statement(run_dir: Path, form: str | None, out: Path | None, as_json: bool) -> None:
    """What left the agents of a run, what is proven about it, and what is not.

    One page for those who must decide.
    """
    from dpdl.pages.statement_page import write_statement

    made = write_statement(run_dir, form, out)
    if as_json:
        print_json(made.facts())
        return
    in_a_file = form == "html" or (form == "text" and made.path)
    if not in_a_file:
        click.echo(made.text, nl=False)
    if made.path:
        click.echo(f"Page: {made.path}")
