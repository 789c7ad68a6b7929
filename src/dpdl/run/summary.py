"""The result of a run, with an honest word on what it gives away."""

from __future__ import annotations

import math
import platform
from typing import Any

import numpy as np
import torch

from dpdl import __version__
from dpdl.privacy.relations import CHANGES
from dpdl.privacy.threats import EAVESDROPPER, USUAL, threat
from dpdl.run.plan import Plan

CLAIMED = "claimed_theorem1"
LISTENERS = {
    "eavesdropper": "an eavesdropper on all links",
    "neighbours": "curious neighbours",
    "final-model": "somebody who sees the models only",
}


def summarise(plan: Plan, last: dict[str, Any], billed: int, run_dir: str | None) -> dict[str, Any]:
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
        "sigma": plan.grad.noise_multiplier,
        "delta": e.delta,
        "accuracy": last["accuracy"],
        "train_loss": last["train_loss"]["mean"],
        "consensus_distance": last["consensus_distance"],
        "epsilon": epsilons(plan, billed),
        "epsilon_note": epsilon_note(plan),
        "privacy_statement": statement(plan, billed),
        "bytes_sent": last["bytes_sent"],
        "broken_gradients": last["broken_gradients"],
        "records": {"fewest": min(plan.question.records), "most": max(plan.question.records)},
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


def epsilon_so_far(plan: Plan, rounds: int) -> float | str:
    """What is proven against the threat that was asked for, after some rounds."""
    return _word(plan.question.worst(plan.grad.noise_multiplier, threat(plan.experiment.threat), rounds))


def epsilons(plan: Plan, rounds: int) -> dict[str, float | str | None]:
    """What Theorem 1 claims (None: it is not about the algorithm), and what is proven, for every threat model."""
    sigma = plan.grad.noise_multiplier
    listeners = dict.fromkeys([*USUAL, threat(plan.experiment.threat)])
    claimed = None
    if plan.theorem1:
        claimed = _word(plan.theorem1.epsilon(sigma) if sigma > 0 else math.inf)
    return {CLAIMED: claimed, **{t.key: _word(plan.question.worst(sigma, t, rounds)) for t in listeners}}


def _word(value: float) -> float | str:
    return value if math.isfinite(value) else "unbounded"


def epsilon_note(plan: Plan) -> str:
    """Why the proven epsilons are what they are."""
    e, q = plan.experiment, plan.question
    if plan.grad.noise_multiplier == 0:
        return "No noise is added: there is no privacy to measure."
    if not q.bounded:
        return (
            f"Clip unit {e.clip_unit!r} does not bound what a single record can do by C / B, which the noise is made "
            "for: no guarantee."
        )
    if q.unproven:
        return "Algorithm 1 has no proof for batches of fixed size: nothing is proven."
    if not math.isfinite(q.worst(plan.grad.noise_multiplier, EAVESDROPPER)):
        if e.cosine == "tensor":
            return "One cosine per tensor has no proof for Algorithm 1: nothing is proven."
        return "The noise is too small, or the model, for the bound on the un-noised self-gradient: nothing is proven."
    if q.fixed:
        return "Fixed-size batches are accounted for by Rényi DP under replacement of one record, which is loose."
    return "Epsilon is that of the agent that is worst off, by privacy-loss distributions."


def statement(plan: Plan, rounds: int) -> str:
    """Prose for a person who must decide whether this may be published."""
    e, sigma = plan.experiment, plan.grad.noise_multiplier
    if sigma == 0:
        return "No privacy: gradients are exchanged without noise."
    listener = threat(e.threat)
    proven = epsilons(plan, rounds)[listener.key]
    few, many = min(plan.question.records), max(plan.question.records)
    declared = f"{few}" if few == many else f"{few} to {many}"
    if not isinstance(proven, float):
        words = [f"Nothing is proven against {LISTENERS[listener.kind]}."]
    else:
        words = [
            f"Proven: ({proven:.4g}, {e.delta:g})-differential privacy for one record {CHANGES[e.relation]} in one "
            f"agent's data, against {LISTENERS[listener.kind]}, over {rounds} rounds ({e.sampling} sampling, every "
            f"{e.clip_unit} clipped, noise multiplier {sigma:.4g}). Public, and not protected: the number of records "
            f"that agents declare, {declared}."
        ]
    words.append(epsilon_note(plan))
    if e.delta * few > 1:
        words.append(
            f"Warning: delta = {e.delta:g} is above 1 / {few}, one over the records of an agent; a rule that publishes "
            "one random record in full would count as private."
        )
    if plan.theorem1:
        words.append(
            f"Theorem 1 of the DPDL paper (c_2 = {e.c2:g}, h = {e.h:g}) claims epsilon = "
            f"{plan.theorem1.epsilon(sigma):.4g} for this noise; that claim is not a guarantee."
        )
    if e.validation:
        words.append(f"{e.validation} validation records are taken as public: nothing protects them.")
    if e.algorithm == "dpdl":
        words.append("Algorithm 1 lets an un-noised gradient into what neighbours receive; dpdl-sound does not.")
    if plan.grad.randomness.repeatable:
        words.append("The noise is seeded and the seed is known, so this run is a simulation: it protects nobody.")
    return " ".join(words)
