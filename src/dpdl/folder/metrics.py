"""What is measured in an evaluated round: one line of `metrics.jsonl`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from dpdl.errors import InputError
from dpdl.folder.scored import AgentScores, Scored
from dpdl.privacy.epsilon import Epsilon
from dpdl.records import Record, others


@final
@dataclass(frozen=True)
class AgentLosses(Record):
    """The agents' losses on their own batches, before the step; None: nobody may know them."""

    mean: float | None = None
    min: float | None = None
    max: float | None = None


@final
@dataclass(frozen=True, kw_only=True)
class Metrics(Scored):
    """One evaluated round.

    `metrics["accuracy"]["mean"]` gives what the file has; inside the program use the fields.
    """

    round: int
    train_loss: AgentLosses = AgentLosses()
    score: AgentScores  # in JSON under its name, such as `accuracy`
    consensus_distance: (
        float  # root mean square distance of the models from their average
    )
    diagnostics: Mapping[str, float | None] = (
        others()
    )  # of the algorithm, mean over agents
    epsilon: Epsilon  # proven so far against the experiment's threat
    bytes_sent: int  # by all agents so far
    broken_gradients: int | None = None  # so far; None: nobody may know it
    seconds: float  # so far

    def __post_init__(self) -> None:
        if self.round < 1:
            raise InputError(f"round must be at least 1, not {self.round}.")
