"""From an experiment and the cards of its members to a manifest and the initial model.

Whoever proposes a run computes W, sigma and every member's epsilon, all from public facts: the
experiment, and what the cards declare. No record is read. The members recompute what concerns them.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dpdl import graph as graphs
from dpdl.errors import InputError, PrivacyRefused, reason
from dpdl.foreign import read_bytes
from dpdl.graph import Graph
from dpdl.peer.agreed_options import (
    GIVEN,
    check_algorithm,
    is_named,
    options_table,
)
from dpdl.peer.manifest import (
    DataForm,
    Member,
    ModelFacts,
    Rules,
    Terms,
    Weight,
    manifest_text,
)
from dpdl.peer.proposed_experiment import proposed_experiment
from dpdl.planning.build import make_algorithm, make_privacy_model, make_theorem1
from dpdl.planning.noise_rule import sigma_by_rule
from dpdl.planning.plan import make_task
from dpdl.planning.sites import Sites, form_at_sites
from dpdl.privacy.threats import threat
from dpdl.tasks import models
from dpdl.tasks.data.site_records import public_test

if TYPE_CHECKING:
    from torch import nn

    from dpdl.experiment.experiment import Experiment
    from dpdl.peer.card import Card, Offer
    from dpdl.planning.privacy_model import PrivacyModel
    from dpdl.tasks.task import Task


class Proposal(NamedTuple):
    """The two files of a proposal: `manifest.toml` and `initial.safetensors`."""

    manifest: bytes
    initial: bytes


def propose(
    experiment: Experiment,
    cards: Sequence[Card],
    data_names: Sequence[str],
    rules: Rules,
    initial: nn.Module | None = None,
    test: Path | None = None,
) -> Proposal:
    """The proposal of a run between these sites, in this order, each with one of its data sets.

    `initial` is a model to start from, of the architecture that the experiment names; `test` is a
    public test set. What peers cannot run is refused: an `InputError`, or `PrivacyRefused` where
    nothing would be proven.
    """
    offers = [card.offer(name) for card, name in zip(cards, data_names, strict=True)]
    members = [_member(card, offer) for card, offer in zip(cards, offers, strict=True)]
    e = proposed_experiment(experiment, cards, offers)
    graph = graphs.build(e.graph, e.agents, e.weights, e.seed)
    algorithm = make_algorithm(e)
    check_algorithm(e.algorithm, algorithm, graph)
    task = _task(e, initial)
    declared = [member.records for member in members]
    privacy = make_privacy_model(e, algorithm, graph, declared, task.size)
    privacy = _with_noise(e, privacy, task.initial.itemsize)
    terms = Terms(privacy.sigma, e.delta, e.threat, e.relation, _epsilons(e, privacy))
    content = initial_bytes(task)
    facts = ModelFacts(hashlib.sha256(content).hexdigest(), _shapes(task))
    public = _test_hash(e, test or (Path(experiment.test) if experiment.test else None))
    form = DataForm(offers[0].shape, offers[0].predict, offers[0].scaling, public)
    agreed = options_table(e if is_named(e.graph) else replace(e, graph=GIVEN))
    text = manifest_text(agreed, members, weights_of(graph), terms, facts, form, rules)
    return Proposal(text, content)


def weights_of(graph: Graph) -> list[Weight]:
    """W as a manifest has it: (i, j, w_ij) with i <= j and w_ij > 0."""
    pairs = [(i, j) for i in range(len(graph)) for j in range(i, len(graph))]
    return [(i, j, float(graph.W[i, j])) for i, j in pairs if graph.W[i, j] > 0]


def initial_bytes(task: Task) -> bytes:
    """The initial model: the trainable parameters by name, as safetensors."""
    from safetensors.torch import save

    parameters = task.parameters(task.initial).items()
    return save({name: one.contiguous() for name, one in parameters})


# ------------------------------------------------------------------ parts
def _member(card: Card, offer: Offer) -> Member:
    return Member(
        card.name, card.key, card.agreement, offer.name, offer.records, card.url
    )


def _task(e: Experiment, initial: nn.Module | None) -> Task:
    """What is learned, from the initial model that is given or from the experiment's seed."""
    form = Sites(form_at_sites(e), (), None, e.model).seen
    assert e.model
    named = make_task(e, form, models.build(e.model, form.shape, form.outputs, e.seed))
    if initial is None:
        return named
    given = make_task(e, form, initial)
    if given.shapes != named.shapes:
        raise InputError(
            f"The initial model must have the parameters of model {e.model!r}: every member "
            "builds that one."
        )
    return given


def _shapes(task: Task) -> dict[str, tuple[int, ...]]:
    return {name: tuple(shape) for name, shape in task.shapes.items()}


def _with_noise(e: Experiment, privacy: PrivacyModel, bytes_each: int) -> PrivacyModel:
    """The noise that the experiment asks for; refused where it hides no single record."""
    if not privacy.mechanism.bounds_record:
        raise PrivacyRefused(
            f"clip_unit {e.clip_unit!r} bounds no single record, so nothing is proven of what "
            "leaves a site; take 'sample'."
        )
    sigma = sigma_by_rule(e, privacy, make_theorem1(e, privacy))
    if sigma <= 0:
        raise PrivacyRefused(
            "Without noise nothing may leave a site: take another noise rule, or a sigma."
        )
    noisy = privacy.with_noise(sigma)
    noisy.check_secure(bytes_each)
    return noisy


def _epsilons(e: Experiment, privacy: PrivacyModel) -> tuple[float, ...]:
    found = [
        privacy.epsilon(agent, threat(e.threat)) for agent in range(len(privacy.graph))
    ]
    if not all(map(math.isfinite, found)):
        why = privacy.algorithm.unproven_because or (
            f"with sigma = {privacy.sigma:.4g} nothing is proven for {e.algorithm}"
        )
        raise PrivacyRefused(
            f"No epsilon holds for agent {found.index(math.inf)} against {e.threat}: {why}."
        )
    return tuple(found)


def _test_hash(e: Experiment, test: Path | None) -> str | None:
    """SHA-256 of the public test set, if it holds records of the right form."""
    if test is None:
        return None
    try:
        content = read_bytes(test)
    except (OSError, ValueError) as failure:
        raise InputError(
            f"Test set {str(test)!r} cannot be read: {reason(failure)}."
        ) from failure
    form = form_at_sites(e)
    x, _ = public_test(str(test), type(form.targets))
    if tuple(x.shape[1:]) != form.shape or x.dtype != form.dtype:
        raise InputError(
            f"A record of the test set {str(test)!r} is {tuple(x.shape[1:])} {x.dtype}, but those "
            f"of the sites are {form}."
        )
    return hashlib.sha256(content).hexdigest()
