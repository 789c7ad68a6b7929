"""Whether a run folder agrees with itself: its ledger, recomputed, beside everything that was reported.

Nothing here is believed because a file says so twice: sigma_eff, epsilons and the privacy statement are computed again
from sigma, the graph, the algorithm and the rounds in the ledger, by the functions that a run uses. What cannot be
found out is whether the noise was drawn, and whether somebody rewrote all files and all hashes together.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dpdl import __version__
from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.folder.bill import (
    BY_NAME,
    bill,
    effective,
    experiment_of,
    graph_of,
    listeners_of,
    model_of,
    options_of,
)
from dpdl.folder.book import Book, read
from dpdl.folder.run_folder import RunFolder
from dpdl.folder.run_graph import graph_hash, named_graph
from dpdl.folder.states import States
from dpdl.planning.build import make_algorithm, make_privacy_model, make_theorem1
from dpdl.planning.statement import Stated
from dpdl.privacy.epsilons import CLAIMED
from dpdl.privacy.threats import threat


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
        return next(
            (check for check in self.epsilons if check.name == key),
            Check(key, None, None, None),
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        everything = {
            name: {c.name: getattr(c, name) for c in self.epsilons}
            for name in ("reported", "recomputed")
        }
        facts = {
            "reported": self.asked.reported,
            "recomputed": self.asked.recomputed,
            "agrees": self.agrees,
        }
        checks = [asdict(check) for check in self.checks]
        return {
            **facts,
            "threat": self.threat,
            "all": everything,
            "ledger_head": self.head,
            "checks": checks,
        }


def verify(run: Path) -> Verdict:
    """Compare everything in a finished run's folder with what its ledger gives."""
    try:
        return _verified(run)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as failure:
        raise InputError(
            f"Run {str(run)!r} cannot be compared, one of its files is damaged: {failure!r}."
        ) from failure


def _verified(run: Path) -> Verdict:
    summary = _summary(run)
    e, facts = RunFolder(run).read()
    book = read(RunFolder(run).ledger_path)
    stated = _stated(book, e, facts)
    of_epsilon = list(_epsilons(book, stated, summary))
    checks = [
        *_chain(book, summary),
        *_mechanism(book, e, facts, summary),
        *_rounds(book, e, summary, run),
        *(
            _effects(book, stated)
            if stated
            else [Check("sigma_eff", None, "a graph that has no name", None)]
        ),
        *of_epsilon,
        _statement(book, stated, summary),
    ]
    return Verdict(checks, of_epsilon, e.threat, book.head)


def _summary(run: Path) -> dict[str, Any]:
    try:
        found = RunFolder(run).summary().to_json()
        names = (
            "epsilon",
            "rounds",
            "sigma",
            "parameters",
            "privacy_statement",
            "versions",
        )
        return {**found, **{name: found[name] for name in names}}
    except KeyError as failure:
        raise InputError(
            f"The summary of run {str(run)!r} is damaged: {failure}."
        ) from failure


def _stated(book: Book, e: Experiment, facts: Mapping[str, Any]) -> Stated | None:
    """What the ledger says is proven.

    None when it is of format 1, which has no graph, and the experiment cannot name one.
    """
    header = book.header
    if book.rounds is not None:
        model = model_of(header, book.rounds)
    else:
        graph = named_graph(e.as_dict(), facts.get("graph_sha256"))
        if graph is None:
            return None
        size = sum(math.prod(shape) for shape in facts["model_shapes"].values())
        model = make_privacy_model(
            e, make_algorithm(e), graph, header["records"], size, float(header["sigma"])
        )
    simulated = header.get("randomness", e.randomness) != "secure"
    return Stated(e, model, make_theorem1(e, model), simulated)


# ------------------------------------------------------------------- the checks
def _chain(book: Book, summary: Mapping[str, Any]) -> Iterator[Check]:
    writer = summary["versions"].get("dpdl")
    if writer != __version__:
        yield Check(
            "version",
            None,
            f"dpdl {writer} wrote this; {__version__} may have other bounds",
            None,
        )
    if book.format == 1:
        yield Check("chain", None, "format 1 has no hashes", None)
        return
    broken = [f"line {line} does not follow what is above it" for line in book.breaks]
    yield Check(
        "chain",
        not broken,
        f"{book.lines} lines",
        "; ".join(broken) or "each follows the one before",
    )
    head = summary.get("ledger_head")
    yield Check(
        "head of the ledger",
        None if head is None else head == book.head,
        head,
        book.head,
    )


