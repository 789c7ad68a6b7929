"""The two functions people call: `train` and `resume`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.folder.run_folder import RunFolder
from dpdl.objects import place_of
from dpdl.planning.given import GivenGraph, GivenModel, Objects
from dpdl.planning.plan import Plan, plan
from dpdl.privacy.declared import EXACT
from dpdl.tasks.data import Dataset
from dpdl.tasks.data.site_records import Owner
from dpdl.tasks.losses import Loss
from dpdl.tasks.scores import RecordScore, Score
from dpdl.training.extend import extended, pinned
from dpdl.training.launch import launch, run_facts
from dpdl.training.loop import Watch
from dpdl.training.placement import Placement
from dpdl.training.progress import progress_of, shows
from dpdl.training.recording_request import RecordingRequest
from dpdl.training.result import Paused, Result
from dpdl.training.stopping import called, together


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
    ledger: Path | str | None = None,
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
    with True everywhere, with False never. `ledger` is that of the data: all runs on them share its
    budget.
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
            out=place_of("out", out) if out else None,
            placement=placement,
            watch=together(*called(watch, callbacks), shown),
            record=record,
            ledger=place_of("ledger", ledger) if ledger else None,
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
    ledger: Path | str | None = None,
) -> Result:
    """Continue an interrupted run from its last checkpoint, as if it had never stopped.

    Give the same objects that were given to `train`, if any. With `rounds`, a run that has ended or
    will is extended to so many, with the noise it has; `dpdl.training.extend.price` says what that
    costs. `ledger` is for a ledger that was moved: a run knows the one it pays into.
    """
    place = place_of("run_dir", run_dir)
    p = replan(
        place,
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
            out=place,
            again=True,
            placement=placement,
            watch=together(*called(watch, callbacks), shown),
            ledger=place_of("ledger", ledger) if ledger else None,
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
    planned = run_facts(p)
    for name in ("data_sha256", "graph_sha256", "model_shapes"):
        before, now = getattr(facts, name), getattr(planned, name)
        if before != now:
            raise InputError(
                f"Run {str(run_dir)!r} was started with another {name}: {before}, not "
                f"{now}."
            )
    return p


def _here(result: Result | Paused | None) -> Result:
    if not isinstance(result, Result):
        raise InputError(
            "Placement 'gloo' is for the command line: torchrun -m dpdl run ... --placement gloo."
        )
    return result
