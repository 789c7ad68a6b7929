"""The paper's attacks, made again: train what it attacked, attack it, and compare."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dpdl.attacks.paper import OWN_BATCH, PAPER, SCENARIOS, PaperAttack
from dpdl.folder import names
from dpdl.folder.attack_facts import AttackFacts
from dpdl.paper.cells import AttackedPlace
from dpdl.studies.attack import attack_facts
from dpdl.studies.attack_request import ALL, AttackRequest, sizes_of
from dpdl.studies.attack_watch import AttackWatch
from dpdl.studies.recorded_run import train_recorded

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
        train_recorded(
            e,
            record,
            folder / name,
            watch.training,
            progress=watch.shown,
            stop=request.stop,
        )
        found.append(folder / name)
    return found
