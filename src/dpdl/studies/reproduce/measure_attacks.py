"""The paper's attack tables, made again: one place after the other.

The result of a place is kept as soon as it is there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import final

from dpdl.attacks.paper import experiments, kept
from dpdl.errors import InputError, RunFailed
from dpdl.folder.attack_facts import AttackFacts
from dpdl.paper.cells import AttackedPlace, places
from dpdl.parallel import cores
from dpdl.studies.attack_paper import attack_paper, folder_of
from dpdl.studies.attack_request import AttackRequest
from dpdl.studies.attack_watch import AttackWatch
from dpdl.studies.pool import at_once
from dpdl.studies.pool_messages import Ending, EndState
from dpdl.studies.reproduce import attack_store
from dpdl.studies.reproduce.forecast import Announce, Beginning, Forecast, Reproduced
from dpdl.studies.reproduce.printed import PrintedAttacks
from dpdl.studies.reproduce.request import ReproductionRequest
from dpdl.studies.reproduce.run_times import RunTimes, fitting, run_times
from dpdl.training.interrupt import Interrupted, deadline

SEED = 0
CASES = 12
"""Runs with and without noise, three rounds, two scenarios."""
GUESS = {"mnist": 30.0, "cifar10": 300.0}
"""Seconds per case on one core."""

Attack = Callable[[AttackedPlace, Path, AttackRequest, AttackWatch], AttackFacts]


def seconds_of(place: AttackedPlace, times: RunTimes) -> float:
    """For a place on one core: its runs, and the attack on them."""
    runs = experiments(place, SEED).values()
    trained = sum(times.seconds(e.resolved()) for e in runs)
    return trained + CASES * GUESS[place.dataset]


@final
@dataclass(frozen=True)
class AttackTools:
    """How a place is attacked, and how long that takes."""

    attack: Attack = attack_paper
    request: AttackRequest = field(default_factory=AttackRequest)
    seconds: Callable[[AttackedPlace, RunTimes], float] = seconds_of


PAPER = AttackTools()


def plan_attacks(request: ReproductionRequest, tools: AttackTools = PAPER) -> Forecast:
    """What `measure_attacks` would attack."""
    _, forecast = _work(request, tools)
    return forecast


def measure_attacks(
    request: ReproductionRequest,
    watch: AttackWatch,
    announce: Announce = lambda beginning: None,
    tools: AttackTools = PAPER,
) -> Reproduced[PrintedAttacks]:
    """Attack the places that are missing, and put all requested ones beside the paper's."""
    wanted, forecast = _work(request, tools)
    if wanted:
        announce(Beginning(forecast))
    endings = _perform(wanted, forecast.jobs, request, watch, tools)
    chosen = _chosen(request)
    there = [place for place in chosen if attack_store.read(request.out, place)]
    facts = PrintedAttacks(
        cells=tuple(attack_store.paper_rows(request.out, chosen)),
        files=tuple(str(attack_store.path_of(request.out, place)) for place in there),
    )
    return Reproduced(facts, endings)


def _chosen(request: ReproductionRequest) -> list[AttackedPlace]:
    return places(request.table, request.cells)


def _work(
    request: ReproductionRequest, tools: AttackTools
) -> tuple[list[AttackedPlace], Forecast]:
    """The places that are missing and fit into the time, and how long they should take."""
    _refuse_needless(request)
    chosen, times = _chosen(request), run_times(request.out)
    jobs = at_once(request.jobs, cores())
    missing = [one for one in chosen if attack_store.read(request.out, one) is None]
    seconds = {place: tools.seconds(place, times) for place in missing}
    alone = [seconds[place] / jobs for place in missing]
    wanted = fitting(missing, alone, 1, request.minutes)
    by_name = {folder_of(place, SEED): seconds[place] for place in wanted}
    return wanted, Forecast(by_name, jobs)


def _refuse_needless(request: ReproductionRequest) -> None:
    table = f"Table {request.table} is of attacks, which have"
    if request.modes is not None:
        raise InputError(f"{table} no modes: leave --mode out.")
    if request.seeds != 1:
        raise InputError(f"{table} seed 0 only: leave --seeds out.")


def _perform(
    wanted: Sequence[AttackedPlace],
    jobs: int,
    request: ReproductionRequest,
    watch: AttackWatch,
    tools: AttackTools,
) -> dict[str, Ending]:
    """How each place ended; a failure of one does not stop the others."""
    found = {folder_of(place, SEED): Ending(EndState.INTERRUPTED) for place in wanted}
    try:
        with deadline(request.minutes) as over:
            with_stop = replace(tools.request, jobs=jobs, stop=over)
            for place, name in zip(wanted, found, strict=True):
                try:
                    facts = tools.attack(place, request.runs / name, with_stop, watch)
                    result = kept(facts, place, with_stop.effort)
                    attack_store.add(request.out, place, result)
                    found[name] = Ending(EndState.DONE)
                except RunFailed as failure:
                    found[name] = Ending(EndState.FAILED, error=str(failure))
    except (KeyboardInterrupt, Interrupted):
        return found
    return found
