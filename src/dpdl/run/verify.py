"""Whether a run folder agrees with itself: its ledger, recomputed, beside everything that was reported.

Nothing here is believed because a file says so twice: sigma_eff, epsilons and the privacy statement are computed again
from sigma, the graph, the algorithm and the rounds in the ledger, by the functions that a run uses. What cannot be
found out is whether the noise was drawn, and whether somebody rewrote all files and all hashes together.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from dpdl import __version__
from dpdl import graph as graphs
from dpdl.algorithms import SoundDPDL
from dpdl.errors import InputError
from dpdl.graph import Graph
from dpdl.privacy.noise import Randomness, Reproducible, Secure
from dpdl.privacy.theorem1 import Theorem1
from dpdl.privacy.threats import threat
from dpdl.run.bill import BY_NAME, bill, effective, graph_of, listeners_of, question_of
from dpdl.run.book import Book, read, refuse_constant
from dpdl.run.experiment import Experiment
from dpdl.run.ledger import LEDGER
from dpdl.run.plan import Plan
from dpdl.run.planner import Question, make_algorithm, make_question, make_theorem1
from dpdl.run.states import States
from dpdl.run.store import RunFolder
from dpdl.run.summary import CLAIMED, epsilons, statement


@dataclass(frozen=True)
class Check:
    """One comparison; `agrees` is None when there is nothing to compare."""

    name: str
    agrees: bool | None
    reported: Any  # what a file says
    recomputed: Any  # what the ledger says, or gives


@dataclass(frozen=True)
class Verdict:
    """All comparisons of a run."""

    checks: list[Check]
    epsilons: list[Check]  # those of them that are epsilons, by the key of the threat
    threat: str  # the one that was asked for
    head: str  # hash of the ledger's last line

    @property
    def agrees(self) -> bool:
        """Whether nothing disagrees."""
        return not any(check.agrees is False for check in self.checks)

    @property
    def asked(self) -> Check:
        """The epsilon against the threat that was asked for."""
        key = threat(self.threat).key
        return next((check for check in self.epsilons if check.name == key), Check(key, None, None, None))

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        everything = {name: {c.name: getattr(c, name) for c in self.epsilons} for name in ("reported", "recomputed")}
        facts = {"reported": self.asked.reported, "recomputed": self.asked.recomputed, "agrees": self.agrees}
        checks = [asdict(check) for check in self.checks]
        return {**facts, "threat": self.threat, "all": everything, "ledger_head": self.head, "checks": checks}


@dataclass(frozen=True)
class Noise:
    """The part of a `PrivateGradient` that a statement is about."""

    noise_multiplier: float
    randomness: Randomness


@dataclass(frozen=True)
class Told:
    """The part of a `Plan` that epsilons and a statement are computed from; no records are needed for it."""

    experiment: Experiment
    question: Question
    theorem1: Theorem1 | None
    grad: Noise

    def as_plan(self) -> Plan:
        """For functions that ask no more of a plan."""
        return cast(Plan, self)


def verify(run: Path) -> Verdict:
    """Compare everything in a finished run's folder with what its ledger gives."""
    try:
        return _verified(run)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as failure:
        raise InputError(f"Run {str(run)!r} cannot be compared, one of its files is damaged: {failure!r}.") from failure


def _verified(run: Path) -> Verdict:
    summary = _summary(run)
    e, facts = RunFolder(run).read()
    book = read(run / LEDGER)
    told = _told(book, e, facts)
    of_epsilon = list(_epsilons(book, told, summary))
    checks = [
        *_chain(book, summary),
        *_mechanism(book, e, facts, summary),
        *_rounds(book, e, summary, run),
        *(_effects(book, told) if told else [Check("sigma_eff", None, "a graph that has no name", None)]),
        *of_epsilon,
        _statement(book, told, summary),
    ]
    return Verdict(checks, of_epsilon, e.threat, book.head)


