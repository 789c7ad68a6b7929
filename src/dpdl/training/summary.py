"""The result of a run and what it gave away, from the plan and the last evaluated round."""

from __future__ import annotations

import platform
from dataclasses import replace

import numpy as np
import torch

from dpdl import __version__
from dpdl.folder.metrics import Metrics
from dpdl.folder.summary import DeclaredRecords, Summary
from dpdl.planning.plan import Plan


def summarise(
    plan: Plan,
    last: Metrics,
    charged: int,
    run_dir: str | None,
    ledger_head: str | None = None,
    ended: str | None = None,
) -> Summary:
    """The summary of a run of which `charged` rounds count for privacy.

    `ended` says why a rule or a callback ended it early.
    """
    e, stated, declared = plan.experiment, plan.stated, plan.privacy.records
    return Summary(
        algorithm=e.algorithm,
        dataset=e.dataset,
        model=e.model,
        graph=e.graph,
        agents=len(plan.graph),
        rounds=last.round,
        seed=e.seed,
        parameters=plan.task.size,
        sigma=plan.privacy.sigma,
        delta=e.delta,
        score=replace(last.score, agents=None),
        train_loss=last.train_loss.mean,
        consensus_distance=last.consensus_distance,
        epsilon=stated.epsilons(charged),
        epsilon_note=stated.note(),
        privacy_statement=stated.prose(charged, early=ended is not None),
        bytes_sent=last.bytes_sent,
        broken_gradients=last.broken_gradients,
        records=DeclaredRecords(min(declared), max(declared)),
        seconds=last.seconds,
        gradient_path="fused" if plan.task.fused else "plain",
        run_dir=run_dir,
        versions=_versions(),
        ledger_head=ledger_head,
        ended_early=_sentence(plan, last, ended),
    )


def _sentence(plan: Plan, last: Metrics, ended: str | None) -> str | None:
    if ended is None:
        return None
    return f"Ended after round {last.round} of {plan.experiment.rounds}: {ended}."


def _versions() -> dict[str, str]:
    return {
        "dpdl": __version__,
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "numpy": np.__version__,
    }
