"""The two functions people call: `train` and `resume`."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from dpdl.errors import InputError, PrivacyRefused
from dpdl.graph import Graph
from dpdl.parallel import one_thread_per_operation
from dpdl.privacy.declared import EXACT
from dpdl.run import brief
from dpdl.run.checkpoint import Checkpoint
from dpdl.run.control import Control
from dpdl.run.experiment import Experiment
from dpdl.run.extend import extended, pinned
from dpdl.run.interrupt import interruptible
from dpdl.run.ledger import LEDGER, going_on
from dpdl.run.loop import Job, Loop, Place, Watch
from dpdl.run.meeting import chosen_folder, meet
from dpdl.run.placement import place
from dpdl.run.plan import Plan, plan
from dpdl.run.record import Wish, check, wish_in
from dpdl.run.states import States
from dpdl.run.store import RunFolder
from dpdl.run.summary import summarise
from dpdl.run.view import records_stay
from dpdl.tasks.data import Dataset
from dpdl.transport import Transport


@dataclass(frozen=True)
class Result:
    """What a finished run gives back."""

    summary: dict[str, Any]
    metrics: list[dict[str, Any]]
    models: Tensor  # (N, D), one row per agent
    plan: Plan
    timing: dict[str, float]  # seconds of this process, and of its evaluations
    stopped: str | None = None  # why the run ended early: an agent's budget was spent

    def __repr__(self) -> str:
        return brief.of_result(self)

    def module(self, agent: int | None = None) -> nn.Module:
        """The trained module of an agent, or the average of all."""
        row = self.models.mean(dim=0) if agent is None else self.models[agent]
        return self.plan.task.module(row)


def train(
    experiment: Experiment,
    *,
    data: Dataset | None = None,
    model: nn.Module | None = None,
    graph: Graph | None = None,
    out: Path | str | None = None,
    placement: str = "alone",
    watch: Watch | None = None,
    record: Wish | None = None,
) -> Result:
    """Train, with the experiment's names or with your own data, module and graph in their place.

    With `out`, a run folder is written there. `placement` is `alone` or `threads:K`; several processes are started
    by `torchrun -m dpdl run ... --placement gloo`. `record` writes what leaves in some rounds into the run folder, for
    attacks.
    """
    p = plan(experiment, data=data, model=model, graph=graph)
    return _here(launch(p, out=Path(out) if out else None, placement=placement, watch=watch, record=record))


def resume(
    run_dir: Path | str,
    *,
    data: Dataset | None = None,
    model: nn.Module | None = None,
    graph: Graph | None = None,
    placement: str = "alone",
    watch: Watch | None = None,
    rounds: int | None = None,
) -> Result:
    """Continue an interrupted run from its last checkpoint, as if it had never stopped.

    Give the same data, module and graph objects that were given to `train`, if any. With `rounds`, a run that has ended
    or will is extended to so many, with the noise it has; `dpdl.run.extend.price` says what that costs.
    """
    p = replan(Path(run_dir), data=data, model=model, graph=graph, rounds=rounds)
    return _here(launch(p, out=Path(run_dir), again=True, placement=placement, watch=watch))


def replan(
    run_dir: Path,
    *,
    data: Dataset | None = None,
    model: nn.Module | None = None,
    graph: Graph | None = None,
    progress: bool = False,
    rounds: int | None = None,
) -> Plan:
    """The plan of an existing run, or of one with more rounds; other data than it was started with are refused."""
    experiment, facts = RunFolder(run_dir).read()
    if "records" not in facts["experiment"]:  # an older version, in which all numbers of records were public
        experiment = replace(experiment, records=EXACT)
    experiment = pinned(run_dir, experiment, facts) if rounds is None else extended(run_dir, experiment, rounds)
    p = plan(experiment, data=data, model=model, graph=graph, progress=progress)
    for name, value in _facts(p).items():
        if facts.get(name) != value:
            raise InputError(f"Run {str(run_dir)!r} was started with another {name}: {facts.get(name)}, not {value}.")
    return p


def launch(
    p: Plan,
    *,
    out: Path | None,
    placement: str,
    watch: Watch | None,
    again: bool = False,
    record: Wish | None = None,
) -> Result | None:
    """Run a plan on a placement; the result on process 0, None elsewhere.

    `again` continues what is in `out`, its recording too.
    """
    if again and out:
        record = wish_in(out)
        going_on(out / LEDGER, p)  # refuses another mechanism before anything is touched
    if record:
        check(record, p)
    results: list[Result] = []

    def work(transport: Transport) -> None:
        start = meet(transport, p, out if again else None)
        if out is None:
            result = _run(job, Place(transport, None, None, start))
        elif transport.rank:
            result = _run_elsewhere(job, transport, chosen_folder(transport, p, out, again), start)
        else:
            chosen_folder(transport, p, out, again)
            folder = RunFolder(out) if again else RunFolder.create(out, _facts(p), p.experiment)
            with folder.writing():
                folder.amend(p.experiment)
                folder.forget_after(start.round if start else 0)
                Control(transport).share(0)  # the folder is there
                result = _run(job, Place(transport, folder, States(out), start))
        if result:
            results.append(result)

    with one_thread_per_operation(), interruptible() as stop:
        job = Job(p, watch or (lambda t, metrics: None), stop, record)
        place(placement, work)
    return results[0] if results else None


def _run_elsewhere(job: Job, transport: Transport, home: Path, start: Checkpoint | None) -> Result | None:
    """Any process but 0; it writes nothing, unless it has to keep the state of its agents itself."""
    Control(transport).share(0)  # process 0 has made the folder
    if not records_stay(transport, job.plan.grad.randomness.repeatable):
        return _run(job, Place(transport, None, None, start))
    folder = RunFolder(home)
    if not folder.exists():  # on a disk of its own
        RunFolder.create(home, _facts(job.plan), job.plan.experiment)
    with folder.advising():
        folder.amend(job.plan.experiment)
        return _run(job, Place(transport, None, States(home), start))


def _run(job: Job, here: Place) -> Result | None:
    loop, folder = Loop(job, here), here.folder
    models = loop.run()
    if models is None:
        return None
    if not loop.metrics:
        raise PrivacyRefused(_spent(job.plan, 0))
    summary = summarise(job.plan, loop.metrics[-1], loop.billed, str(folder.path) if folder else None)
    summary["ledger_head"] = loop.ledger_head
    timing = loop.timing()
    if folder:
        folder.finish(summary, timing)
    stopped = _spent(job.plan, loop.end) if loop.end < job.plan.experiment.rounds else None
    return Result(summary, loop.metrics, models, job.plan, timing, stopped)


def _spent(p: Plan, end: int) -> str:
    assert p.allowance
    return (
        f"Stopped after round {end} of {p.experiment.rounds}: one more would exceed the budget of agent "
        f"{p.allowance.agent}, epsilon = {p.allowance.budget.epsilon:g}."
    )


def _facts(p: Plan) -> dict[str, Any]:
    """What must be the same when a run is resumed."""
    graph = hashlib.sha256(p.graph.W.tobytes()).hexdigest()
    return {"data_sha256": p.data.fingerprint(), "graph_sha256": graph, "model_shapes": p.task.shapes}


def _here(result: Result | None) -> Result:
    if result is None:
        raise InputError("Placement 'gloo' is for the command line: torchrun -m dpdl run ... --placement gloo.")
    return result
