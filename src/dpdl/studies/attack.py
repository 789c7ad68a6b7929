"""What `dpdl attack` does to recorded runs: rebuild, score, draw, and keep the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dpdl.attacks import harness
from dpdl.attacks.galleries import by_agent, by_round
from dpdl.attacks.recorded import Recording
from dpdl.attacks.scenarios import AttackCase, offered
from dpdl.attacks.scoring import Attacked
from dpdl.attacks.workers import Workers
from dpdl.folder import names
from dpdl.folder.attack_facts import AttackFacts
from dpdl.folder.run_folder import RunFolder
from dpdl.pages.gallery import draw_gallery
from dpdl.parallel import cores
from dpdl.studies.attack_request import ALL, OWN, AttackRequest, sizes_of
from dpdl.studies.attack_watch import AttackWatch
from dpdl.studies.infer_membership import infer_membership
from dpdl.training.recording_request import numbers_of


def attack_runs(
    runs: Sequence[Path], request: AttackRequest, watch: AttackWatch
) -> AttackFacts:
    """Attack recorded runs; the result and the pictures are kept in the folder of the first."""
    folder = RunFolder(runs[0]).attack
    facts = attack_facts(runs, folder, request, watch)
    facts.write(folder)
    return facts


def attack_facts(
    runs: Sequence[Path], folder: Path, request: AttackRequest, watch: AttackWatch
) -> AttackFacts:
    """What attacks on some runs found, with pictures in `folder`."""
    attacked = _attack(runs, request, watch)
    facts = _facts(attacked, folder, request.gallery)
    if not request.membership:
        return facts
    seed = request.effort.seed
    found, curves = infer_membership(attacked, folder, request.agents, seed, watch)
    return replace(facts, membership=found, roc=str(curves))


def _attack(
    runs: Sequence[Path], request: AttackRequest, watch: AttackWatch
) -> list[Attacked]:
    chosen, found = request.agents, []
    with Workers(request.jobs or cores(), request.stop) as workers:
        for run in runs:
            cases = _cases(Recording(RunFolder(run).recording), request)
            with watch.attacking(len(cases)) as begin:
                rebuilt, plan = harness.reconstruct(
                    run, cases, request.effort, chosen, workers=workers, watch=begin
                )
            found.append(Attacked(run, rebuilt, plan))
    return _distinct(found)


def _distinct(attacked: list[Attacked]) -> list[Attacked]:
    """Runs of one algorithm are named with their folders."""
    who = [a.who for a in attacked]
    return [
        replace(a, suffix=f" {a.run.name}") if who.count(a.who) > 1 else a
        for a in attacked
    ]


def _cases(recording: Recording, request: AttackRequest) -> list[AttackCase]:
    rounds: Sequence[int] = recording.rounds
    if request.rounds != ALL:
        rounds = numbers_of(request.rounds, "Rounds")
    sizes = request.batch or str(min(recording.batches, default=OWN))
    cases = []
    for t in rounds:
        for size in sizes_of(sizes, recording.facts.batch):
            for scenario in _scenarios(recording, request, t, size):
                cases.append(AttackCase(scenario, t, size, request.labels))
    return cases


def _scenarios(
    recording: Recording, request: AttackRequest, t: int, size: int | None
) -> list[str]:
    chosen = request.scenario or ALL
    return offered(recording, t, size) if chosen == ALL else chosen.split(",")


def _facts(attacked: list[Attacked], folder: Path, gallery: Path | None) -> AttackFacts:
    """Numbers and pictures; a page is made of what is in the folder, so it has all of them."""
    kept = folder / names.GALLERY
    chosen = gallery or kept
    for path in dict.fromkeys((kept, chosen)):
        path.parent.mkdir(parents=True, exist_ok=True)
        draw_gallery(*by_round(attacked), path)
    agents = draw_gallery(*by_agent(attacked), folder / names.GALLERY_OF_AGENTS)
    return AttackFacts(
        rows=tuple(row for a in attacked for row in a.rows()),
        trivial=tuple(attacked[0].trivial_rows()),
        epsilon={a.who: a.epsilon for a in attacked},
        gallery=str(chosen),
        by_agent=str(agents),
    )
