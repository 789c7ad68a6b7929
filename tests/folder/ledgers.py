"""Run folders and their ledgers, as crashes, people and older versions leave them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dpdl
from dpdl.tasks.data import Dataset
from tests.conftest import small_module

PLANNED = {
    "sigma": None,
    "noise": "accountant",
    "epsilon": 8.0,
    "algorithm": "dpdl-sound",
}


class Crash(Exception):
    """What a process does not survive."""


def crash_at(round: int):
    def watch(t: int, metrics) -> None:
        if t == round:
            raise Crash

    return watch


def resume(run: Path, blobs: Dataset, **more):
    return dpdl.resume(run, data=blobs, model=small_module(), **more)


def edit(run: Path, **options: Any) -> None:
    """What a person does with an editor."""
    path = run / "experiment.json"
    content = json.loads(path.read_text())
    path.write_text(
        json.dumps({**content, "experiment": {**content["experiment"], **options}})
    )


def lines(run: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line) for line in (run / "ledger.jsonl").read_text().splitlines()
    ]


def as_format_1(run: Path) -> None:
    """The ledger as versions before this one wrote it."""
    names = (
        *("algorithm", "threat", "relation", "sampling", "clip_unit", "delta"),
        *("batch", "records", "sigma", "noise_factors", "neighbours"),
        *("releases", "sigma_eff"),
    )
    first, *rounds = lines(run)
    before = [{"ledger": 1, **{name: first[name] for name in names}}]
    before += [
        {name: line[name] for name in ("round", "agents") if name in line}
        for line in rounds
    ]
    (run / "ledger.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in before)
    )
