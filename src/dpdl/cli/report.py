"""`dpdl report`: run folders and results as one HTML page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpdl.errors import InputError

if TYPE_CHECKING:
    from dpdl.report.page import Section

DAMAGE = (AttributeError, IndexError, KeyError, OSError, TypeError, ValueError)
"""What reading a file with other contents than dpdl writes ends in."""


@click.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FOLDER...")
@click.option("--out", type=click.Path(path_type=Path), default=None, help="the page [FOLDER/report.html]")
@click.option("--public", is_flag=True, help="leave out what no epsilon covers; the page is FOLDER/public.html")
@click.option("--json", "as_json", is_flag=True, help="print one JSON object on standard output")
def report(folders: tuple[Path, ...], out: Path | None, public: bool, as_json: bool) -> None:
    """One self-contained HTML page from run folders, from what dpdl reproduce measured, or from what dpdl attack made.

    FOLDER is a run, the results folder of dpdl reproduce, or the folder of dpdl attack --paper.

    The page is for whoever holds the records. With --public it is one to give away: no training losses, no counts of
    records, no pictures of them, no seed.
    """
    from dpdl import __version__
    from dpdl.report.covered import not_covered, public_page, whole_page

    sections: list[Section] = []
    for folder in folders:
        sections += _sections(folder)
    foot = f"dpdl {__version__}"
    if public:
        text = public_page(sections, foot)
    else:
        text = whole_page(", ".join(folder.resolve().name for folder in folders), sections, foot)
    path = out or folders[0] / ("public.html" if public else "report.html")
    write_page(path, text)
    if as_json:
        told = {"page": str(path), "sections": [section.title for section in sections]}
        click.echo(json.dumps({**told, "public": public, "not_covered": not_covered(sections)}))
    else:
        click.echo(f"Page: {path}")


def _sections(folder: Path) -> list[Section]:
    try:
        found = [*_run(folder), *_attack(folder), *_results(folder)]
    except DAMAGE as failure:
        what = f"{type(failure).__name__}: {failure}"
        raise InputError(
            f"Folder {str(folder)!r} holds a file that is damaged or was written by another version of dpdl ({what})."
        ) from failure
    if not found:
        raise InputError(
            f"{str(folder)!r} holds neither a finished run (summary.json), nor an attack (attack.json), nor results "
            "of dpdl reproduce (MODE/CELL.json)."
        )
    return found


def _run(folder: Path) -> list[Section]:
    from dpdl.report.run import of_run

    if not (folder / "summary.json").exists():
        return []
    settings = _read(folder / "experiment.json")["experiment"]
    return [of_run(_read(folder / "summary.json"), settings, folder)]


def _attack(folder: Path) -> list[Section]:
    from dpdl.report.rebuilt import rebuilt

    places = [place for place in (folder, folder / "attack") if (place / "attack.json").exists()]
    return [rebuilt(_read(place / "attack.json"), place) for place in places[:1]]


def _results(folder: Path) -> list[Section]:
    from dpdl.paper.cells import published
    from dpdl.report.results import of_mode
    from dpdl.reproduce.recipes import MODES, has
    from dpdl.reproduce.results import compared, every_cell, rankings

    found = []
    for mode, guarantee in MODES.items():
        rows = compared(folder, every_cell(), [mode]) if (folder / mode).is_dir() else []
        if rows:
            total = sum(has(cell, mode) for cell in published())
            found.append(of_mode(mode, guarantee, total, rows, rankings(rows)))
    return found


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as failure:
        raise InputError(f"{str(path)!r} cannot be read: {failure}.") from failure


def write_page(path: Path, text: str) -> None:
    """Replace a page; a place that cannot be written is told in one sentence."""
    from dpdl.run.files import write

    try:
        write(path, text.encode("utf-8"))
    except OSError as failure:
        raise InputError(f"Page {str(path)!r} cannot be written: {failure.strerror or failure}.") from failure
