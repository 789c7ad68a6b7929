"""The paper's attack tables: the runs they need, and its numbers beside ours.

The paper does not say which batches it attacked, nor with how many iterations. Ours are batches of
one record unless others are chosen: what is easiest to rebuild. Its numbers are of round 800.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import final

from dpdl.attacks.effort import Effort
from dpdl.experiment.experiment import Experiment
from dpdl.folder.attack_facts import (
    AttackedRun,
    AttackFacts,
    CaseScores,
    PaperAndOurs,
    PaperRow,
    PlaceFacts,
)
from dpdl.folder.run_folder import RunFolder
from dpdl.graph import build
from dpdl.paper import ATTACKED_EPSILON, ATTACKED_ROUNDS, attacks
from dpdl.paper.cells import AttackedPlace
from dpdl.records import Json
from dpdl.training.recording_request import RecordingRequest

SCENARIOS = "cg,mm"
OWN_BATCH = 216
STEP = {"complete": 0.01}
"""Without clipping a step grows with the number of neighbours: at the default 0.05 all units of
LeNet die on a complete graph, and then there is nothing in a gradient but its label."""


def experiments(place: AttackedPlace, seed: int) -> dict[str, Experiment]:
    """DPDL without any protection, and with Theorem 1's noise: one round more than is attacked."""
    attacks(*place)  # refuses what is not in the paper
    common = Experiment(
        algorithm="dpdl",
        dataset=place.dataset,
        graph=place.graph,
        agents=place.agents,
        seed=seed,
        rounds=max(ATTACKED_ROUNDS) + 1,
        eval_every=200,
    )
    epsilon, step = ATTACKED_EPSILON[place.dataset], STEP.get(place.graph)
    options = {} if step is None else {"lr": step}
    return {
        "nd": replace(common, noise="none", clip_unit="none", options=options),
        "dpdl": replace(common, noise="theorem1", epsilon=epsilon),
    }


def one_link_each(e: Experiment) -> frozenset[tuple[int, int]]:
    """One link out of every agent: it carries its cross-gradient, momentum and model."""
    graph = build(e.graph, e.agents, e.weights, e.seed)
    links: dict[int, int] = {}
    for i, j in graph.edges.tolist():
        if i != j:
            links.setdefault(i, j)
    return frozenset(links.items())


@final
@dataclass(frozen=True)
class PaperAttack:
    """Which runs are attacked in place of the paper's, and in which of their rounds."""

    experiments: Callable[[AttackedPlace, int], Mapping[str, Experiment]] = experiments
    rounds: tuple[int, ...] = ATTACKED_ROUNDS

    def recording_request(
        self, e: Experiment, batches: Iterable[int]
    ) -> RecordingRequest:
        """The rounds of these runs, with batches of such sizes, on `one_link_each`."""
        return RecordingRequest(self.rounds, tuple(sorted(batches)), one_link_each(e))

    def compared(
        self, rows: Iterable[CaseScores], place: AttackedPlace
    ) -> list[PaperRow]:
        """Rows of the last round, each metric with the paper's."""
        published, last = attacks(*place), max(self.rounds)
        found = []
        for row in rows:
            scenario = f"{row.who}-{row.scenario}".lower()
            if row.round == last and scenario in published:
                paper = published[scenario]
                found.append(_beside(paper, row, place, scenario))
        return found


def _beside(
    paper: Mapping[str, float], row: CaseScores, place: AttackedPlace, scenario: str
) -> PaperRow:
    return PaperRow(
        *place,
        scenario=scenario,
        mse=PaperAndOurs(paper["mse"], row.mse),
        psnr=PaperAndOurs(paper["psnr"], row.psnr),
        ssim=PaperAndOurs(paper["ssim"], row.ssim),
        batch=row.batch,
        images=row.images,
        method=row.method,
        best_trivial_mse=row.best_trivial_mse,
        p_better_than_trivial=row.p_better_than_trivial,
    )


PAPER = PaperAttack()


def kept(facts: AttackFacts, place: AttackedPlace, effort: Effort) -> PlaceFacts:
    """What is kept of an attack beside the paper's.

    Numbers have 4 digits; with them stands what the attacked runs were worth.
    """
    exact = PlaceFacts(
        dataset=place.dataset,
        graph=place.graph,
        agents=place.agents,
        what=_what(facts.rows, place.agents, effort),
        runs={row.who: _worth(Path(row.run)) for row in facts.rows if row.run},
        rows=tuple(replace(row, run=None) for row in facts.rows),
        trivial=facts.trivial,
        paper=facts.paper or (),
    )
    return PlaceFacts.from_json(_rounded(exact.to_json()))


def _worth(run: Path) -> AttackedRun:
    summary = RunFolder(run).summary()
    accuracy = summary.score.average_model
    return AttackedRun(accuracy, summary.rounds, summary.sigma, summary.epsilon)


def _what(rows: Sequence[CaseScores], agents: int, effort: Effort) -> str:
    first = rows[0]
    images, size = first.images, first.batch
    settings = effort.settings(first.method)
    records = "one record" if size == 1 else f"{size} records"
    whose = "each agent"
    if images != agents * size:
        whose = f"each of the first {images // size} agents"
    return (
        f"medians over {images} images, {'one' if size == 1 else 'a batch'} of "
        f"{whose}; batches of {records}, played beside a run with batches of "
        f"{first.own_batch}; labels {first.labels}; {first.method}, "
        f"{settings.iterations} iterations, {settings.restarts} starts"
    )


def _rounded(value: Json) -> Json:
    """Every number with 4 digits after the point."""
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_rounded(part) for part in value]
    return round(value, 4) if isinstance(value, float) else value
