"""From the lines of a ledger to epsilons, in the same way as a plan computes them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment, from_mapping
from dpdl.folder.ledger_content import LedgerContent
from dpdl.folder.ledger_lines import OPTIONS, Header
from dpdl.graph import Graph
from dpdl.planning.build import make_algorithm, make_privacy_model
from dpdl.planning.privacy_model import PrivacyModel
from dpdl.privacy.accounting import Effect, Step, epsilon
from dpdl.privacy.clip import PerSample
from dpdl.privacy.mechanism import Mechanism
from dpdl.privacy.sampling import FixedSize, Poisson
from dpdl.privacy.threats import DEFAULT_THREATS, Threat, threat
from dpdl.records import JsonObject

NOT_IN_A_ROUND = (
    "rounds",
    "average",
    "eval_every",
    "checkpoint_every",
    "epsilon",
    "noise",
    "budget",
    "c2",
    "h",
)
"""Options that change nothing of what leaves in a round."""
BY_VALUE = ("sigma", "dataset", "graph", "agents", "weights")
"""Options whose values are elsewhere: sigma and the mixing matrix in the header, and a hash of the
data in `experiment.json`."""


def options_of(e: Experiment) -> JsonObject:
    """The options for a header's `options`."""
    others = {*OPTIONS, *NOT_IN_A_ROUND, *BY_VALUE}
    return {name: value for name, value in e.to_json().items() if name not in others}


def weights_of(graph: Graph) -> tuple[tuple[int, int, float], ...]:
    """The mixing matrix as (i, j, w_ij) for i <= j with w_ij > 0."""
    pairs = zip(*np.nonzero(np.triu(graph.W)), strict=True)
    return tuple((int(i), int(j), float(graph.W[i, j])) for i, j in pairs)


def neighbours_of(graph: Graph) -> tuple[tuple[int, ...], ...]:
    """Whom every agent exchanges messages with."""
    agents = range(len(graph))
    return tuple(tuple(int(j) for j in graph.neighbours(i) if j != i) for i in agents)


def rows_of(matrix: np.ndarray) -> tuple[tuple[float, ...], ...]:
    """The rows of a matrix."""
    return tuple(map(tuple, matrix.tolist()))


def graph_of(header: Header) -> Graph:
    """The graph that a header's weights make."""
    agents = len(header.records)
    W = np.zeros((agents, agents))
    for i, j, w in header.weights or ():
        W[i, j] = W[j, i] = w
    return Graph(W, "ledger")


def experiment_of(header: Header, rounds: int) -> Experiment:
    """The experiment that a header describes, as far as the accountant asks."""
    noise = {"sigma": header.sigma} if header.sigma else {"noise": "none"}
    named = {name: getattr(header, name) for name in OPTIONS}
    return from_mapping({**(header.options or {}), **named, **noise, "rounds": rounds})


def model_of(header: Header, rounds: int) -> PrivacyModel:
    """All that privacy depends on, from a header of format 2 alone."""
    assert header.parameters is not None
    try:
        e = experiment_of(header, rounds)
        return make_privacy_model(
            e,
            make_algorithm(e),
            graph_of(header),
            header.records,
            header.parameters,
            header.sigma,
        )
    except (TypeError, ValueError, IndexError) as failure:
        raise InputError(
            f"The header of the ledger is damaged: {failure}."
        ) from failure


def listeners_of(header: Header) -> list[Threat]:
    """Those against whom a run says something."""
    asked = threat(header.threat)
    if header.rounds is None:  # format 1 does not say which options the algorithm had
        return list(dict.fromkeys([*DEFAULT_THREATS, asked]))
    return model_of(header, header.rounds).listeners(asked)


def cost(content: LedgerContent) -> dict[str, float]:
    """The largest epsilon over the agents, per threat; infinity where nothing bounds it."""
    if content.rounds is None:
        return _by_stated_sigma(content)
    model = replace(model_of(content.header, content.rounds), centres=content.centres)
    rounds = content.charged()
    return {t.key: model.worst(t, rounds) for t in listeners_of(content.header)}


def effective(model: PrivacyModel, listener: Threat) -> list[float]:
    """sigma_eff of every agent."""
    return [model.step(i, listener).sigma for i in range(len(model.graph))]


def stated_steps(header: Header, listener: Threat) -> list[Step]:
    """One round of every agent, with the sigma_eff that a header states for a listener."""
    sigmas = header.sigma_eff[str(listener)]
    if len(sigmas) != len(header.records):
        raise InputError(
            "The header of the ledger is damaged: its lists differ in length."
        )
    agents = range(len(sigmas))
    if header.rounds is None:  # format 1 does not say what the algorithm adds to it
        mechanism = mechanism_of(header)
        return [mechanism.step(i, Effect(sigmas[i])) for i in agents]
    model = model_of(header, header.rounds)
    return [replace(model.step(i, listener), sigma=sigmas[i]) for i in agents]


def _by_stated_sigma(content: LedgerContent) -> dict[str, float]:
    """Format 1 does not say which graph and options there were: its sigma_eff is believed."""
    header = content.header
    counts = [_charged_to(content, agent) for agent in range(len(header.records))]
    worst = {}
    for listener in map(threat, header.sigma_eff):
        pairs = set(zip(stated_steps(header, listener), counts, strict=True))
        spent = [epsilon([pair], header.delta, relation_of(header)) for pair in pairs]
        proven = all(step.sigma > 0 for step, _ in pairs)
        worst[listener.key] = max(spent) if proven else math.inf
    return worst


def _charged_to(content: LedgerContent, agent: int) -> int:
    entries = content.entries
    return sum(entry.agents is None or agent in entry.agents for entry in entries)


def relation_of(header: Header) -> str:
    """The relation that a header was accounted for under.

    Old ones do not state it for batches of fixed size.
    """
    return "replace-one" if header.fixed else header.relation


def mechanism_of(header: Header) -> Mechanism:
    """The mechanism of a header whose sigma_eff is believed: only its sampling matters."""
    kind = FixedSize if header.fixed else Poisson
    return Mechanism(PerSample(1.0), kind(header.batch, header.records), 1.0)
