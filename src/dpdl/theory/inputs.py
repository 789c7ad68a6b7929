"""What Theorem 2 is applied to: options, or a finished run. Neither needs torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, final

from dpdl.algorithms import Algorithm, make
from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.folder.run_folder import RunFolder
from dpdl.folder.run_graph import GraphOptions, graph_hash
from dpdl.graph import Graph
from dpdl.planning.build import make_clip
from dpdl.records import Record, written
from dpdl.theory.explained import Explained, ExplainedInputs, explain
from dpdl.theory.formulas import Letters

LENET = 44_426
"""Parameters of LeNet on MNIST."""
ROUNDING = 1e-24
"""A smaller rho is a rounded 0, as on a complete graph, and the largest L would depend on it."""


class KnownOption(NamedTuple):
    """An option whose value a run knows."""

    name: str
    default: str | int | float
    meaning: str


KNOWN = (
    KnownOption("graph", "ring", "graph: a name as for `dpdl graph`, or a file"),
    KnownOption("agents", 10, "number of agents N; a file knows its own"),
    KnownOption("weights", "metropolis", "mixing weights W"),
    KnownOption("seed", 0, "seed of a random graph"),
    KnownOption("rounds", 200, "rounds T"),
    KnownOption("lr", 0.05, "step size eta"),
    KnownOption("momentum", 0.7, "momentum beta"),
    KnownOption("clip", 2.0, "clipping norm C"),
    KnownOption("sigma", 1.0, "noise multiplier"),
    KnownOption("batch", 216, "batch size B"),
    KnownOption("alpha", 1.5, "calibration weight alpha"),
    KnownOption(
        "parameters", LENET, "parameters d of the model; default: LeNet on MNIST"
    ),
    KnownOption("epsilon", 0.5, "privacy budget, for Corollary 1"),
)


@final
@dataclass(frozen=True, kw_only=True)
class KnownValues(Record):
    """The values of the options above, beside those that name the graph."""

    rounds: int
    lr: float
    momentum: float
    clip: float
    sigma: float
    batch: int
    alpha: float
    parameters: int
    epsilon: float | None


class UnknownLetters(NamedTuple):
    """The letters that nobody knows of a real model."""

    L: float
    xi: float
    kappa: float
    gap: float


class Inputs(NamedTuple):
    """What the theorem is applied to."""

    graph: Graph
    about: ExplainedInputs  # what identifies the graph, and the run if there is one
    values: KnownValues
    notes: tuple[str, ...] = ()  # where a run is not what the theorem is about

    def letters(self, unknown: UnknownLetters) -> Letters:
        """All letters of the paper."""
        v, rho = self.values, self.graph.rho
        return Letters(
            eta=v.lr,
            beta=v.momentum,
            rho=rho if rho > ROUNDING else 0.0,
            L=unknown.L,
            N=len(self.graph),
            T=v.rounds,
            C=v.clip,
            sigma=v.sigma,
            d=v.parameters,
            w_min=self.graph.w_min,
            B=v.batch,
            alpha=v.alpha,
            xi=unknown.xi,
            kappa=unknown.kappa,
            gap=unknown.gap,
            epsilon=v.epsilon,
        )


def evaluate(inputs: Inputs, letters: Letters) -> Explained:
    """What the theorem says, with where the letters come from."""
    found = explain(letters)
    about = replace(inputs.about, letters=found.inputs.letters)
    return replace(found, inputs=about, notes=(*found.notes, *inputs.notes))


def of_options(options: Mapping[str, object]) -> Inputs:
    """The values of the options; what is left out has its default value."""
    defaults = {one.name: one.default for one in KNOWN}
    values = {name: written(value) for name, value in {**defaults, **options}.items()}
    named = GraphOptions.from_json(values)
    if named.of_file and "agents" not in options:  # a file knows its own
        named = replace(named, agents=None)
    graph = named.build()
    return Inputs(graph, _about(named, graph), KnownValues.from_json(values))


def of_run(path: Path) -> Inputs:
    """The values of a finished run. Only its JSON files are read: a plan would fetch data."""
    run = RunFolder(path)
    facts, summary = run.facts(), run.summary()
    try:
        e = Experiment.from_json(dict(facts.experiment))
        named = GraphOptions.from_json(dict(facts.experiment))
    except InputError as failure:
        raise InputError(
            f"Folder {str(path)!r} is damaged or of another version of dpdl: {failure}"
        ) from failure
    algorithm = make(e.algorithm, {**e.as_dict(), "compress": "none"})
    update = algorithm.calibration
    if update is None:
        raise InputError(
            f"Theorem 2 is about dpdl; run {str(path)!r} trained with {e.algorithm}."
        )
    graph = named.build()
    if facts.graph_sha256 != graph_hash(graph):
        raise InputError(
            f"Run {str(path)!r} used another graph than {named.graph!r}; use options "
            "instead."
        )
    if e.clip is None or e.batch is None:
        raise InputError(
            f"Folder {str(path)!r} is damaged: it has no clip or no batch."
        )
    values = KnownValues(
        rounds=e.rounds,
        lr=update.lr,
        momentum=update.momentum,
        clip=e.clip,
        sigma=summary.sigma,
        batch=e.batch,
        alpha=update.alpha,
        parameters=summary.parameters,
        epsilon=summary.epsilon.claimed_theorem1.finite,
    )
    about = replace(_about(named, graph), run=str(path))
    return Inputs(graph, about, values, tuple(_departures(e, algorithm)))


def _about(named: GraphOptions, graph: Graph) -> ExplainedInputs:
    """What identifies the graph."""
    return ExplainedInputs(
        graph=named.graph,
        weights=named.weights,
        seed=named.seed,
        graph_sha256=graph_hash(graph),
    )


def _departures(e: Experiment, algorithm: Algorithm) -> list[str]:
    """Where a run is not what the theorem is about."""
    notes = []
    if not algorithm.in_theorem2:
        notes.append(
            f"The theorem is about 'dpdl'; this run trained with {e.algorithm!r}."
        )
    notes += algorithm.beyond_theorem2
    if not make_clip(e).bounds_record:
        notes.append(
            "The theorem clips every sample; the clip unit of this run was "
            f"{e.clip_unit!r}."
        )
    return notes
