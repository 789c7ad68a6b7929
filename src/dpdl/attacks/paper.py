"""The paper's attack tables: the runs they need, and its numbers beside ours.

The paper does not say which batches it attacked, nor with how many iterations. Ours are batches of one record unless
others are asked for: what is easiest to rebuild. Its numbers are of round 800.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dpdl.attacks.harness import Effort
from dpdl.graph import build
from dpdl.paper import ATTACKED_EPSILON, ATTACKED_ROUNDS, attacks
from dpdl.run.experiment import Experiment
from dpdl.run.record import Wish

METRICS = ("mse", "psnr", "ssim")
SCENARIOS = "cg,mm"
LAST = max(ATTACKED_ROUNDS)
STEP = {"complete": 0.01}
"""Without clipping a step grows with the number of neighbours: at the usual 0.05 all units of LeNet die on a complete
graph, and then there is nothing in a gradient but its label."""


def experiments(dataset: str, graph: str, agents: int, seed: int) -> dict[str, Experiment]:
    """DPDL without any protection, and with Theorem 1's noise: one round more than is attacked."""
    attacks(dataset, graph, agents)  # refuses what is not in the paper
    usual: dict[str, Any] = {"algorithm": "dpdl", "dataset": dataset, "graph": graph, "agents": agents, "seed": seed}
    usual |= {"rounds": LAST + 1, "eval_every": 200}
    return {
        "nd": Experiment(**usual, noise="none", clip_unit="none", lr=STEP.get(graph)),
        "dpdl": Experiment(**usual, noise="theorem1", epsilon=ATTACKED_EPSILON[dataset]),
    }


def wish(e: Experiment, batches: Iterable[int]) -> Wish:
    """One link out of every agent: it carries a cross-gradient of hers, her momentum and her model."""
    graph = build(e.graph, e.agents, e.weights, e.seed)
    links: dict[int, int] = {}
    for i, j in graph.edges.tolist():
        if i != j:
            links.setdefault(i, j)
    return Wish(ATTACKED_ROUNDS, tuple(sorted(batches)), frozenset(links.items()))


def compared(rows: Iterable[dict[str, Any]], dataset: str, graph: str, agents: int) -> list[dict[str, Any]]:
    """Rows of the last round, each metric with the paper's."""
    published = attacks(dataset, graph, agents)
    found = []
    for row in rows:
        name = f"{row['who']}-{row['scenario']}".lower()
        if row["round"] == LAST and name in published:
            both = {m: {"paper": published[name][m], "ours": row[m]} for m in METRICS}
            place = {"dataset": dataset, "graph": graph, "agents": agents}
            how = {key: row[key] for key in ("batch", "images", "method", "best_trivial_mse", "p_better_than_trivial")}
            found.append({**place, "scenario": name, **both, **how})
    return found


def kept(facts: Mapping[str, Any], dataset: str, graph: str, agents: int, effort: Effort) -> dict[str, Any]:
    """What is kept of an attack beside the paper's: numbers with 4 digits, and what the attacked runs were worth."""
    rows = [{name: value for name, value in row.items() if name != "run"} for row in facts["rows"]]
    runs = {row["who"]: _worth(Path(row["run"])) for row in facts["rows"]}
    place = {"dataset": dataset, "graph": graph, "agents": agents, "what": _what(rows, agents, effort)}
    numbers = {"runs": runs, "rows": rows, "trivial": facts["trivial"], "paper": facts["paper"]}
    return {**place, **_short(numbers)}


def _worth(run: Path) -> dict[str, Any]:
    summary = json.loads((run / "summary.json").read_text("utf-8"))
    numbers = {name: summary[name] for name in ("rounds", "sigma", "epsilon")}
    return {"accuracy": summary["accuracy"]["average_model"], **numbers}


def _what(rows: Iterable[Mapping[str, Any]], agents: int, effort: Effort) -> str:
    first = next(iter(rows))
    images, size, settings = first["images"], first["batch"], effort.settings(first["method"])
    records = "one record" if size == 1 else f"{size} records"
    whose = "each agent" if images == agents * size else f"each of the first {images // size} agents"
    return (
        f"medians over {images} images, {'one' if size == 1 else 'a batch'} of {whose}; batches of {records}, played "
        f"beside a run with batches of {first['own_batch']}; labels {first['labels']}; {first['method']}, "
        f"{settings.iterations} iterations, {settings.restarts} starts"
    )


def _short(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _short(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_short(part) for part in value]
    return round(value, 4) if isinstance(value, float) else value