def _mechanism(
    book: Book, e: Experiment, facts: Mapping[str, Any], summary: Mapping[str, Any]
) -> Iterator[Check]:
    """The header, name by name, beside `experiment.json` and the summary."""
    header = book.header
    for name in BY_NAME:
        if name in header:
            yield _same(f"{name} in experiment.json", getattr(e, name), header[name])
    if "options" in header:
        options, asked = options_of(experiment_of(header, e.rounds)), e.as_dict()
        stated = {
            name: value
            for name, value in options.items()
            if name in header["options"] and asked.get(name) != value
        }
        others = {name: asked.get(name) for name in stated}
        yield Check(
            "other options in experiment.json",
            not others,
            others or f"{len(options)} options",
            stated,
        )
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
        yield _same(
            "graph in experiment.json", facts["graph_sha256"], graph_hash(graph)
        )
        pattern = [
            [int(j) for j in graph.neighbours(i) if j != i] for i in range(len(graph))
        ]
        yield _same("neighbours in the ledger", header["neighbours"], pattern)
        yield _same("parameters in experiment.json", sizes, header["parameters"])
        yield _same(
            "parameters in summary.json", summary["parameters"], header["parameters"]
        )
        algorithm = make_algorithm(e)
        factors = algorithm.noise_factors(graph)
        expected = None if factors is None else factors.tolist()
        yield _same("noise_factors in the ledger", header["noise_factors"], expected)


def _rounds(
    book: Book, e: Experiment, summary: Mapping[str, Any], run: Path
) -> Iterator[Check]:
    """How far the run got, in every file that says so."""
    missing = sorted(
        set(range(1, book.last + 1)) - {entry.round for entry in book.entries}
    )
    yield Check(
        "rounds without a gap",
        not missing,
        f"1 to {book.last}",
        f"missing: {missing}" if missing else "all",
    )
    yield _same("rounds in summary.json", summary["rounds"], book.last)
    metrics = RunFolder(run).metrics()
    yield _same(
        "rounds in metrics.jsonl", metrics[-1].round if metrics else 0, book.last
    )
    saved = States(run).last()
    yield Check(
        "rounds in the checkpoint",
        saved == book.last if saved else None,
        saved,
        book.last,
    )
    if book.rounds is not None:
        yield _same("rounds planned in experiment.json", e.rounds, book.rounds)


def _effects(book: Book, stated: Stated) -> Iterator[Check]:
    """sigma_eff as a header states it, and which agents were charged for a round."""
    header, model = book.header, stated.privacy
    if book.rounds is not None:  # it was stated for as many rounds as were planned then
        model = model_of(header, int(header["rounds"]))
    for listener in listeners_of(header):
        said = header["sigma_eff"].get(str(listener))
        found = effective(model, listener)
        complete = said is not None and len(said) == len(found)
        agrees = complete and all(map(_close, said, found))
        smallest = None if said is None else min(said)
        yield Check(f"sigma_eff, {listener}", agrees, smallest, min(found))
    disclosure, graph = model.algorithm.disclosure, model.graph
    agents = range(len(graph))
    for entry in book.entries:
        paying = tuple(i for i in agents if disclosure.active(graph, i, entry.round))
        charged = tuple(agents) if entry.agents is None else entry.agents
        if charged != paying:
            yield Check(
                f"agents of round {entry.round}", False, list(charged), list(paying)
            )


def _epsilons(
    book: Book, stated: Stated | None, summary: Mapping[str, Any]
) -> Iterator[Check]:
    """Every epsilon of the summary."""
    found: Mapping[str, Any]
    if stated:
        found = {
            name: one.to_json() for name, one in stated.epsilons(book.billed()).items()
        }
    else:
        found = {
            name: value if math.isfinite(value) else "unbounded"
            for name, value in bill(book).items()
        }
    for name in dict.fromkeys([*found, *summary["epsilon"]]):
        if stated or name != CLAIMED:
            yield _same(name, summary["epsilon"].get(name), found.get(name))


def _statement(book: Book, stated: Stated | None, summary: Mapping[str, Any]) -> Check:
    """The sentences, word by word; of another version, which may have other words, only its numbers."""
    said, name = str(summary["privacy_statement"]), "privacy_statement"
    if stated is None:
        return Check(name, None, said, None)
    found = stated.prose(book.billed())
    if summary["versions"].get("dpdl") == __version__:
        return Check(name, said == found, said, found)
    return Check(
        f"{name}, its numbers",
        _proven(said) == _proven(found),
        _proven(said),
        _proven(found),
    )


def _proven(text: str) -> list[str]:
    """Epsilon, delta, rounds and sigma in a statement; nothing where nothing is proven."""
    found = re.search(
        r"Proven: \((\S+), (\S+)\).* over (\d+) rounds .*noise multiplier (\S+)\)", text
    )
    return list(found.groups()) if found else []


def _same(name: str, reported: Any, recomputed: Any) -> Check:
    return Check(name, _close(reported, recomputed), reported, recomputed)


def _close(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9)
    return bool(a == b)
