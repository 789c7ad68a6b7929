"""The result of a run, with an honest word on what it gives away."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np
import torch

from dpdl import __version__
from dpdl.planning.plan import Plan


def summarise(
    plan: Plan, last: dict[str, Any], billed: int, run_dir: str | None
) -> dict[str, Any]:
    """What `summary.json` holds and `dpdl run --json` prints; `billed` rounds were paid for."""
    e = plan.experiment
    return {
        "algorithm": e.algorithm,
        "dataset": e.dataset,
        "model": e.model,
        "graph": e.graph,
        "agents": len(plan.graph),
        "rounds": last["round"],
        "seed": e.seed,
        "parameters": plan.task.size,
        "sigma": plan.privacy.sigma,
        "delta": e.delta,
        "accuracy": last["accuracy"],
        "train_loss": last["train_loss"]["mean"],
        "consensus_distance": last["consensus_distance"],
        "epsilon": plan.stated.epsilons(billed),
        "epsilon_note": plan.stated.note(),
        "privacy_statement": plan.stated.prose(billed),
        "bytes_sent": last["bytes_sent"],
        "broken_gradients": last["broken_gradients"],
        "records": {
            "fewest": min(plan.privacy.records),
            "most": max(plan.privacy.records),
        },
        "seconds": last["seconds"],
        "gradient_path": "fused" if plan.task.fused else "plain",
        "run_dir": run_dir,
        "versions": {
            "dpdl": __version__,
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numpy": np.__version__,
        },
    }
