"""What is audited: all that a game needs to know, from options or from a run folder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, final

from dpdl.errors import InputError, reason
from dpdl.experiment.experiment import Experiment
from dpdl.folder.run_folder import RunFolder
from dpdl.folder.run_graph import graph_hash
from dpdl.foreign import parse_json, read_text
from dpdl.graph import Graph, build
from dpdl.planning.build import (
    make_algorithm,
    make_privacy_model,
    make_sampling,
    make_theorem1,
    with_batch,
)
from dpdl.planning.privacy_model import PrivacyModel
from dpdl.privacy.epsilon import Epsilon
from dpdl.privacy.theorem1 import Theorem1
from dpdl.privacy.threats import Threat
from dpdl.records import Record, absent


class ProofOfRun(NamedTuple):
    """What the accountant proves of a run, all agents, and how large its models are."""

    epsilon: Epsilon
    parameters: int


@final
@dataclass(frozen=True)
class AuditSetting:
    """An experiment whose options are all set, with its graph and the records of every agent."""

    experiment: Experiment
    graph: Graph
    records: list[int]
    parameters: int | None = None  # of a model of the run; None: there is none, or old

    def privacy(self, size: int, sigma: float = 0.0) -> PrivacyModel:
        """What a run costs with models of so many parameters and this noise multiplier."""
        e = self.experiment
        algorithm = make_algorithm(e)
        return make_privacy_model(e, algorithm, self.graph, self.records, size, sigma)

    def proven_of_run(self, sigma: float, threat: Threat) -> ProofOfRun | None:
        """What is proven of the run itself, whose models are not as large as the game's."""
        if self.parameters is None:
            return None
        worst = self.privacy(self.parameters, sigma).worst(threat)
        return ProofOfRun(Epsilon(worst), self.parameters)

    @property
    def theorem1(self) -> Theorem1 | None:
        """What the paper claims; None: nothing about this algorithm."""
        return make_theorem1(self.experiment, self.privacy(1))


class GameRules(NamedTuple):
    """How the game is played."""

    parameters: int  # d, of the model
    trials: (
        int | None
    )  # runs with one record and without it; None: one run, many canaries
    crowd: str | None  # where the agent's other records pull, in trials
    confidence: float
    seed: int

    @property
    def canaries(self) -> int:
        """Records that are attacked."""
        return self.parameters if self.trials is None else 1


@final
@dataclass(frozen=True)
class RecordedMechanism(Record):
    """Of the first line of a ledger, what an audit needs."""

    records: tuple[int, ...]  # of every agent
    sigma: float
    parameters: int | None = absent()  # of a model


def setting_of_options(experiment: Experiment, records: int) -> AuditSetting:
    """The experiment itself; every agent has so many records."""
    e = experiment.resolved()
    graph = build(e.graph, e.agents, e.weights, e.seed)
    if e.rate is None and e.batch and records < e.batch:
        raise InputError(
            f"records must be at least the batch of {e.batch}, not {records}."
        )
    e = with_batch(e, make_sampling(e, [records] * len(graph)))
    return AuditSetting(e, graph, [records] * len(graph))


def setting_of_run(folder: Path, rounds: int | None) -> tuple[AuditSetting, float]:
    """The settings of a run and its sigma; all its rounds, or the first ones."""
    run = RunFolder(folder)
    experiment, facts = run.read()
    e, mechanism = experiment.resolved(), _mechanism(run.ledger_path)
    graph = build(e.graph, e.agents, e.weights, e.seed)
    if facts.graph_sha256 != graph_hash(graph):
        raise InputError(
            f"Run {str(folder)!r} has a graph of its own, which its folder does not "
            "hold."
        )
    done = _rounds(run, e.rounds)
    if rounds is not None and not 1 <= rounds <= done:
        raise InputError(
            f"rounds must be from 1 to the {done} of the run, not {rounds}."
        )
    if mechanism.sigma <= 0:
        raise InputError(
            f"Run {str(folder)!r} adds no noise: every epsilon is refuted, and nothing "
            "is to be audited."
        )
    played = replace(e, rounds=rounds or done)
    records, size = list(mechanism.records), mechanism.parameters
    return AuditSetting(played, graph, records, size), mechanism.sigma


def _rounds(run: RunFolder, planned: int) -> int:
    """How many rounds a run has played; one that has not ended is taken as planned.

    A budget may have ended it early.
    """
    return run.summary().rounds if run.finished else planned


def _mechanism(path: Path) -> RecordedMechanism:
    """From the first line of a ledger."""
    try:
        found = parse_json(read_text(path).split("\n", 1)[0])
        if not isinstance(found, dict) or not {"records", "sigma"} <= set(found):
            raise ValueError("its first line holds no mechanism")
        return RecordedMechanism.from_json(found)
    except OSError as failure:
        raise InputError(
            f"Ledger {str(path)!r} cannot be read: {reason(failure)}."
        ) from failure
    except (ValueError, InputError) as failure:
        raise InputError(
            f"Ledger {str(path)!r} is damaged: {reason(failure)}."
        ) from failure