def _summary(run: Path) -> dict[str, Any]:
    try:
        found = json.loads((run / "summary.json").read_text("utf-8"), parse_constant=refuse_constant)
        names = ("epsilon", "rounds", "sigma", "parameters", "privacy_statement", "versions")
        return {**found, **{name: found[name] for name in names}}
    except OSError as failure:
        raise InputError(f"Run {str(run)!r} has no result: {failure.filename}: {failure.strerror}.") from failure
    except (ValueError, KeyError, TypeError) as failure:
        raise InputError(f"The summary of run {str(run)!r} is damaged: {failure}.") from failure


def _told(book: Book, e: Experiment, facts: Mapping[str, Any]) -> Told | None:
    """What the ledger tells; None when it is of format 1, which has no graph, and the experiment cannot name one."""
    header = book.header
    if book.rounds is not None:
        question = question_of(header, book.rounds)
    else:
        graph = _named_graph(e, facts)
        if graph is None:
            return None
        size = sum(math.prod(shape) for shape in facts["model_shapes"].values())
        question = make_question(e, make_algorithm(e), graph, header["records"], size)
    randomness = Secure() if header.get("randomness", e.randomness) == "secure" else Reproducible(e.seed)
    theorem1 = make_theorem1(e, question.graph, min(header["records"]))
    return Told(e, question, theorem1, Noise(float(header["sigma"]), randomness))


def _named_graph(e: Experiment, facts: Mapping[str, Any]) -> Graph | None:
    try:
        graph = graphs.build(e.graph, e.agents, e.weights, e.seed)
    except InputError:
        return None
    return graph if _hash(graph) == facts.get("graph_sha256") else None


def _hash(graph: Graph) -> str:
    return hashlib.sha256(graph.W.tobytes()).hexdigest()


# ------------------------------------------------------------------- the checks
def _chain(book: Book, summary: Mapping[str, Any]) -> Iterator[Check]:
    writer = summary["versions"].get("dpdl")
    if writer != __version__:
        yield Check("version", None, f"dpdl {writer} wrote this; {__version__} may have other bounds", None)
    if book.format == 1:
        yield Check("chain", None, "format 1 has no hashes", None)
        return
    broken = [f"line {line} does not follow what is above it" for line in book.breaks]
    yield Check("chain", not broken, f"{book.lines} lines", "; ".join(broken) or "each follows the one before")
    head = summary.get("ledger_head")
    yield Check("head of the ledger", None if head is None else head == book.head, head, book.head)


def _mechanism(book: Book, e: Experiment, facts: Mapping[str, Any], summary: Mapping[str, Any]) -> Iterator[Check]:
    """The header, name by name, beside `experiment.json` and the summary."""
    header = book.header
    for name in BY_NAME:
        if name in header:
            yield _same(f"{name} in experiment.json", getattr(e, name), header[name])
    if "options" in header:
        options, asked = header["options"], e.as_dict()
        others = {name: asked.get(name) for name, value in options.items() if asked.get(name) != value}
        stated = {name: options[name] for name in others}
        yield Check("other options in experiment.json", not others, others or f"{len(options)} options", stated)
    yield _same("sigma in summary.json", summary["sigma"], header["sigma"])
    if e.sigma is not None:
        yield _same("sigma in experiment.json", e.sigma, header["sigma"])
    if "records" in summary:
        said = summary["records"]
        yield _same("fewest records", said["fewest"], min(header["records"]))
        yield _same("most records", said["most"], max(header["records"]))
    if book.format > 1:
        graph = graph_of(header)
        sizes = sum(math.prod(shape) for shape in facts["model_shapes"].values())
        yield _same("graph in experiment.json", facts["graph_sha256"], _hash(graph))
        pattern = [[int(j) for j in graph.neighbours(i) if j != i] for i in range(len(graph))]
        yield _same("neighbours in the ledger", header["neighbours"], pattern)
        yield _same("parameters in experiment.json", sizes, header["parameters"])
        yield _same("parameters in summary.json", summary["parameters"], header["parameters"])
        algorithm = make_algorithm(e)
        factors = algorithm.noise_factors(graph) if isinstance(algorithm, SoundDPDL) else None
        expected = None if factors is None else factors.tolist()
        yield _same("noise_factors in the ledger", header["noise_factors"], expected)


