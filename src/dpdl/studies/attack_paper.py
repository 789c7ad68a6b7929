"""The paper's attacks, made again: train what it attacked, attack it, and compare."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

from dpdl.attacks.paper import OWN_BATCH, PAPER, SCENARIOS, PaperAttack
from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.folder import names
from dpdl.folder.attack_facts import AttackFacts
from dpdl.folder.lock import refuse_difference
from dpdl.folder.run_folder import RunFolder
from dpdl.paper.cells import AttackedPlace
from dpdl.planning.plan import plan
from dpdl.studies.attack import ALL, AttackRequest, attack_facts, sizes_of
from dpdl.studies.attack_watch import AttackWatch
from dpdl.training.recording import RecordingRequest, recording_request_in
from dpdl.training.train import launch, replan

AGENTS = "0,1,2,3,4,5,6,7,8,9"
"""Whose records are rebuilt unless others are named: the first ten, in every graph."""
BATCH = "1"


def folder_of(place: AttackedPlace, seed: int) -> str:
    """The name of the folder for the runs of the paper's attack."""
    return f"{names.ATTACK}-{place.name}-seed{seed}"


def attack_paper(
    place: AttackedPlace,
    folder: Path,
    request: AttackRequest,
    watch: AttackWatch,
    paper: PaperAttack = PAPER,
) -> AttackFacts:
    """Attack, in `folder`, what the paper attacked; what is there already is not done again."""
    batch = request.batch or BATCH
    runs = _train(place, folder, batch, request, watch, paper)
    wanted = replace(
        request,
        scenario=request.scenario or SCENARIOS,
        batch=batch,
        whose=AGENTS if request.whose == ALL else request.whose,
    )
    facts = attack_facts(runs, folder, wanted, watch)
    beside = replace(facts, paper=tuple(paper.compared(facts.rows, place)))
    beside.write(folder)
    return beside


def _train(
    place: AttackedPlace,
    folder: Path,
    batch: str,
    request: AttackRequest,
    watch: AttackWatch,
    paper: PaperAttack,
) -> list[Path]:
    """The runs of the paper's attack, as far as they are not there yet."""
    sizes = [size for size in sizes_of(batch, OWN_BATCH) if size is not None]
    found = []
    for name, e in paper.experiments(place, request.effort.seed).items():
        record = paper.recording_request(e, sizes)
        _train_one(e, record, folder / name, watch, request.stop)
        found.append(folder / name)
    return found


def _train_one(
    e: Experiment,
    record: RecordingRequest,
    path: Path,
    watch: AttackWatch,
    stop: threading.Event | None,
) -> None:
    folder = RunFolder(path)
    again = folder.started
    if again:
        _refuse_other(e, record, folder)
    if folder.finished:
        return
    shown = watch.shown
    p = replan(path, progress=shown) if again else plan(e, progress=shown)
    with watch.training(p) as heard:
        launch(
            p,
            out=path,
            placement="alone",
            watch=heard,
            again=again,
            record=record,
            stop=stop,
        )


def _refuse_other(e: Experiment, record: RecordingRequest, folder: RunFolder) -> None:
    """Refuse a folder whose run is another one, or recorded less."""
    refuse_difference(
        folder.path, folder.experiment().as_dict(), e.resolved().as_dict()
    )
    recorded = recording_request_in(folder.path)
    missing = set(record.batches) - set(recorded.batches if recorded else ())
    if missing:
        sizes = ", ".join(map(str, sorted(missing)))
        raise InputError(
            f"Run {str(folder.path)!r} did not record batches of {sizes}; choose "
            "another --out."
        )
