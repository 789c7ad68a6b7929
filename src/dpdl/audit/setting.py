"""What is audited: all that a game needs to know, from options or from a run folder."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

from dpdl.errors import InputError
from dpdl.graph import Graph, build
from dpdl.privacy.theorem1 import Theorem1
from dpdl.run.experiment import Experiment
from dpdl.run.planner import Question, make_algorithm, make_question, make_theorem1
from dpdl.run.store import RunFolder


@final
@dataclass(frozen=True)
class Setting:
    """An experiment whose options are all set, with its graph and the records of every agent."""

    experiment: Experiment
    graph: Graph
    records: list[int]

    def question(self, size: int) -> Question:
        """What is asked of the accountant, for models of so many parameters."""
        e = self.experiment
        return make_question(e, make_algorithm(e), self.graph, self.records, size)

    @property
    def theorem1(self) -> Theorem1 | None:
        """What the paper claims; None: nothing about this algorithm."""
        return make_theorem1(self.experiment, self.graph, min(self.records))


def of_options(experiment: Experiment, records: int) -> Setting:
    """The experiment itself; every agent has so many records."""
    e = experiment.resolved()
    graph = build(e.graph, e.agents, e.weights, e.seed)
    assert e.batch
    if records < e.batch:
        raise InputError(f"records must be at least the batch of {e.batch}, not {records}.")
    return Setting(e, graph, [records] * len(graph))


def of_run(folder: Path, rounds: int | None) -> tuple[Setting, float]:
    """The settings of a run and its sigma; all its rounds, or the first ones."""
    experiment, facts = RunFolder(folder).read()
    e, header = experiment.resolved(), _header(folder / "ledger.jsonl")
    graph = build(e.graph, e.agents, e.weights, e.seed)
    if facts.get("graph_sha256") != hashlib.sha256(graph.W.tobytes()).hexdigest():
        raise InputError(f"Run {str(folder)!r} has a graph of its own, which its folder does not hold.")
    done = _rounds(folder / "summary.json", e.rounds)
    if rounds is not None and not 1 <= rounds <= done:
        raise InputError(f"rounds must be from 1 to the {done} of the run, not {rounds}.")
    sigma = float(header["sigma"])
    if sigma <= 0:
        raise InputError(f"Run {str(folder)!r} adds no noise: every epsilon is refuted, and nothing is to be audited.")
    return Setting(replace(e, rounds=rounds or done), graph, list(header["records"])), sigma


def _rounds(summary: Path, planned: int) -> int:
    """How many rounds a run has played; a budget may have ended it early. One that has not ended is as planned."""
    if not summary.exists():
        return planned
    try:
        return int(json.loads(summary.read_text("utf-8"))["rounds"])
    except (OSError, ValueError, KeyError, TypeError) as failure:
        raise InputError(f"File {str(summary)!r} is damaged: {failure}.") from failure


def _header(path: Path) -> dict[str, Any]:
    """The first line of a ledger, which holds the mechanism."""
    try:
        found: dict[str, Any] = json.loads(path.read_text("utf-8").split("\n", 1)[0])
        if not {"records", "sigma"} <= set(found):
            raise ValueError("its first line holds no mechanism")
    except OSError as failure:
        raise InputError(f"Ledger {str(path)!r} cannot be read: {failure.strerror}.") from failure
    except (ValueError, TypeError) as failure:
        raise InputError(f"Ledger {str(path)!r} is damaged: {failure}.") from failure
    return found
