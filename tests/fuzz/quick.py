"""Readers on their own: files and options that end before a command would do anything with them.

They are the same damaged files as in `cases`, at a hundredth of the time. What is read is right, or
is refused as an error that a person can cause.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

from dpdl import graph
from dpdl.errors import DpdlError
from dpdl.experiment.experiment import from_mapping, load
from dpdl.folder import ledger_content
from dpdl.folder.checkpoint import restore
from dpdl.folder.run_folder import RunFolder
from dpdl.report import statement_evidence
from dpdl.tasks.data import load as load_data
from tests.fuzz import cases, damage, values, world

SAMPLES = ("experiment.json", "summary.json", "metrics.jsonl", "ledger.jsonl")


def of_experiment(r: Random, home: Path) -> None:
    """A TOML file, with all defaults filled in."""
    cases.of_experiments(r, home)
    load(home / world.TOML, None, {}).resolved()


def of_mapping(r: Random, home: Path) -> None:
    """Options as Python hands them over."""
    offered = [p for p in cases.parameters(("run",)) if p.name in cases.EXPERIMENT]
    given = {(r.choice(offered).name or ""): values.json_value(r) for _ in range(2)}
    from_mapping({**world.TINY, **given}).resolved()


def of_graph(r: Random, home: Path) -> None:
    """A graph in a file."""
    case = cases.of_graphs(r, home)
    weights = "given" if "given" in case.words else "metropolis"
    _ = graph.build(str(home / case.words[1]), weights=weights).spectral_gap


def of_data(r: Random, home: Path) -> None:
    """Records in a file."""
    damage.damage(r, home / world.DATA)
    load_data(str(home / world.DATA))


def of_run(r: Random, home: Path) -> None:
    """The JSON files of a run."""
    run = RunFolder(home / world.RUN)
    damage.damage(r, run.path / r.choice(SAMPLES))
    run.read()
    run.summary()
    run.metrics()
    ledger_content.read(run.ledger_path)


def of_evidence(r: Random, home: Path) -> None:
    """What a statement is made of."""
    run = home / world.RUN
    damage.damage(r, run / r.choice(("summary.json", "ledger.jsonl", "ledger.jsonl")))
    statement_evidence.read(run)


def of_checkpoint(r: Random, home: Path) -> None:
    """The state of a run."""
    path = home / world.RUN / "state.safetensors"
    damage.damage(r, path)
    restore(path)


QUICK: Mapping[str, tuple[Callable[[Random, Path], None], tuple[str, ...]]] = {
    "reader: experiment": (of_experiment, (world.TOML,)),
    "reader: options": (of_mapping, ()),
    "reader: graph": (of_graph, ()),
    "reader: data": (of_data, (world.DATA,)),
    "reader: run": (of_run, tuple(f"{world.RUN}/{name}" for name in SAMPLES)),
    "reader: evidence": (of_evidence, tuple(f"{world.RUN}/{name}" for name in SAMPLES)),
    "reader: checkpoint": (of_checkpoint, (f"{world.RUN}/state.safetensors",)),
}
"""What is read, and what of the world it needs."""


def tried(kind: str, r: Random, home: Path) -> str:
    """How a reader ended: `read`, or the error; whatever else it raises is a bug."""
    try:
        QUICK[kind][0](r, home)
    except DpdlError:
        return "refused"
    return "read"
