"""Whether a run folder agrees with itself: its ledger, recomputed, beside all that was reported.

Nothing here is believed because a file says so twice: sigma_eff, epsilons and the privacy statement
are computed again from sigma, the graph, the algorithm and the rounds in the ledger, by the
functions that a run uses. What cannot be found out is whether the noise was drawn, and whether
somebody rewrote all files and all hashes together.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self, final

from dpdl import __version__
from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.folder.ledger_content import LedgerContent, read
from dpdl.folder.ledger_cost import (
    cost,
    effective,
    experiment_of,
    graph_of,
    listeners_of,
    model_of,
    neighbours_of,
    options_of,
    rows_of,
)
from dpdl.folder.ledger_lines import OPTIONS, Header
from dpdl.folder.run_facts import RunFacts
from dpdl.folder.run_folder import RunFolder
from dpdl.folder.run_graph import graph_hash, named_graph
from dpdl.folder.summary import Summary
from dpdl.planning.build import make_algorithm, make_privacy_model, make_theorem1
from dpdl.planning.statement import Stated
from dpdl.privacy.epsilon import UNKNOWN, Epsilon
from dpdl.privacy.epsilons import CLAIMED
from dpdl.privacy.threats import threat
from dpdl.records import Json, Record, written
from dpdl.text import listed


@final
@dataclass(frozen=True)
class Finding(Record):
    """One comparison; `agrees` is None when there is nothing to compare."""

    name: str
    agrees: bool | None
    reported: Json  # what a file says
    recomputed: Json  # what the ledger says, or gives

    @classmethod
    def of(
        cls, name: str, agrees: bool | None, reported: object, recomputed: object
    ) -> Self:
        """With any two values of files."""
        return cls(name, agrees, written(reported), written(recomputed))


@final
@dataclass(frozen=True)
class BothSides(Record):
    """All epsilons of a run, by their keys in `summary.json`."""

    reported: Mapping[str, Epsilon]
    recomputed: Mapping[str, Epsilon]


@final
@dataclass(frozen=True)
class Verdict(Record):
    """What `dpdl privacy verify` finds: all comparisons of a run."""

    reported: Epsilon  # against the threat of the experiment
    recomputed: Epsilon
    agrees: bool  # nothing disagrees
    threat: str
    all: BothSides
    ledger_head: str  # hash of the ledger's last line
    checks: tuple[Finding, ...]


def verify(run: Path) -> Verdict:
    """Compare everything in a finished run's folder with what its ledger gives."""
    try:
        return _verified(run)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as failure:
        raise InputError(
            f"Run {str(run)!r} cannot be compared, one of its files is damaged: "
            f"{failure!r}."
        ) from failure


def _verified(run: Path) -> Verdict:
    folder = RunFolder(run)
    summary = folder.summary()
    e, facts = folder.read()
    ledger = read(folder.ledger_path)
    stated = _stated(ledger, e, facts)
    epsilons = _epsilons(ledger, stated, summary)
    findings = [
        *_chain(ledger, summary),
        *_mechanism(ledger, e, facts, summary),
        *_rounds(ledger, e, summary, run),
        *_effects(ledger, stated),
        *_of_epsilons(epsilons),
        _statement(ledger, stated, summary),
    ]
    key = threat(e.threat).key
    return Verdict(
        reported=epsilons.reported.get(key, UNKNOWN),
        recomputed=epsilons.recomputed.get(key, UNKNOWN),
        agrees=not any(finding.agrees is False for finding in findings),
        threat=e.threat,
        all=epsilons,
        ledger_head=ledger.head,
        checks=tuple(findings),
    )


def _stated(ledger: LedgerContent, e: Experiment, facts: RunFacts) -> Stated | None:
    """What the ledger says is proven.

    None when it is of format 1, which has no graph, and the experiment cannot name one.
    """
    header = ledger.header
    if ledger.rounds is not None:
        model = replace(model_of(header, ledger.rounds), centres=ledger.centres)
        simulated = header.repeatable
    else:
        graph = named_graph(facts)
        if graph is None:
            return None
        model = make_privacy_model(
            e,
            make_algorithm(e),
            graph,
            header.records,
            _parameters(facts),
            header.sigma,
        )
        simulated = e.randomness != "secure"
    return Stated(e, model, make_theorem1(e, model), simulated)


