"""What `dpdl report` makes: one page from run folders, attacks and results of a reproduction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from dpdl import __version__
from dpdl.errors import DpdlError, InputError
from dpdl.folder import class_counts, files, names
from dpdl.folder.attack_facts import AttackFacts
from dpdl.folder.class_counts import ClassCounts
from dpdl.folder.demo_facts import DemoFacts
from dpdl.folder.run_folder import RunFolder
from dpdl.pages.attack_section import rebuilt
from dpdl.pages.demo_section import told
from dpdl.pages.page import Section
from dpdl.pages.paper_tables import of_mode
from dpdl.pages.public_page import not_covered, public_page, whole_page
from dpdl.pages.run_section import of_run
from dpdl.pages.section_order import settings_last
from dpdl.paper.cells import published
from dpdl.records import Record
from dpdl.studies.reproduce.beside_paper import every_cell, measured, rankings
from dpdl.studies.reproduce.recipes import MODES, is_in_mode
from dpdl.studies.study_cards import of_page
from dpdl.tasks.data import NAMES, is_here

DAMAGE = (AttributeError, IndexError, KeyError, OSError, TypeError, ValueError)
"""What reading a file with other contents than dpdl writes ends in."""


@final
@dataclass(frozen=True)
class WrittenPage(Record):
    """A page, and where it was written."""

    page: str
    sections: tuple[str, ...]  # their titles
    public: bool
    not_covered: tuple[str, ...]  # what it shows, or leaves out, that no epsilon covers

    def _repr_html_(self) -> str:
        return of_page(self)


def make_page(folders: Sequence[Path], out: Path | None, public: bool) -> WrittenPage:
    """Write one page about all folders; a public one leaves out what no epsilon covers."""
    sections = [section for folder in folders for section in sections_of(folder)]
    foot = f"dpdl {__version__}"
    if public:
        text = public_page(sections, foot)
    else:
        folder_names = ", ".join(folder.resolve().name for folder in folders)
        text = whole_page(folder_names, sections, foot)
    path = out or folders[0] / (names.PUBLIC_REPORT if public else names.REPORT)
    with files.refusing("Page", path):
        files.write(path, text.encode("utf-8"))
    titles = tuple(section.title for section in sections)
    return WrittenPage(str(path), titles, public, tuple(not_covered(sections)))


def sections_of(folder: Path) -> list[Section]:
    """All that a folder holds: a run, an attack, results of a reproduction."""
    try:
        about = settings_last([*_run(folder), *_attack(folder)])
        found = [*_story(folder), *about, *_results(folder)]
    except DAMAGE as failure:
        raise InputError(
            f"Folder {str(folder)!r} holds a file that is damaged or was written by "
            f"another version of dpdl ({type(failure).__name__}: {failure})."
        ) from failure
    if not found:
        if RunFolder(folder).experiment_path.exists():
            raise InputError(
                f"The run in {str(folder)!r} has not ended; look at it with dpdl watch, "
                "or end it with dpdl resume."
            )
        raise InputError(
            f"{str(folder)!r} holds neither a finished run ({names.SUMMARY}), nor an "
            f"attack ({names.ATTACK_RESULT}), nor a demonstration ({names.STORY}), nor "
            "results of dpdl reproduce (MODE/CELL.json)."
        )
    return found


def _story(folder: Path) -> list[Section]:
    if not (folder / names.STORY).exists():
        return []
    return [told(DemoFacts.read(folder), folder)]


def _run(folder: Path) -> list[Section]:
    run = RunFolder(folder)
    if not run.finished:
        return []
    summary, settings = run.summary(), run.facts().experiment
    return [of_run(summary, settings, folder, make_class_counts(run))]


def _attack(folder: Path) -> list[Section]:
    for place in (folder, RunFolder(folder).attack):
        path = place / names.ATTACK_RESULT
        if path.exists():
            return [rebuilt(AttackFacts.read(path), place)]
    return []


def _results(folder: Path) -> list[Section]:
    found = []
    for mode, guarantee in MODES.items():
        is_there = (folder / mode).is_dir()
        cells = measured(folder, every_cell(), [mode]) if is_there else []
        if cells:
            total = sum(is_in_mode(cell, mode) for cell in published())
            ranked = rankings(cell.compared for cell in cells)
            found.append(of_mode(mode, guarantee, total, cells, ranked))
    return found


# ------------------------------------------------------------------ runs of older versions
def make_class_counts(run: RunFolder) -> str:
    """Count the records of a run that did not do so itself; why not, if that cannot be done.

    The run is planned once more for it, with data that are here: nothing is fetched for a page.
    """
    if run.partition_path.exists():
        return ""
    dataset = str(run.facts().experiment["dataset"])
    if dataset in NAMES and not is_here(dataset):
        fetch = f"get it with dpdl data fetch {dataset}"
        return f"the data set is not here; {fetch}."
    from dpdl.training.train import (
        replan,  # not above: pages of other runs need no torch
    )

    try:
        found = ClassCounts.of_plan(replan(run.path))
    except DpdlError as failure:
        return str(failure)
    try:
        class_counts.write(run, found)
    except OSError as failure:
        return f"{names.PARTITION} cannot be written: {failure.strerror or failure}."
    return ""
