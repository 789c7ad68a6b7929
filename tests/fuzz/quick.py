"""Readers on their own: files and options that end before a command would do anything with them.

They are the same damaged files as in `cases`, at a hundredth of the time. What is read is right, or
is refused as an error that a person can cause.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from dpdl import graph
from dpdl.attacks.recorded import Recording
from dpdl.attacks.scenarios import offered
from dpdl.experiment.experiment import from_mapping, load
from dpdl.folder import ledger_content
from dpdl.folder.cell_results import read_result
from dpdl.folder.checkpoint import restore
from dpdl.folder.files import read_record
from dpdl.folder.run_folder import RunFolder
from dpdl.folder.verify import verify
from dpdl.pages import statement_evidence
from dpdl.pages.document import as_html, as_text
from dpdl.pages.statement import statement
from dpdl.studies.comparison_folder import ComparisonFile, runs_of
from dpdl.studies.comparison_table import ComparisonTable
from dpdl.studies.reproduce.run_times import run_times
from dpdl.studies.search import Search, make_search
from dpdl.studies.search_records import SearchFile, SearchResult
from dpdl.studies.trials import Trials
from dpdl.tasks.data import load as load_data
from dpdl.tasks.targets import Classes
from dpdl.watch.watched_folder import WatchedFolder
from tests.fuzz import cases, damage, values, world

SAMPLES = ("experiment.json", "summary.json", "metrics.jsonl", "ledger.jsonl")


@dataclass(frozen=True)
class Drawn:
    """An input of a reader: files that were damaged, and what reads them."""

    read: Callable[[], object]
    about: str  # what was drawn, besides the files


def of_experiment(r: Random, home: Path) -> Drawn:
    """A TOML file, with all defaults filled in."""
    case = cases.of_experiments(r, home)
    path = home / world.TOML
    return Drawn(lambda: load(path, None, {}).resolved(), case.done[0])


def of_mapping(r: Random, home: Path) -> Drawn:
    """Options as Python hands them over."""
    offered = [p for p in cases.parameters(("run",)) if p.name in cases.EXPERIMENT]
    some = [r.choice(offered).name or "" for _ in range(r.choice([1, 2, 2, 3]))]
    given = {name: values.json_value(r) for name in some}
    return Drawn(
        lambda: from_mapping({**world.TINY, **given}).resolved(), f"{given!r:.2000}"
    )


def of_graph(r: Random, home: Path) -> Drawn:
    """A graph in a file."""
    case = cases.of_graphs(r, home)
    weights = "given" if "given" in case.words else "metropolis"
    path = str(home / case.words[1])
    return Drawn(
        lambda: graph.build(path, weights=weights).spectral_gap, f"{case.words[1:]}"
    )


def of_data(r: Random, home: Path) -> Drawn:
    """Records in a file."""
    path = home / world.DATA
    about = damage.damage(r, path)
    return Drawn(lambda: load_data(str(path)), about)


def of_site(r: Random, home: Path) -> Drawn:
    """Records of one site, in a file."""
    from dpdl.tasks.data.site_records import public_test

    path = home / world.SITES[0]
    about = damage.damage(r, path)
    return Drawn(lambda: public_test(str(path), Classes), about)


# ------------------------------------------------------------------ a run
def of_run(r: Random, home: Path) -> Drawn:
    """The JSON files of a run."""
    run = RunFolder(home / world.RUN)
    about = _damaged(r, run.path, SAMPLES)

    def read() -> None:
        run.read()
        run.summary()
        run.metrics()
        ledger_content.read(run.ledger_path)

    return Drawn(read, about)


def of_evidence(r: Random, home: Path) -> Drawn:
    """A statement, and the files that it is made of."""
    run = home / world.RUN
    about = _damaged(
        r, run, ("summary.json", "ledger.jsonl", "ledger.jsonl", "experiment.json")
    )

    def read() -> None:
        document = statement(statement_evidence.read(run), "1", "2026-01-01")
        assert_visible(as_text(document))
        assert_visible(as_html(document))

    return Drawn(read, about)


def assert_visible(page: str) -> None:
    """What a page or a text shows has no control characters."""
    hidden = {one for one in page if not one.isprintable()} - {"\n", "\t", "\xa0"}
    odd = {one for one in hidden if one < " " or "\x7f" <= one < "\xa0" or one in BIDI}
    assert not odd, f"a page holds {odd!r}"


BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def of_verify(r: Random, home: Path) -> Drawn:
    """A ledger, checked against the rest of its run."""
    run = home / world.RUN
    about = _damaged(r, run, SAMPLES)
    return Drawn(lambda: verify(run), about)


def of_watch(r: Random, home: Path) -> Drawn:
    """What a live page shows of a run."""
    about = _damaged(r, home / world.RUN, SAMPLES)

    def read() -> None:
        found = WatchedFolder(home, public=about < "f")
        for one in (found.to_json({}), found.drawing(1), found.agents_in(1, 1)):
            json.dumps(one, allow_nan=False)

    return Drawn(read, about)


def of_checkpoint(r: Random, home: Path) -> Drawn:
    """The state of a run."""
    path = home / world.RUN / "state.safetensors"
    about = damage.damage(r, path)
    return Drawn(lambda: restore(path), about)


def of_recording(r: Random, home: Path) -> Drawn:
    """What was recorded of a run."""
    folder = home / world.RUN / "recording"
    kept = ("index.json", "public.json", *(p.name for p in folder.glob("*-b1.s*")))
    about = _damaged(r, folder, kept)

    def read() -> None:
        found = Recording(folder)
        agents = found.chosen(None)
        for agent in agents[:3]:
            found.neighbours(agent)
        for t in found.rounds[:2]:
            for batch in (None, *found.batches)[:2]:
                offered(found, t, batch)

    return Drawn(read, about)


# ------------------------------------------------------------------ studies
def of_comparison(r: Random, home: Path) -> Drawn:
    """The files of a comparison."""
    out = home / world.COMPARED
    about = _damaged(r, out, ("compare.json", "compare.json", "table.json"))

    def read() -> None:
        runs_of(out, read_record(ComparisonFile, out / "compare.json"))
        read_record(ComparisonTable, out / "table.json")

    return Drawn(read, about)


@cache
def _search() -> Search:
    e = from_mapping({"dataset": "digits", "agents": 3})
    return make_search(e, "lr", 2)


def of_search(r: Random, home: Path) -> Drawn:
    """The files of a search."""
    out = home / world.SEARCHED
    about = _damaged(r, out, ("tune.json", "trials.jsonl", "result.json"))

    def read() -> None:
        read_record(SearchFile, out / "tune.json").asked.resolved()
        Trials(_search(), out).ranked()
        read_record(SearchResult, out / "result.json")

    return Drawn(read, about)


def of_cells(r: Random, home: Path) -> Drawn:
    """The result of a reproduced cell."""
    path = home / world.CELLS / "sound" / world.CELL
    about = damage.damage(r, path)

    def read() -> None:
        read_result(path)
        run_times(home / world.CELLS)

    return Drawn(read, about)


def _damaged(r: Random, folder: Path, names: tuple[str, ...]) -> str:
    """Damage one file, or now and then two; which, and how."""
    chosen = [r.choice(names) for _ in range(r.choice([1, 1, 1, 2]))]
    return "; ".join(_one(r, folder / name) for name in dict.fromkeys(chosen))


def _one(r: Random, path: Path) -> str:
    return f"{path.name}: {damage.damage(r, path)}"


Prepare = Callable[[Random, Path], Drawn]


def _in(folder: str, *files: str) -> tuple[str, ...]:
    return tuple(f"{folder}/{name}" for name in files)


RUN = _in(world.RUN, *SAMPLES)
QUICK: Mapping[str, tuple[Prepare, tuple[str, ...]]] = {
    "reader: experiment": (of_experiment, ()),
    "reader: options": (of_mapping, ()),
    "reader: graph": (of_graph, ()),
    "reader: data": (of_data, (world.DATA,)),
    "reader: site": (of_site, (world.SITES[0],)),
    "reader: run": (of_run, RUN),
    "reader: statement": (of_evidence, RUN),
    "reader: verify": (of_verify, RUN),
    "reader: watch": (of_watch, RUN),
    "reader: checkpoint": (of_checkpoint, _in(world.RUN, "state.safetensors")),
    "reader: recording": (of_recording, _in(world.RUN, "recording")),
    "reader: comparison": (
        of_comparison,
        _in(world.COMPARED, "compare.json", "table.json"),
    ),
    "reader: search": (
        of_search,
        _in(world.SEARCHED, "tune.json", "trials.jsonl", "result.json"),
    ),
    "reader: cells": (of_cells, (world.CELLS,)),
}
"""What is read, and what of the world it needs."""
SLOWER = ("run", "statement", "verify", "watch", "recording", "comparison", "search")
"""Readers that take several milliseconds."""
OFTEN = {kind: 1 if kind.removeprefix("reader: ") in SLOWER else 12 for kind in QUICK}
"""How often each is drawn where there are millions of inputs."""
