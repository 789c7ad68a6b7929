"""The privacy ledger of a run: what was released, by whom, to whom, with which noise.

The first line of `ledger.jsonl` holds the mechanism. Every further line is one round, written before anything of it is
sent: debit first. A round that a crash interrupted therefore stays on the bill. When it is run again with reproducible
randomness, the same bytes leave once more, which reveals nothing new, and its line is dropped; with secure randomness
it is a new release, and both lines count. Epsilon can be recomputed from this file alone.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpdl.errors import InputError
from dpdl.privacy.accounting import Step, epsilon
from dpdl.privacy.threats import USUAL, threat
from dpdl.run import files
from dpdl.run.plan import Plan


def header(p: Plan) -> dict[str, Any]:
    """The mechanism of every agent."""
    q, e = p.question, p.experiment
    agents = range(len(p.graph))
    listeners = dict.fromkeys([*USUAL, threat(e.threat)])
    return {
        "ledger": 1,
        "algorithm": e.algorithm,
        "threat": e.threat,
        "relation": q.relation,
        "sampling": e.sampling,
        "clip_unit": e.clip_unit,
        "delta": q.delta,
        "batch": q.batch,
        "records": list(q.records),
        "sigma": p.grad.noise_multiplier,
        "noise_factors": None if p.grad.factors is None else p.grad.factors.tolist(),
        "neighbours": [[int(j) for j in p.graph.neighbours(i) if j != i] for i in agents],
        "releases": [vars(release) for release in p.algorithm.releases(p.grad)],
        "sigma_eff": {str(t): [q.step(i, p.grad.noise_multiplier, t).sigma for i in agents] for t in listeners},
    }


class Ledger:
    """The file, on process 0."""

    def __init__(self, path: Path, plan: Plan) -> None:
        self._path = path
        self._repeatable = plan.grad.randomness.repeatable
        self._header = header(plan)
        self._plan = plan

    def open(self, done: int) -> int:
        """Start, or go on after round `done`; how many rounds are on the bill."""
        rounds = [t for t, _ in _rounds(self._path)] if self._path.exists() else []
        if self._repeatable:
            rounds = [t for t in rounds if t <= done]
        lines = [self._header, *map(self._line, rounds)]
        files.write(self._path, "".join(json.dumps(line) + "\n" for line in lines).encode())
        return len(rounds)

    def debit(self, t: int) -> None:
        """Round t is about to leave."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(self._line(t)) + "\n")
            file.flush()
            if not self._repeatable:  # a bill that a power cut forgets would be paid by nobody
                os.fsync(file.fileno())

    def _line(self, t: int) -> dict[str, Any]:
        """Round t, and who pays for it if not all do."""
        graph, disclosure = self._plan.graph, self._plan.algorithm.disclosure
        paying = [i for i in range(len(graph)) if disclosure.active(graph, i, t)]
        return {"round": t} if len(paying) == len(graph) else {"round": t, "agents": paying}


def recompute(path: Path) -> dict[str, float]:
    """The largest epsilon over the agents, per threat, from the ledger alone; infinity where nothing bounds it."""
    try:
        first = json.loads(path.read_text("utf-8").split("\n", 1)[0])
        steps = {name: _steps(first, sigmas) for name, sigmas in first["sigma_eff"].items()}
        rounds = _rounds(path)
        counts = [sum(agents is None or i in agents for _, agents in rounds) for i in range(len(first["records"]))]
    except OSError as failure:
        raise InputError(f"Ledger {str(path)!r} cannot be read: {failure.strerror}.") from failure
    except (ValueError, KeyError, TypeError, AttributeError) as failure:
        raise InputError(f"Ledger {str(path)!r} is damaged: {failure}.") from failure
    worst = {}
    for name, of_agents in steps.items():
        different = set(zip(of_agents, counts, strict=True))
        spent = [epsilon([pair], first["delta"], first["relation"]) for pair in different]
        worst[threat(name).key] = max(spent) if all(s.sigma > 0 for s in of_agents) else math.inf
    return worst


def _steps(first: Mapping[str, Any], sigmas: list[float]) -> list[Step]:
    fixed = first["sampling"] == "fixed"
    return [Step(s, first["batch"], n, fixed) for s, n in zip(sigmas, first["records"], strict=True)]


def _rounds(path: Path) -> list[tuple[int, list[int] | None]]:
    """Rounds on the bill, and who paid (None: all).

    A line that a crash cut off had not been paid for yet, nor had anything been sent.
    """
    found = []
    for line in path.read_text("utf-8").splitlines()[1:]:
        try:
            entry = json.loads(line)
            found.append((int(entry["round"]), entry.get("agents")))
        except (ValueError, KeyError, TypeError):
            break
    return found
