"""The paper's attack tables: the runs they need, and its numbers beside ours.

The paper does not say which batches it attacked, nor with how many iterations. Ours are batches of one record unless
others are asked for: what is easiest to rebuild. Its numbers are of round 800.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

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
