"""What the files of a run say about its privacy: settings, result and ledger.

Files of other versions are read as far as possible. A ledger may have several headers: rounds after
a header are charged with its mechanism, and they add up.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import final

from dpdl.errors import InputError, reason
from dpdl.folder import names
from dpdl.folder.ledger_cost import model_of, relation_of, stated_steps
from dpdl.folder.ledger_lines import ChargedRound, Header
from dpdl.folder.run_facts import RunFacts
from dpdl.folder.run_folder import RunFolder
from dpdl.folder.summary import Summary
from dpdl.foreign import parse_json, read_bytes, read_text
from dpdl.privacy.accounting import epsilon
from dpdl.privacy.epsilon import UNBOUNDED, Epsilon
from dpdl.privacy.threats import Threat, threat
from dpdl.records import Json, JsonObject

DAMAGE = (AttributeError, IndexError, KeyError, TypeError, ValueError)
"""What reading a file with other contents than dpdl writes ends in."""
GUESSABLE = ("data_sha256", "site_sha256")
GUESSABLE_OPTIONS = ("seed",)
"""Left out before settings are hashed: one could try seeds, or data, until the hash fits."""


@final
@dataclass(frozen=True)
class Segment:
    """A header of the ledger, and what each agent was charged under it."""

    header: Header
    counts: list[int]
    centres: int = 0  # how often the centre of features was charged


@final
@dataclass(frozen=True)
class Evidence:
    """The files of one finished run."""

    facts: RunFacts
    summary: Summary
    segments: Sequence[Segment]
    hashes: Mapping[str, str]

    @property
    def settings(self) -> Mapping[str, Json]:
        """The options of the experiment."""
        return self.facts.experiment

    @property
    def secure(self) -> bool:
        """Whether the noise is secret."""
        return self.settings["randomness"] == "secure"

    @property
    def header(self) -> Header:
        """The mechanism that the run began with."""
        return self.segments[0].header

    @property
    def listeners(self) -> list[Threat]:
        """All that the ledger accounts for; the one whom the noise was made for is the first."""
        first = threat(self.header.threat)
        return list(dict.fromkeys([first, *map(threat, self.header.sigma_eff)]))

    @cached_property
    def spent(self) -> dict[Threat, list[float]]:
        """The epsilon of every agent, from the ledger alone; infinity where nothing bounds it."""
        return {
            listener: _spent(self.segments, listener) for listener in self.listeners
        }

    def proven(self, listener: Threat) -> Epsilon:
        """The largest epsilon of all agents.

        Unbounded unless ledger and result both have one, and the same.
        """
        found, reported = max(self.spent[listener]), self._reported(listener)
        known = reported.finite is not None and _close(found, reported.finite)
        return Epsilon(found) if known else UNBOUNDED

    def disputed(self) -> list[Threat]:
        """Against whom the ledger and the result state different things."""
        return [one for one in self.listeners if not self._agree(one)]

    def _reported(self, listener: Threat) -> Epsilon:
        return self.summary.epsilon.against(listener)

    def _agree(self, listener: Threat) -> bool:
        found, reported = max(self.spent[listener]), self._reported(listener).finite
        return math.isinf(found) if reported is None else _close(found, reported)


def read(run_dir: Path) -> Evidence:
    """All files of a run; one sentence says what is missing or damaged."""
    run = RunFolder(run_dir)
    facts, summary = run.facts(), run.summary()
    try:
        segments = _segments(run.ledger_path)
        found = Evidence(facts, summary, segments, _hashes(run_dir, facts))
        _ = found.spent, found.disputed(), found.secure
    except DAMAGE as failure:
        raise InputError(
            f"Run {str(run_dir)!r} holds a file that is damaged or was written by "
            f"another version of dpdl ({type(failure).__name__}: {failure})."
        ) from failure
    return found


# ------------------------------------------------------------------ ledger
def _segments(path: Path) -> list[Segment]:
    try:
        lines = read_text(path).split("\n")
    except OSError as failure:
        raise InputError(
            f"Ledger {str(path)!r} cannot be read: {reason(failure)}."
        ) from failure
    except ValueError as failure:
        raise InputError(f"Ledger {str(path)!r} is damaged: {failure}.") from failure
    lines = lines if lines[-1] else lines[:-1]
    found: list[Segment] = []
    for number, line in enumerate(lines, 1):
        content = _object(path, line, last=number == len(lines))
        if "sigma_eff" in content:
            header = Header.from_json(content)
            found.append(Segment(header, [0] * len(header.records)))
        elif not found:
            raise InputError(
                f"Ledger {str(path)!r} is damaged: its first line is no header."
            )
        elif "round" in content:
            _charge(found[-1], ChargedRound.from_json(content))
        elif "centre" in content:
            found[-1] = replace(found[-1], centres=found[-1].centres + 1)
    if not found:
        raise InputError(f"Ledger {str(path)!r} is damaged: it is empty.")
    return found


def _charge(segment: Segment, entry: ChargedRound) -> None:
    everybody = range(len(segment.counts))
    for agent in everybody if entry.agents is None else entry.agents:
        segment.counts[agent] += 1


def _object(path: Path, line: str, last: bool) -> JsonObject:
    """A line.

    Of the last one a crash may have cut off the end, before anything of its round was sent.
    """
    try:
        content = parse_json(line)
    except ValueError as failure:
        if last:
            return {}
        raise InputError(f"Ledger {str(path)!r} is damaged: {failure}.") from failure
    if not isinstance(content, dict):
        raise InputError(f"Ledger {str(path)!r} is damaged: a line is no object.")
    return content


def _spent(segments: Sequence[Segment], listener: Threat) -> list[float]:
    first = segments[0].header
    agents = range(len(first.records))
    terms = {(one.header.delta, one.header.relation) for one in segments}
    if len(terms) > 1:
        return [math.inf] * len(agents)
    steps = [stated_steps(segment.header, listener) for segment in segments]

    def of_agent(agent: int) -> float:
        if any(of[agent].sigma <= 0 for of in steps):
            return math.inf
        pairs = [
            (of[agent], segment.counts[agent])
            for of, segment in zip(steps, segments, strict=True)
        ]
        for segment in segments:
            if segment.centres:
                model = model_of(segment.header, segment.header.rounds or 0)
                once = 1 if segment.header.repeatable else segment.centres
                pairs += [(step, once) for step, _ in model.beside(agent, listener)]
        return epsilon(pairs, first.delta, relation_of(first))

    return [of_agent(agent) for agent in agents]


def _close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-9)


# ------------------------------------------------------------------ hashes
def _hashes(run_dir: Path, facts: RunFacts) -> dict[str, str]:
    found = {"settings": _of_settings(facts)}
    for name in (names.LEDGER, names.STATE):
        path = run_dir / name
        if path.exists():
            found[name] = hashlib.sha256(read_bytes(path)).hexdigest()
    return found


def _of_settings(facts: RunFacts) -> str:
    """Of `experiment.json` without what could be found by trying."""
    kept = _without(facts.to_json(), GUESSABLE)
    kept["experiment"] = _without(facts.experiment, GUESSABLE_OPTIONS)
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()


def _without(values: Mapping[str, Json], left_out: Sequence[str]) -> JsonObject:
    return {name: value for name, value in values.items() if name not in left_out}
