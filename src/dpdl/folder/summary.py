"""The result of a run: `summary.json`, which is also what `dpdl run --json` prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from dpdl.folder.scored import AgentScores, AsInFile, Scored
from dpdl.privacy.epsilons import Epsilons
from dpdl.records import Record, absent


@final
@dataclass(frozen=True)
class DeclaredRecords(Record):
    """How many records the agents declare to have."""

    fewest: int
    most: int


@final
@dataclass(frozen=True, kw_only=True)
class Summary(Scored):
    """The end of a run, and what it gave away.

    `summary["accuracy"]["mean"]` gives what the file has; inside the program use the fields. Older
    versions did not write the fields that have a default.
    """

    algorithm: str
    dataset: str
    model: str | None = None
    graph: str
    agents: int
    rounds: int
    seed: int
    parameters: int  # of the model
    sigma: float  # the noise multiplier of one answer
    delta: float
    score: AgentScores  # in JSON under its name, such as `accuracy`
    train_loss: float | None = None  # mean over agents; None: nobody may know it
    consensus_distance: float
    epsilon: Epsilons
    epsilon_note: str = ""  # why the proven epsilons are what they are
    privacy_statement: str
    bytes_sent: int
    broken_gradients: int | None = None
    records: DeclaredRecords | None = None
    seconds: float
    gradient_path: str | None = None  # `fused` or `plain`
    run_dir: str | None = None
    versions: Mapping[str, str]
    ledger_head: str | None = None  # hash of the ledger's last line
    ended_early: str | None = absent()  # why, if a rule or a callback ended the run


@final
@dataclass(frozen=True)
class Timing(AsInFile):
    """Where the time of the process that ended a run went: `timing.json`."""

    seconds: float
    evaluation: float  # seconds of them that went into evaluation
