"""`dpdl report`: run folders and results as one HTML page."""

from __future__ import annotations

from pathlib import Path

import click

from dpdl.cli.common import json_option, out_option, print_json
from dpdl.cli.completion import run_folders
from dpdl.folder import names


@click.command()
@click.argument(
    "folders",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path),
    metavar="FOLDER...",
    shell_complete=run_folders,
)
@out_option(f"the page [FOLDER/{names.REPORT}]")
@click.option(
    "--public",
    is_flag=True,
    help=f"leave out what no epsilon covers; the page is FOLDER/{names.PUBLIC_REPORT}",
)
@json_option()
def report(
    folders: tuple[Path, ...], out: Path | None, public: bool, as_json: bool
) -> None:
    """One self-contained HTML page from run folders, attacks, or what dpdl reproduce measured.

    FOLDER is a run, the results folder of dpdl reproduce, or the folder of dpdl attack --paper.

    The page is for whoever holds the records. With --public it is one to give away: no training
    losses, no counts of records, no pictures of them, no seed.
    """
    from dpdl.studies.pages import make_page

    made = make_page(folders, out, public)
    if as_json:
        print_json(made)
    else:
        click.echo(f"Page: {made.page}")