def _parameters(facts: RunFacts) -> int:
    """How many numbers the model has."""
    if facts.model_shapes is None:
        raise InputError("experiment.json has no 'model_shapes'.")
    return sum(math.prod(shape) for shape in facts.model_shapes.values())


# ------------------------------------------------------------------- the checks
def _chain(ledger: LedgerContent, summary: Summary) -> Iterator[Finding]:
    writer = summary.versions.get("dpdl")
    if writer != __version__:
        text = f"dpdl {writer} wrote this; {__version__} may have other bounds"
        yield Finding("version", None, text, None)
    if ledger.format == 1:
        yield Finding("chain", None, "format 1 has no hashes", None)
        return
    broken = [f"line {line} does not follow what is above it" for line in ledger.breaks]
    found = "; ".join(broken) or "each follows the one before"
    yield Finding("chain", not broken, f"{ledger.lines} lines", found)
    head = summary.ledger_head
    agrees = None if head is None else head == ledger.head
    yield Finding("head of the ledger", agrees, head, ledger.head)


def _mechanism(
    ledger: LedgerContent, e: Experiment, facts: RunFacts, summary: Summary
) -> Iterator[Finding]:
    """The header, name by name, beside `experiment.json` and the summary."""
    header = ledger.header
    for name in OPTIONS:
        stated = getattr(header, name)
        if stated is not None:
            yield _same(f"{name} in experiment.json", getattr(e, name), stated)
    if header.options is not None:
        yield _options(header, e)
    yield _same("sigma in summary.json", summary.sigma, header.sigma)
    if e.sigma is not None:
        yield _same("sigma in experiment.json", e.sigma, header.sigma)
    if summary.records is not None:
        declared, records = summary.records, header.records
        yield _same("fewest records", declared.fewest, min(records))
        yield _same("most records", declared.most, max(records))
    if ledger.format > 1:
        yield from _graph_and_model(header, e, facts, summary)


def _options(header: Header, e: Experiment) -> Finding:
    """The options that a header has by name."""
    options, now = options_of(experiment_of(header, e.rounds)), e.to_json()
    stated = {
        name: value
        for name, value in options.items()
        if name in (header.options or {}) and now.get(name) != value
    }
    others = {name: now.get(name) for name in stated}
    reported = others or f"{len(options)} options"
    return Finding.of("other options in experiment.json", not others, reported, stated)


def _graph_and_model(
    header: Header, e: Experiment, facts: RunFacts, summary: Summary
) -> Iterator[Finding]:
    graph, parameters = graph_of(header), header.parameters
    yield _same("graph in experiment.json", facts.graph_sha256, graph_hash(graph))
    pattern = neighbours_of(graph)
    yield _same("neighbours in the ledger", header.neighbours, pattern)
    yield _same("parameters in experiment.json", _parameters(facts), parameters)
    yield _same("parameters in summary.json", summary.parameters, parameters)
    factors = make_algorithm(e).noise_factors(graph)
    expected = None if factors is None else rows_of(factors)
    yield _same("noise_factors in the ledger", header.noise_factors, expected)


def _rounds(
    ledger: LedgerContent, e: Experiment, summary: Summary, run: Path
) -> Iterator[Finding]:
    """How far the run got, in every file that says so."""
    last, left = ledger.last, {entry.round for entry in ledger.entries}
    missing = _gaps(left)
    if e.centre is not None:
        times = f"{ledger.centre_lines} times"
        yield Finding("centre in the ledger", ledger.centre_lines > 0, "once", times)
    found = f"missing: {listed(missing)}" if missing else "all"
    yield Finding("rounds without a gap", not missing, f"1 to {last}", found)
    yield _same("rounds in summary.json", summary.rounds, last)
    metrics = RunFolder(run).metrics()
    measured = metrics[-1].round if metrics else 0
    yield _same("rounds in metrics.jsonl", measured, last)
    from dpdl.folder.states import States  # not above: a wrong folder needs no torch

    saved = States(run).last()
    agrees = saved == last if saved else None
    yield Finding("rounds in the checkpoint", agrees, saved, last)
    if ledger.rounds is not None:
        yield _same("rounds planned in experiment.json", e.rounds, ledger.rounds)


