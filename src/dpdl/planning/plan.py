"""From an experiment to a plan. Everything that can be wrong is found here."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Unpack, final

import numpy as np
import torch
from torch import Tensor, nn

from dpdl import graph as graphs
from dpdl.algorithms import Algorithm
from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.graph import Graph
from dpdl.planning import brief
from dpdl.planning.budget import Allowance, Budget, allowance, parse
from dpdl.planning.build import (
    make_algorithm,
    make_privacy_model,
    make_theorem1,
    with_batch,
)
from dpdl.planning.division import Division, divide, shuffled, split
from dpdl.planning.given import Objects, check_given, graph_of, module_of
from dpdl.planning.noise_rule import sigma_by_rule
from dpdl.planning.privacy_model import PrivacyModel
from dpdl.planning.public_plan import PublicPlan
from dpdl.planning.site import Site
from dpdl.planning.sites import Sites, make_sites
from dpdl.planning.statement import Stated
from dpdl.planning.status import calibrating
from dpdl.privacy.declared import check_few, declared
from dpdl.privacy.gradient import PrivateGradient
from dpdl.privacy.noise import Randomness, Reproducible, Secure
from dpdl.privacy.theorem1 import Theorem1
from dpdl.privacy.threats import threat
from dpdl.tasks import data as datasets
from dpdl.tasks import features, models
from dpdl.tasks.data import Dataset
from dpdl.tasks.data.form import Form
from dpdl.tasks.data.site_records import Owner
from dpdl.tasks.losses import Loss, loss_of
from dpdl.tasks.scores import RecordScore, Score, as_score, score_of
from dpdl.tasks.targets import predicted
from dpdl.tasks.task import Task
from dpdl.types import Batch

DTYPES = {"float32": torch.float32, "float64": torch.float64}


RecordSource = Division | Sites
"""Where the records are: in one data set that is divided, or with their owners."""


@final
@dataclass(frozen=True)
class Plan:
    """One experiment, ready to run: what is public, and where the records are."""

    public: PublicPlan
    source: RecordSource
    randomness: Randomness
    own_module: str | None = None  # the class of a module that was given as an object

    def __repr__(self) -> str:
        return brief.of_plan(self)

    # ------------------------------------------------------------------ what is public
    @property
    def experiment(self) -> Experiment:
        """All options, with nothing left open."""
        return self.public.experiment

    @property
    def graph(self) -> Graph:
        """Who talks to whom, with which weights."""
        return self.public.graph

    @property
    def task(self) -> Task:
        """What is learned."""
        return self.public.task

    @property
    def algorithm(self) -> Algorithm:
        """What is run."""
        return self.public.algorithm

    @property
    def privacy(self) -> PrivacyModel:
        """What it costs."""
        return self.public.privacy

    @property
    def theorem1(self) -> Theorem1 | None:
        """What the paper claims that it costs; None: it claims nothing."""
        return self.public.theorem1

    @property
    def allowance(self) -> Allowance | None:
        """How many rounds the budgets allow; None: there are no budgets."""
        return self.public.allowance

    @property
    def stated(self) -> Stated:
        """What a privacy statement is about."""
        simulated = self.randomness.repeatable
        return Stated(self.experiment, self.privacy, self.theorem1, simulated)

    # ------------------------------------------------------------------ what is not
    @property
    def data(self) -> Dataset:
        """The data set that was divided; refused where there is none."""
        return self._division.data

    @property
    def parts(self) -> Sequence[np.ndarray]:
        """The record numbers of every agent, in the data set that was divided."""
        return self._division.parts

    @property
    def _division(self) -> Division:
        if not isinstance(self.source, Division):
            raise InputError(
                "This needs one data set that is divided among agents; the records of this run "
                "stay at their sites."
            )
        return self.source

    def site(self, agents: Iterable[int]) -> Site:
        """What a process needs that hosts some agents."""
        here = list(agents)
        records, tests = self.source.records(here), self.source.tests(here)
        common = self.source.common_test
        return Site(self.public, records, tests, common, self.randomness)

    @cached_property
    def everybody(self) -> Site:
        """What a process needs that hosts all agents."""
        return self.site(range(len(self.graph)))

    @property
    def grad(self) -> PrivateGradient:
        """What agents answer with."""
        return self.everybody.grad

    def batches(self, agents: Tensor, t: int) -> list[Batch]:
        """The minibatches of some agents in round t."""
        return self.everybody.batches(agents, t)


def plan(
    experiment: Experiment, *, progress: bool = False, **objects: Unpack[Objects]
) -> Plan:
    """The plan of an experiment; objects given here stand in for the names in it."""
    check_given(experiment, objects)
    data, sites = objects.get("data"), objects.get("sites")
    e = with_sites(experiment, sites).resolved()
    model, graph = module_of(objects.get("model"), e), graph_of(objects.get("graph"), e)
    graph = graph or graphs.build(e.graph, e.agents, e.weights, e.seed)
    algorithm = make_algorithm(e)
    algorithm.check(graph)
    _check_centre(e, model)
    randomness = make_randomness(e, algorithm)
    budgets = None if e.budget is None else parse(e.budget, len(graph), e.delta)
    if data is None and e.sites is None:
        with calibrating(e, progress and budgets is not None):
            _refuse_without_data(e, algorithm, graph, budgets)
    source: RecordSource
    if e.sites is None:
        source = _divided(e, data, len(graph), model is None, progress)
        form, records = source.data.form, [len(part) for part in source.parts]
        said = _declared(e, algorithm, records)
    else:
        _check_sites(data, algorithm)
        sized = algorithm.disclosure.sized
        source = make_sites(e, sites or e.sites, len(graph), model is None, sized)
        form, said = source.seen, list(source.declared or ())
    task = make_task(e, form, model, objects.get("loss"), objects.get("score"))
    privacy = make_privacy_model(e, algorithm, graph, said, task.size)
    validate = _validate(e, source, task, algorithm.public_records)
    # With secure randomness rounds that a crash made a run repeat are charged again, so there may
    # be more than T of them.
    most = e.rounds if randomness.repeatable else 4 * e.rounds
    with calibrating(e, progress):
        public = make_public_plan(e, form, task, privacy, budgets, most, validate)
    public.check_noise(randomness)
    own_module = None if model is None else type(model).__qualname__
    return Plan(public, source, randomness, own_module)


def _check_centre(e: Experiment, given: nn.Module | None) -> None:
    """Refuse a centre of what is no feature."""
    if e.centre is not None and (given is not None or e.model not in models.LINEAR):
        named = " or ".join(models.LINEAR)
        raise InputError(
            f"centre 'private' is for models that are linear in fixed features: add model {named}."
        )


def with_sites(e: Experiment, sites: Sequence[Owner] | None) -> Experiment:
    """The experiment with the names of the sites that are given."""
    if sites is None:
        return e
    names = [one.name if isinstance(one, Dataset) else str(one) for one in sites]
    return replace(e, sites=tuple(names))


def _divided(
    e: Experiment, data: Dataset | None, agents: int, named_model: bool, progress: bool
) -> Division:
    data = data or datasets.load(e.dataset, progress, predicted(e.predict))
    stored = data.form
    if named_model and e.model:
        data = features.for_model(e.model, data)
    return Division(data, split(e, data, agents), stored)


def _check_sites(data: Dataset | None, algorithm: Algorithm) -> None:
    if data is not None:
        raise InputError("Give either data, which are divided, or sites, not both.")
    if algorithm.public_records:
        raise InputError(
            f"{type(algorithm).__name__} takes public records out of the data set that is divided; "
            "at sites there is none."
        )


def make_public_plan(
    e: Experiment,
    form: Form,
    task: Task,
    privacy: PrivacyModel,
    budgets: Sequence[Budget] | None,
    most_rounds: int,
    validate: Callable[[Tensor], float] | None = None,
) -> PublicPlan:
    """Everything that is public, from a privacy model that has no noise yet.

    `most_rounds` is how many rounds may be charged for.
    """
    e = with_batch(e, privacy.mechanism.sampling)
    theorem1 = make_theorem1(e, privacy)
    privacy = privacy.with_noise(sigma_by_rule(e, privacy, theorem1))
    allowed = None
    if budgets:
        allowed = allowance(privacy, threat(e.threat), budgets, most_rounds)
    return PublicPlan(e, form, task, privacy, theorem1, allowed, validate)


def make_randomness(e: Experiment, algorithm: Algorithm) -> Randomness:
    """Where batches and noise come from."""
    if e.randomness != "secure":
        return Reproducible(e.seed)
    if why := algorithm.needs_shared_seed:
        raise InputError(f"randomness 'secure' is not for {e.algorithm}: {why}.")
    return Secure()


def make_task(
    e: Experiment,
    form: Form,
    model: nn.Module | None,
    loss: Loss | None = None,
    score: Score | RecordScore | None = None,
) -> Task:
    """What is learned: the given module, loss and score, or those that the experiment names."""
    assert e.model
    dtype = DTYPES[e.dtype]
    module = model or models.build(e.model, form.shape, form.outputs, e.seed)
    loss = loss or loss_of(e.loss or form.targets.loss)
    score = as_score(score) if score else score_of(e.score or form.targets.score)
    task = Task(module, loss, dtype, score)
    two = form.inputs(torch.zeros(2, *form.shape, dtype=form.dtype), dtype)
    task.hasten(form.shape)
    task.check(two, form.targets.values(form.targets.blank(2), dtype), form.outputs)
    return task


def _refuse_without_data(
    e: Experiment,
    algorithm: Algorithm,
    graph: Graph,
    budgets: Sequence[Budget] | None,
) -> None:
    """Refuse a partition or a budget that cannot be served before any record is read.

    How many records an agent gets depends only on how many there are of every class, which is known
    of named data sets. The size of the model is not known yet; the largest one has the weakest
    condition on the noise.
    """
    counts = datasets.class_counts(e.dataset)
    if counts is None or algorithm.public_records:
        return  # which classes the public records take away is not known
    parts = divide(e, np.repeat(np.arange(len(counts)), counts), len(graph))
    said = _declared(e, algorithm, [len(part) for part in parts])
    model = make_privacy_model(e, algorithm, graph, said, sys.maxsize)
    if budgets:
        sigma = sigma_by_rule(e, model, make_theorem1(e, model))
        allowance(model.with_noise(sigma), threat(e.threat), budgets)


def _declared(e: Experiment, algorithm: Algorithm, records: list[int]) -> list[int]:
    """The public numbers of records; nothing but the draw itself may use the true ones."""
    said = declared(e.records, records)
    if algorithm.disclosure.sized:
        check_few(said, records)
    return said


def _validate(
    e: Experiment, source: RecordSource, task: Task, count: int
) -> Callable[[Tensor], float] | None:
    """The score of a row's model on the public records; None when there are none."""
    if not count or isinstance(source, Sites):
        return None
    data = source.data
    records = torch.from_numpy(np.sort(shuffled(e, len(data.y))[:count]))
    x, y = data.inputs(data.x[records], task.initial.dtype), data.y[records]
    return lambda row: task.score.total(task.outputs(row, x), y) / len(y)
