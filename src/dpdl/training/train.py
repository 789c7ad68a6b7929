"""The two functions people call: `train` and `resume`."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from torch import Tensor, nn

from dpdl import __version__
from dpdl.errors import InputError, PrivacyRefused
from dpdl.experiment.experiment import Experiment
from dpdl.folder.form_facts import FormFacts
from dpdl.folder.ledger import LEDGER, going_on
from dpdl.folder.metrics import Metrics
from dpdl.folder.run_facts import FORMAT, RunFacts
from dpdl.folder.run_folder import RunFolder
from dpdl.folder.run_graph import graph_hash
from dpdl.folder.states import States
from dpdl.folder.summary import Summary, Timing
from dpdl.net import Observer
from dpdl.parallel import one_thread_per_operation
from dpdl.planning.brief import what
from dpdl.planning.given import GivenGraph, GivenModel, Objects
from dpdl.planning.plan import Plan, plan
from dpdl.planning.sites import named_form
from dpdl.privacy.declared import EXACT
from dpdl.tasks.data import Dataset
from dpdl.tasks.data.site_records import Owner
from dpdl.tasks.losses import Loss
from dpdl.tasks.scores import RecordScore, Score
from dpdl.training import brief, card
from dpdl.training.class_counts import keep_class_counts
from dpdl.training.control import Control
from dpdl.training.extend import extended, pinned
from dpdl.training.instruments import records_stay
from dpdl.training.interrupt import interruptible
from dpdl.training.loop import Job, Loop, Place, Watch
from dpdl.training.meeting import Met, chosen_folder, meet
from dpdl.training.placement import Placement, placement_of
from dpdl.training.plot import plot
from dpdl.training.progress import progress_of, shows
from dpdl.training.recording import check
from dpdl.training.recording_request import RecordingRequest, recording_request_in
from dpdl.training.stopping import together
from dpdl.training.summary import summarise
from dpdl.transport import Post, Transport

if TYPE_CHECKING:
    from matplotlib.figure import Figure

"""Where experiment.json has the hashes of the records of the agents that were hosted there."""


@dataclass(frozen=True)
class Result:
    """What a finished run gives back."""

    summary: Summary
    metrics: list[Metrics]
    models: Tensor  # (N, D), one row per agent
    plan: Plan
    timing: Timing
    stopped: str | None = None  # why the run ended early: an agent's budget was spent

    def __repr__(self) -> str:
        return brief.of_result(self)

    def _repr_html_(self) -> str:
        return card.of_result(self)

    def plot(self) -> Figure:
        """Score, loss and epsilon over the rounds; needs matplotlib. No epsilon covers the loss."""
        return plot(self.metrics, what(self.plan, self.summary.rounds))

    def module(self, agent: int | None = None) -> nn.Module:
        """The trained module of an agent, or the average of all.

        It takes inputs as training saw them, scaled; `dpdl.load` gives one that scales them itself.
        """
        row = self.models.mean(dim=0) if agent is None else self.models[agent]
        return self.plan.task.module(row)


@dataclass(frozen=True)
class Paused:
    """What a run gives back that was asked to pause before its end; its state is saved."""

    round: int


def train(
    experiment: Experiment,
    *,
    data: Dataset | None = None,
    model: GivenModel | None = None,
    graph: GivenGraph | None = None,
    sites: Sequence[Owner] | None = None,
    loss: Loss | None = None,
    score: Score | RecordScore | None = None,
    out: Path | str | None = None,
    placement: str | Placement = "alone",
    watch: Watch | None = None,
    callbacks: Sequence[Watch] = (),
    record: RecordingRequest | None = None,
    progress: bool | None = None,
) -> Result:
    """Train, with the experiment's names or with your own objects in their place.

    `model` is a module, or a class or a function that gives one; `graph` a `dpdl.Graph`, or an
    undirected one of networkx.
    `data` is divided among the agents; `sites` are the records of every agent instead, as files or
    data sets. `loss` takes outputs and targets of a batch and returns their mean loss; `score` one
    number per record. With `out`, a run folder is written there. `placement` is `alone` or
    `threads:K`; several processes are started by `torchrun -m dpdl run ... --placement gloo`.
    `watch` and `callbacks` are called after every round with its number and, when it was evaluated,
    its metrics; one that raises `dpdl.Stop` ends the run after that round.
    `record` writes what leaves in some rounds into the run folder, for attacks. `progress` shows on
    standard error how far the run is: by default where that is a terminal or this is a notebook,
    with True everywhere, with False never.
    """
    p = plan(
        experiment,
        progress=shows(progress),
        data=data,
        model=model,
        graph=graph,
        sites=sites,
        loss=loss,
        score=score,
    )
    with progress_of(p, progress) as shown:
        result = launch(
            p,
            out=Path(out) if out else None,
            placement=placement,
            watch=together(*([watch] if watch else []), *callbacks, shown),
            record=record,
        )
    return _here(result)


def resume(
    run_dir: Path | str,
    *,
    data: Dataset | None = None,
    model: GivenModel | None = None,
    graph: GivenGraph | None = None,
    sites: Sequence[Owner] | None = None,
    loss: Loss | None = None,
    score: Score | RecordScore | None = None,
    placement: str | Placement = "alone",
    watch: Watch | None = None,
    callbacks: Sequence[Watch] = (),
    rounds: int | None = None,
    progress: bool | None = None,
) -> Result:
    """Continue an interrupted run from its last checkpoint, as if it had never stopped.

    Give the same objects that were given to `train`, if any. With `rounds`, a run that has ended or
    will is extended to so many, with the noise it has; `dpdl.training.extend.price` says what that
    costs.
    """
    p = replan(
        Path(run_dir),
        progress=shows(progress),
        data=data,
        model=model,
        graph=graph,
        sites=sites,
        loss=loss,
        score=score,
        rounds=rounds,
    )
    with progress_of(p, progress) as shown:
        result = launch(
            p,
            out=Path(run_dir),
            again=True,
            placement=placement,
            watch=together(*([watch] if watch else []), *callbacks, shown),
        )
    return _here(result)


def replan(
    run_dir: Path,
    *,
    progress: bool = False,
    rounds: int | None = None,
    **objects: Unpack[Objects],
) -> Plan:
    """The plan of an existing run, or of one with more rounds.

    Other data than it was started with are refused.
    """
    experiment, facts = RunFolder(run_dir).read()
    if "records" not in facts.experiment:
        # An older version, in which all numbers of records were public.
        experiment = replace(experiment, records=EXACT)
    experiment = (
        pinned(run_dir, experiment, facts)
        if rounds is None
        else extended(run_dir, experiment, rounds)
    )
    p = plan(experiment, progress=progress, **objects)
    planned = _facts(p)
    for name in ("data_sha256", "graph_sha256", "model_shapes"):
        before, now = getattr(facts, name), getattr(planned, name)
        if before != now:
            raise InputError(
                f"Run {str(run_dir)!r} was started with another {name}: {before}, not "
                f"{now}."
            )
    return p


def launch(
    p: Plan,
    *,
    out: Path | None,
    placement: str | Placement,
    watch: Watch | None,
    again: bool = False,
    record: RecordingRequest | None = None,
    until: int | None = None,
    stop: threading.Event | None = None,
    observers: Sequence[Observer] = (),
) -> Result | Paused | None:
    """Run a plan on a placement; the result on process 0, None elsewhere.

    `again` continues what is in `out`, its recording too. With `until` the run pauses after that
    round. When `stop` is set, by Ctrl-C too, the run saves its state after the round under way and
    raises `Interrupted`. `observers` see all that leaves agents hosted here.
    """
    if again and out:
        record = recording_request_in(out)
        going_on(out / LEDGER, p.public)  # refuses another mechanism, before all else
    if record:
        check(record, p)
    results: list[Result | Paused] = []
    everywhere = placement_of(placement)

    def work(transport: Transport) -> None:
        post = Post(transport)
        met = meet(post, p, out if again else None)
        agents = list(met.site.records)
        if out is None:
            result = _run(p, job, Place(post, met.site, None, None, met.start))
        elif post.rank:
            home = chosen_folder(post, p, out, again)
            result = _run_elsewhere(p, job, post, home, met)
        else:
            chosen_folder(post, p, out, again)
            folder = RunFolder(out) if again else _created(out, p, agents)
            check_site_hashes(folder, p, agents)
            with folder.writing():
                # It refuses damaged metrics: before anything is changed.
                folder.forget_after(met.start.round if met.start else 0)
                folder.amend(p.experiment)
                keep_class_counts(folder, p, post)
                Control(post).share(0)  # the folder is there
                here = Place(post, met.site, folder, States(out), met.start)
                result = _run(p, job, here)
        if result:
            results.append(result)

    with one_thread_per_operation(), interruptible(stop) as asked:
        job = Job(
            p.public, p.stated, watch or _ignore, asked, record, until, tuple(observers)
        )
        everywhere(work)
    return results[0] if results else None


def _ignore(t: int, metrics: Metrics | None) -> None:
    """Nobody watches."""


def _created(home: Path, p: Plan, agents: Sequence[int]) -> RunFolder:
    hashes = p.source.hashes(agents)
    return RunFolder.create(home, replace(_facts(p), site_sha256=hashes or None))


def check_site_hashes(folder: RunFolder, p: Plan, agents: Sequence[int]) -> None:
    """Refuse other records at the sites hosted here than the run was started with."""
    _, facts = folder.read()
    before = facts.site_sha256 or {}
    for agent, found in p.source.hashes(agents).items():
        if before.get(agent, found) != found:
            raise InputError(
                f"Run {str(folder.path)!r} was started with other records of agent {agent}."
            )


def _run_elsewhere(
    p: Plan, job: Job, post: Post, home: Path, met: Met
) -> Result | Paused | None:
    """Any process but 0; it writes nothing, unless it has to keep its agents' state itself."""
    Control(post).share(0)  # process 0 has made the folder
    if not records_stay(post, p.randomness.repeatable):
        return _run(p, job, Place(post, met.site, None, None, met.start))
    folder = RunFolder(home)
    agents = list(met.site.records)
    if not folder.started:  # on a disk of its own
        _created(home, p, agents)
    check_site_hashes(folder, p, agents)
    with folder.advising():
        folder.amend(p.experiment)
        here = Place(post, met.site, None, States(home), met.start)
        return _run(p, job, here)