def _gaps(rounds: Collection[int]) -> list[str]:
    """The rounds that lack between 1 and the last, as `3` or `5 to 9`: there may be billions."""
    found, before = [], 0
    for t in sorted(rounds):
        if t > before + 1:
            found.append(f"{before + 1}" + (f" to {t - 1}" if t > before + 2 else ""))
        before = t
    return found


def _effects(ledger: LedgerContent, stated: Stated | None) -> Iterator[Finding]:
    """sigma_eff as a header states it, and which agents were charged for a round."""
    if stated is None:
        yield Finding("sigma_eff", None, "a graph that has no name", None)
        return
    header, model = ledger.header, stated.privacy
    if (
        header.rounds is not None
    ):  # it was stated for as many rounds as were planned then
        model = model_of(header, header.rounds)
    for listener in listeners_of(header):
        sigmas, found = header.sigma_eff.get(str(listener)), effective(model, listener)
        agrees = sigmas is not None and _all_close(sigmas, found)
        smallest = None if sigmas is None else min(sigmas)
        yield Finding(f"sigma_eff, {listener}", agrees, smallest, min(found))
    disclosure, graph = model.algorithm.disclosure, model.graph
    agents = range(len(graph))
    for entry in ledger.entries:
        paying = tuple(i for i in agents if disclosure.active(graph, i, entry.round))
        charged = tuple(agents) if entry.agents is None else entry.agents
        if charged != paying:
            yield Finding.of(f"agents of round {entry.round}", False, charged, paying)


def _epsilons(
    ledger: LedgerContent, stated: Stated | None, summary: Summary
) -> BothSides:
    """Every epsilon of the summary beside what the ledger gives."""
    reported = dict(summary.epsilon.items())
    if stated:
        found = dict(stated.epsilons(ledger.charged()).items())
    else:  # without a graph there is nothing to apply Theorem 1 to
        found = {name: Epsilon(value) for name, value in cost(ledger).items()}
        reported.pop(CLAIMED)
    names = dict.fromkeys([*found, *reported])
    return BothSides(
        reported={name: reported.get(name, UNKNOWN) for name in names},
        recomputed={name: found.get(name, UNKNOWN) for name in names},
    )


def _of_epsilons(epsilons: BothSides) -> Iterator[Finding]:
    for name, reported in epsilons.reported.items():
        yield _same(name, reported.to_json(), epsilons.recomputed[name].to_json())


def _statement(
    ledger: LedgerContent, stated: Stated | None, summary: Summary
) -> Finding:
    """The sentences, word by word; of another version, whose words may differ, its numbers."""
    text, name = summary.privacy_statement, "privacy_statement"
    if stated is None:
        return Finding(name, None, text, None)
    early = summary.ended_early is not None
    found = stated.prose(ledger.charged(), early)
    if summary.versions.get("dpdl") == __version__:
        return Finding(name, text == found, text, found)
    return _same(f"{name}, its numbers", _proven(text), _proven(found))


def _proven(text: str) -> list[str]:
    """Epsilon, delta, rounds and sigma in a statement; nothing where nothing is proven."""
    found = re.search(
        r"Proven: \((\S+), (\S+)\).* over (\d+) rounds .*noise multiplier (\S+)\)", text
    )
    return list(found.groups()) if found else []


def _same(name: str, reported: object, recomputed: object) -> Finding:
    return Finding.of(name, _close(reported, recomputed), reported, recomputed)


def _all_close(some: Sequence[float], others: Sequence[float]) -> bool:
    return len(some) == len(others) and all(map(_close, some, others))


def _close(a: object, b: object) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9)
    return bool(a == b)
