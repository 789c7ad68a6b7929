"""A plan is run on a placement: processes meet, a folder is made or found, the loop goes round."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from dpdl import __version__
from dpdl.errors import InputError, PrivacyRefused
from dpdl.folder.form_facts import FormFacts
from dpdl.folder.ledger import LEDGER, going_on
from dpdl.folder.metrics import Metrics
from dpdl.folder.run_facts import FORMAT, RunFacts
from dpdl.folder.run_folder import RunFolder
from dpdl.folder.run_graph import graph_hash
from dpdl.folder.states import States
from dpdl.net import Observer
from dpdl.parallel import one_thread_per_operation
from dpdl.planning.plan import Plan
from dpdl.planning.sites import named_form
from dpdl.training.class_counts import keep_class_counts
from dpdl.training.control import Control
from dpdl.training.instruments import records_stay
from dpdl.training.interrupt import interruptible
from dpdl.training.ledger_choice import account_of, refuse_site_ledgers
from dpdl.training.loop import Job, Loop, Place, Watch
from dpdl.training.meeting import Met, chosen_folder, meet
from dpdl.training.placement import Placement, placement_of
from dpdl.training.recording import check
from dpdl.training.recording_request import RecordingRequest, recording_request_in
from dpdl.training.result import Paused, Result
from dpdl.training.run_account import RunAccount
from dpdl.training.summary import summarise
from dpdl.transport import Post, Transport


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
    ledger: Path | None = None,
) -> Result | Paused | None:
    """Run a plan on a placement; the result on process 0, None elsewhere.

    `again` continues what is in `out`, its recording too. With `until` the run pauses after that
    round. When `stop` is set, by Ctrl-C too, the run saves its state after the round under way and
    raises `Interrupted`. `observers` see all that leaves agents hosted here. `ledger` is that of
    the data, which process 0 pays into; a run that goes on pays into the one it began with.
    """
    if again and out:
        record = recording_request_in(out)
        going_on(out / LEDGER, p.public)  # refuses another mechanism, before all else
    if record:
        check(record, p)
    results: list[Result | Paused] = []
    everywhere = placement_of(placement)
    with one_thread_per_operation(), interruptible(stop) as asked:
        job = Job(
            p.public, p.stated, watch or _ignore, asked, record, until, tuple(observers)
        )
        everywhere(_Launch(p, job, out, again, ledger, results.append).work)
    return results[0] if results else None


@dataclass(frozen=True)
class _Launch:
    """What every process of a placement does."""

    plan: Plan
    job: Job
    out: Path | None
    again: bool  # the run folder is there, and goes on
    ledger: Path | None
    ended: Callable[[Result | Paused], None]

    def work(self, transport: Transport) -> None:
        """From the agreement with the other processes to the result."""
        post = Post(transport)
        _check_links(self.plan, post)
        with _account(post, self.plan, self.ledger, self.out, self.again) as account:
            met = meet(post, self.plan, self.out if self.again else None)
            result = self._begun(post, met, account)
        if result:
            self.ended(result)

    def _begun(
        self, post: Post, met: Met, account: RunAccount | None
    ) -> Result | Paused | None:
        if self.out is None:
            here = Place(post, met.site, None, None, met.start, account)
            return _run(self.plan, self.job, here)
        home = chosen_folder(post, self.plan, self.out, self.again)
        if post.rank:
            return _run_elsewhere(self.plan, self.job, post, home, met)
        return self._run_in(self.out, post, met, account)

    def _run_in(
        self, out: Path, post: Post, met: Met, account: RunAccount | None
    ) -> Result | Paused | None:
        agents = list(met.site.records)
        folder = RunFolder(out) if self.again else _created(out, self.plan, agents)
        check_site_hashes(folder, self.plan, agents)
        with folder.writing():
            # Damaged metrics are refused before anything is changed.
            done = met.start.round if met.start else 0
            _check_metrics(folder, done, self.plan.experiment.rounds)
            folder.forget_after(done)
            folder.amend(self.plan.experiment)
            keep_class_counts(folder, self.plan, post)
            Control(post).share(0)  # the folder is there
            here = Place(post, met.site, folder, States(out), met.start, account)
            return _run(self.plan, self.job, here)


def _check_links(p: Plan, post: Post) -> None:
    """Refuse noise of links between processes that have no secret in common."""
    stay = records_stay(post, p.randomness.repeatable)
    if p.algorithm.link_noise(p.graph) and stay:
        raise InputError(
            f"{p.experiment.algorithm} needs secrets of pairs of agents, and the "
            "processes of this placement have none; use placement 'alone' or 'threads:K', or "
            "`dpdl peer` between organisations."
        )


def _account(
    post: Post, p: Plan, ledger: Path | None, out: Path | None, again: bool
) -> AbstractContextManager[RunAccount | None]:
    """What process 0 pays from for all, if the data have a ledger."""
    if post.rank == 0:
        return account_of(p, ledger, out, again)
    refuse_site_ledgers(p.experiment)
    return nullcontext()


def _check_metrics(folder: RunFolder, done: int, rounds: int) -> None:
    """Refuse to end a run again whose metrics are gone: no round is left to be evaluated."""
    if done >= rounds and not folder.metrics():
        raise InputError(
            f"File {str(folder.metrics_path)!r} is damaged: no evaluated round is left, "
            f"and the run has done all of its {rounds}; extend it with --rounds N."
        )


def _ignore(t: int, metrics: Metrics | None) -> None:
    """Nobody watches."""


def _created(home: Path, p: Plan, agents: Sequence[int]) -> RunFolder:
    hashes = p.source.hashes(agents)
    return RunFolder.create(home, replace(run_facts(p), site_sha256=hashes or None))


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
    done = here.start.round if here.start else 0
    with here.account.paying(done, loop.end) if here.account else nullcontext():
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
    proven = replace(p, public=replace(p.public, privacy=loop.stated.privacy))
    summary = summarise(proven, last, loop.charged, place, head, loop.ended)
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


def run_facts(p: Plan) -> RunFacts:
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
