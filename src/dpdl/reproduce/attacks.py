"""Results of the paper's attack tables: one small JSON file per data set, graph and number of agents."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dpdl.errors import InputError
from dpdl.paper import tables
from dpdl.paper.cells import Place, places
from dpdl.run.experiment import Experiment
from dpdl.run.files import write_json

CASES = 12
"""Runs with and without noise, three rounds, two scenarios."""
GUESS = {"mnist": 30.0, "cifar10": 300.0}
"""Seconds per case on one core."""


def path_of(out: Path, place: Place) -> Path:
    """Where the result of a place is."""
    return out / "attack" / f"{place.name}.json"


def read(out: Path, place: Place) -> dict[str, Any] | None:
    """The result of a place; None when nothing was measured."""
    path = path_of(out, place)
    try:
        found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as failure:
        raise InputError(f"Result {str(path)!r} cannot be read: {failure}.") from failure
    if not isinstance(found, dict) or not isinstance(found.get("paper"), list):
        raise InputError(f"Result {str(path)!r} holds no attack beside the paper's; move it, or choose another --out.")
    return found


def add(out: Path, place: Place, result: Mapping[str, Any]) -> None:
    """Keep the result of a place."""
    path = path_of(out, place)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, result)


def compared(out: Path, chosen: Iterable[Place]) -> list[dict[str, Any]]:
    """The measured rows of the tables: every metric as the paper has it and as ours."""
    return [row for place in chosen for row in (read(out, place) or {"paper": []})["paper"]]


def count(out: Path) -> dict[str, int]:
    """How many numbers of the attack tables were measured; a cell is one metric of one row."""
    names = ("dataset", "graph", "agents", "scenario")
    measured = {
        (*(row[name] for name in names), metric)
        for row in compared(out, places())
        for metric, both in row.items()
        if isinstance(both, dict) and both.get("ours") is not None
    }
    wanted = {(*(cell[name] for name in names), cell["metric"]) for cell in tables()["attack"]}
    return {"measured": len(wanted & measured), "of": len(wanted)}


# ------------------------------------------------------------------ time
def seconds(place: Place, runs: Iterable[Experiment], of_run: Callable[[Experiment], float]) -> float:
    """For a place on one core: its runs, and the attack on them."""
    return sum(of_run(e.resolved()) for e in runs) + CASES * GUESS[place.dataset]


@contextmanager
def deadline(minutes: float | None) -> Iterator[None]:
    """Interrupt what goes on when the time is over, as a person would: a run saves its state."""
    if minutes is None:
        yield
        return
    timer = threading.Timer(minutes * 60, os.kill, (os.getpid(), signal.SIGINT))
    timer.daemon = True
    before = signal.getsignal(signal.SIGINT)
    if before == signal.SIG_IGN:  # as in a background job of a script
        signal.signal(signal.SIGINT, signal.default_int_handler)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)