def _run(p: Plan, job: Job, here: Place) -> Result | Paused | None:
    loop, folder = Loop(job, here), here.folder
    models = loop.run(job.until)
    if models is None:
        return None
    if loop.paused_after is not None:
        return Paused(loop.paused_after)
    if not loop.metrics:
        raise PrivacyRefused(_spent(p, 0))
    place = str(folder.path) if folder else None
    last, timing = loop.metrics[-1], loop.timing()
    head = loop.ledger_head
    summary = summarise(p, last, loop.charged, place, head, loop.ended)
    if folder:
        folder.finish(summary, timing)
    spent = loop.end < p.experiment.rounds and loop.ended is None
    stopped = _spent(p, loop.end) if spent else None
    return Result(summary, loop.metrics, models, p, timing, stopped)


def _spent(p: Plan, end: int) -> str:
    assert p.allowance
    return (
        f"Stopped after round {end} of {p.experiment.rounds}: one more would exceed the budget "
        f"of agent {p.allowance.agent}, epsilon = {p.allowance.budget.epsilon:g}."
    )


def _facts(p: Plan) -> RunFacts:
    """What is written when a run starts, and compared when it is resumed."""
    form = None if p.source.form == named_form(p.experiment) else p.source.form
    return RunFacts(
        format=FORMAT,
        version=__version__,
        data_sha256=p.source.fingerprint,
        graph_sha256=graph_hash(p.graph),
        model_shapes={name: tuple(of) for name, of in p.task.shapes.items()},
        form=form and FormFacts.of(form),
        own_module=p.own_module,
        experiment=p.experiment.to_json(),
    )


def _here(result: Result | Paused | None) -> Result:
    if not isinstance(result, Result):
        raise InputError(
            "Placement 'gloo' is for the command line: torchrun -m dpdl run ... --placement gloo."
        )
    return result
