"""The result of a run, with an honest word on what it gives away."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np
import torch

from dpdl import __version__
from dpdl.privacy import PerSample
from dpdl.run.plan import Plan

NOT_PROVEN = "This version has no privacy accountant: nothing is proven for any threat model."


def summarise(plan: Plan, last: dict[str, Any], run_dir: str | None) -> dict[str, Any]:
    """What `summary.json` holds and `dpdl run --json` prints."""
    e = plan.experiment
    return {
        "algorithm": e.algorithm,
        "dataset": e.dataset,
        "model": e.model,
        "graph": e.graph,
        "agents": len(plan.graph),
        "rounds": e.rounds,
        "seed": e.seed,
        "parameters": plan.task.size,
        "sigma": plan.grad.noise_multiplier,
        "delta": e.delta,
        "accuracy": last["accuracy"],
        "train_loss": last["train_loss"]["mean"],
        "consensus_distance": last["consensus_distance"],
        "epsilon": epsilons(plan),
        "epsilon_note": epsilon_note(plan),
        "privacy_statement": statement(plan),
        "bytes_sent": last["bytes_sent"],
        "broken_gradients": last["broken_gradients"],
        "records": {"fewest": min(map(len, plan.parts)), "most": max(map(len, plan.parts))},
        "seconds": last["seconds"],
        "run_dir": run_dir,
        "versions": {
            "dpdl": __version__,
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numpy": np.__version__,
        },
    }


def epsilons(plan: Plan) -> dict[str, float | str | None]:
    """What Theorem 1 claims, and what is proven: nothing yet (null), or that nothing can be (unbounded)."""
    sigma = plan.grad.noise_multiplier
    bounded = sigma > 0 and isinstance(plan.grad.clip, PerSample)
    proven = None if bounded else "unbounded"
    claimed = plan.theorem1.epsilon(sigma) if sigma > 0 else "unbounded"
    return {"claimed_theorem1": claimed, "eavesdropper": proven, "neighbour": proven, "final_model": proven}


def epsilon_note(plan: Plan) -> str:
    """Why the proven epsilons are what they are."""
    if plan.grad.noise_multiplier == 0:
        return "No noise is added: there is no privacy to measure."
    if not isinstance(plan.grad.clip, PerSample):
        return (
            f"Clip unit {plan.experiment.clip_unit!r} does not bound what a single record can do by C / B, which "
            "Theorem 1 presupposes: no guarantee."
        )
    return NOT_PROVEN


def statement(plan: Plan) -> str:
    """Prose for a person who must decide whether this may be published."""
    e, sigma = plan.experiment, plan.grad.noise_multiplier
    if sigma == 0:
        return "No privacy: gradients are exchanged without noise."
    claimed = plan.theorem1.epsilon(sigma)
    words = [
        f"Theorem 1 of the DPDL paper, with c_2 = {e.c2:g} and h = {e.h:g}, claims ({claimed:.4g}, {e.delta:g})-"
        f"differential privacy for this run (noise multiplier {sigma:.4g}, {e.sampling} sampling, clip unit: "
        f"{e.clip_unit}, {e.rounds} rounds).",
        "That claim is not a guarantee: the theorem uses a sampling rate N times too small and counts one release per "
        "round where every neighbour gets one.",
    ]
    if e.algorithm == "dpdl":
        words.append("Algorithm 1 also lets an un-noised gradient into the update that neighbours receive.")
    words.append(epsilon_note(plan))
    if plan.grad.randomness.repeatable:
        words.append("The noise is seeded and the seed is known, so this run is a simulation: it protects nobody.")
    return " ".join(words)