def _rounds(book: Book, e: Experiment, summary: Mapping[str, Any], run: Path) -> Iterator[Check]:
    """How far the run got, in every file that says so."""
    missing = sorted(set(range(1, book.last + 1)) - {entry.round for entry in book.entries})
    yield Check("rounds without a gap", not missing, f"1 to {book.last}", f"missing: {missing}" if missing else "all")
    yield _same("rounds in summary.json", summary["rounds"], book.last)
    metrics = RunFolder(run).metrics()
    yield _same("rounds in metrics.jsonl", metrics[-1]["round"] if metrics else 0, book.last)
    saved = States(run).last()
    yield Check("rounds in the checkpoint", saved == book.last if saved else None, saved, book.last)
    if book.rounds is not None:
        yield _same("rounds planned in experiment.json", e.rounds, book.rounds)


def _effects(book: Book, told: Told) -> Iterator[Check]:
    """sigma_eff as a header states it, and by which agents a round was paid for."""
    header, q = book.header, told.question
    if book.rounds is not None:  # it was stated for as many rounds as were planned then
        q = question_of(header, int(header["rounds"]))
    for listener in listeners_of(header):
        stated, found = header["sigma_eff"].get(str(listener)), effective(q, told.grad.noise_multiplier, listener)
        agrees = stated is not None and len(stated) == len(found) and all(map(_close, stated, found))
        smallest = None if stated is None else min(stated)
        yield Check(f"sigma_eff, {listener}", agrees, smallest, min(found))
    disclosure, agents = q.algorithm.disclosure, range(len(q.graph))
    for entry in book.entries:
        paying = tuple(i for i in agents if disclosure.active(q.graph, i, entry.round))
        stated_by = tuple(agents) if entry.agents is None else entry.agents
        if stated_by != paying:
            yield Check(f"agents of round {entry.round}", False, list(stated_by), list(paying))


def _epsilons(book: Book, told: Told | None, summary: Mapping[str, Any]) -> Iterator[Check]:
    """Every epsilon of the summary."""
    found: Mapping[str, float | str | None]
    if told:
        found = epsilons(told.as_plan(), book.billed())
    else:
        found = {name: value if math.isfinite(value) else "unbounded" for name, value in bill(book).items()}
    for name in dict.fromkeys([*found, *summary["epsilon"]]):
        if told or name != CLAIMED:
            yield _same(name, summary["epsilon"].get(name), found.get(name))


def _statement(book: Book, told: Told | None, summary: Mapping[str, Any]) -> Check:
    """The sentences, word by word; of another version, which may have other words, only its numbers."""
    said, name = str(summary["privacy_statement"]), "privacy_statement"
    if told is None:
        return Check(name, None, said, None)
    found = statement(told.as_plan(), book.billed())
    if summary["versions"].get("dpdl") == __version__:
        return Check(name, said == found, said, found)
    return Check(f"{name}, its numbers", _proven(said) == _proven(found), _proven(said), _proven(found))


def _proven(text: str) -> list[str]:
    """Epsilon, delta, rounds and sigma in a statement; nothing where nothing is proven."""
    found = re.search(r"Proven: \((\S+), (\S+)\).* over (\d+) rounds .*noise multiplier (\S+)\)", text)
    return list(found.groups()) if found else []


def _same(name: str, reported: Any, recomputed: Any) -> Check:
    return Check(name, _close(reported, recomputed), reported, recomputed)


def _close(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9)
    return bool(a == b)
