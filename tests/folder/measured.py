"""Records of runs, as other tests need them: the stored example, and lines that are made up."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpdl.folder.metrics import AgentLosses, Metrics
from dpdl.folder.scored import AgentScores
from dpdl.folder.summary import Summary
from dpdl.privacy.epsilon import Epsilon

EXAMPLES = Path(__file__).parent / "examples"
RUN = EXAMPLES / "run"
"""What dpdl 0.2.0 wrote before there were records: `dpdl run --dataset digits --model mlp --agents 3
--batch 8 --rounds 4 --sigma 1 --algorithm dpdl --eval-every 2 --out run`."""


def scores(mean: float, name: str = "accuracy") -> AgentScores:
    return AgentScores(name, mean, mean - 0.1, mean + 0.1, mean)


def metrics(
    round: int,
    mean: float = 0.5,
    loss: float | None = None,
    name: str = "accuracy",
    **diagnostics: float | None,
) -> Metrics:
    losses = (
        AgentLosses() if loss is None else AgentLosses(loss, loss - 0.1, loss + 0.2)
    )
    return Metrics(
        round=round,
        train_loss=losses,
        score=scores(mean, name),
        consensus_distance=0.25,
        diagnostics=diagnostics,
        epsilon=Epsilon(1.5),
        bytes_sent=1000 * round,
        broken_gradients=0,
        seconds=0.1 * round,
    )


def summary(**changes: Any) -> Summary:
    """The stored example with other fields."""
    content = json.loads((RUN / "summary.json").read_text())
    return replace(Summary.from_json(content), **changes)
