"""From the lines of a ledger to epsilons, by the same road that a plan takes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment, from_mapping
from dpdl.folder.book import Book
from dpdl.graph import Graph
from dpdl.planning.build import make_algorithm, make_privacy_model
from dpdl.planning.privacy_model import PrivacyModel
from dpdl.privacy.accounting import Effect, Step, epsilon
from dpdl.privacy.clip import PerSample
from dpdl.privacy.mechanism import Mechanism
from dpdl.privacy.sampling import FixedSize, Poisson
from dpdl.privacy.threats import DEFAULT_THREATS, Threat, threat

BY_NAME = (
    "algorithm",
    "sampling",
    "batch",
    "clip_unit",
    "clip",
    "randomness",
    "threat",
    "relation",
    "delta",
)
"""Options that a header has beside its numbers; all others that matter are under `options`."""
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
"""Options that name what the header or `experiment.json` has exactly: sigma, the mixing matrix, a hash of the data."""


def options_of(e: Experiment) -> dict[str, Any]:
    """The options for a header's `options`."""
    others = {*BY_NAME, *NOT_IN_A_ROUND, *BY_VALUE}
    return {name: value for name, value in e.as_dict().items() if name not in others}


def weights_of(graph: Graph) -> list[list[float]]:
    """The mixing matrix as [i, j, w_ij] for i <= j with w_ij > 0."""
    i, j = np.nonzero(np.triu(graph.W))
    return [[int(a), int(b), float(graph.W[a, b])] for a, b in zip(i, j, strict=True)]


def graph_of(header: Mapping[str, Any]) -> Graph:
    """The graph that a header's weights make."""
    agents = len(header["records"])
    W = np.zeros((agents, agents))
    for i, j, w in header["weights"]:
        W[i, j] = W[j, i] = w
    return Graph(W, "ledger")


def experiment_of(header: Mapping[str, Any], rounds: int) -> Experiment:
    """The experiment that a header describes, as far as the accountant asks."""
    noise = {"sigma": header["sigma"]} if header["sigma"] else {"noise": "none"}
    named = {name: header[name] for name in BY_NAME}
    return from_mapping({**header["options"], **named, **noise, "rounds": rounds})


def model_of(header: Mapping[str, Any], rounds: int) -> PrivacyModel:
    """All that privacy depends on, from a header alone."""
    try:
        e = experiment_of(header, rounds)
        return make_privacy_model(
            e,
            make_algorithm(e),
            graph_of(header),
            header["records"],
            header["parameters"],
            float(header["sigma"]),
        )
    except (KeyError, TypeError, ValueError, IndexError) as failure:
        raise InputError(
            f"The header of the ledger is damaged: {failure}."
        ) from failure


def listeners_of(header: Mapping[str, Any]) -> list[Threat]:
    """Those against whom a run says something."""
    return list(dict.fromkeys([*DEFAULT_THREATS, threat(header["threat"])]))


def bill(book: Book) -> dict[str, float]:
    """The largest epsilon over the agents, per threat, from the ledger alone; infinity where nothing bounds it."""
    if book.rounds is None:
        return _stated(book)
    model, rounds = model_of(book.header, book.rounds), book.billed()
    return {t.key: model.worst(t, rounds) for t in listeners_of(book.header)}


def effective(model: PrivacyModel, listener: Threat) -> list[float]:
    """sigma_eff of every agent."""
    return [model.step(i, listener).sigma for i in range(len(model.graph))]


def _stated(book: Book) -> dict[str, float]:
    """Format 1 does not say which graph and options there were: its sigma_eff is believed."""
    first = book.header
    try:
        counts = [_paid(book, agent) for agent in range(len(first["records"]))]
        of_threats = {
            name: _steps(first, sigmas) for name, sigmas in first["sigma_eff"].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError) as failure:
        raise InputError(
            f"The header of the ledger is damaged: {failure}."
        ) from failure
    worst = {}
    for name, steps in of_threats.items():
        spent = [
            epsilon([pair], first["delta"], relation_of(first))
            for pair in set(zip(steps, counts, strict=True))
        ]
        worst[threat(name).key] = (
            max(spent) if all(step.sigma > 0 for step in steps) else math.inf
        )
    return worst


def _paid(book: Book, agent: int) -> int:
    return sum(entry.agents is None or agent in entry.agents for entry in book.entries)


def _steps(first: Mapping[str, Any], sigmas: Sequence[float]) -> list[Step]:
    mechanism = mechanism_of(first)
    return [mechanism.step(i, Effect(sigma)) for i, sigma in enumerate(sigmas)]


def relation_of(header: Mapping[str, Any]) -> str:
    """What a header was accounted for under; old ones do not say it of fixed-size batches."""
    fixed = header["sampling"] == "fixed"
    return "replace-one" if fixed else str(header["relation"])


def mechanism_of(header: Mapping[str, Any]) -> Mechanism:
    """The mechanism of a header whose sigma_eff is believed: only its sampling matters."""
    kind = FixedSize if header["sampling"] == "fixed" else Poisson
    sampling = kind(header["batch"], tuple(header["records"]))
    return Mechanism(PerSample(1.0), sampling, 1.0)
