"""`dpdl report`: run folders as one HTML page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpdl.errors import InputError

if TYPE_CHECKING:
    from dpdl.report.page import Section


@click.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@click.option("--out", type=click.Path(path_type=Path), default=None, help="the page [RUN/report.html]")
@click.option("--json", "as_json", is_flag=True, help="print one JSON object on standard output")
def report(folders: tuple[Path, ...], out: Path | None, as_json: bool) -> None:
    """One self-contained HTML page from run folders, or from a folder that dpdl attack --paper made."""
    from dpdl import __version__
    from dpdl.report.page import page
    from dpdl.run.files import write

    sections: list[Section] = []
    for folder in folders:
        sections += _sections(folder)
    path = out or folders[0] / "report.html"
    names = ", ".join(folder.resolve().name for folder in folders)
    text = page(
        f"dpdl: {names}", "Agents on a graph train one model without a server.", sections, f"dpdl {__version__}"
    )
    write(path, text.encode("utf-8"))
    if as_json:
        click.echo(json.dumps({"page": str(path), "sections": [section.title for section in sections]}))
    else:
        click.echo(f"Page: {path}")


def _sections(folder: Path) -> list[Section]:
    from dpdl.report.rebuilt import rebuilt
    from dpdl.report.run import of_run

    found = []
    if (folder / "summary.json").exists():
        found.append(of_run(_read(folder / "summary.json"), folder))
    attacked = next((place for place in (folder, folder / "attack") if (place / "attack.json").exists()), None)
    if attacked:
        facts = _read(attacked / "attack.json")
        found.append(rebuilt(facts, attacked))
    if not found:
        raise InputError(f"{str(folder)!r} holds neither a finished run (summary.json) nor an attack (attack.json).")
    return found


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as failure:
        raise InputError(f"{str(path)!r} cannot be read: {failure}.") from failure
