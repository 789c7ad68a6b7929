"""What the files of a run say about its privacy.

Settings, result and ledger, read with tolerance for other versions.

A ledger may have several headers: rounds after a header are paid for with its mechanism, and they
add up.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, final

from dpdl.errors import InputError
from dpdl.folder import names
from dpdl.folder.bill import mechanism_of, relation_of
from dpdl.folder.run_folder import RunFolder
from dpdl.privacy.accounting import Effect, epsilon
from dpdl.privacy.threats import Threat, threat

DAMAGE = (AttributeError, IndexError, KeyError, TypeError, ValueError)
"""What reading a file with other contents than dpdl writes ends in."""
UNTOLD = ("seed", "data_sha256")
"""Left out before settings are hashed: one could try seeds, or data, until the hash fits."""


class Segment(NamedTuple):
    """A header of the ledger, and in how many rounds each agent paid under it."""

    header: Mapping[str, Any]
    counts: list[int]


@final
@dataclass(frozen=True)
class Evidence:
    """The files of one finished run."""

    settings: Mapping[str, Any]
    facts: Mapping[str, Any]  # what experiment.json has beside the settings
    summary: Mapping[str, Any]
    segments: Sequence[Segment]
    hashes: Mapping[str, str]

    @property
    def header(self) -> Mapping[str, Any]:
        """The mechanism that the run began with."""
        return self.segments[0].header

    @property
    def listeners(self) -> list[Threat]:
        """All that the ledger accounts for; the one whom the noise was made for is the first."""
        asked = threat(self.header["threat"])
        return list(dict.fromkeys([asked, *map(threat, self.header["sigma_eff"])]))

    @cached_property
    def spent(self) -> dict[Threat, list[float]]:
        """The epsilon of every agent, from the ledger alone; infinity where nothing bounds it."""
        return {
            listener: _spent(self.segments, str(listener))
            for listener in self.listeners
        }

    def proven(self, listener: Threat) -> float | None:
        """The largest epsilon of all agents.

        None unless ledger and result both have one, and the same.
        """
        found = max(self.spent[listener])
        reported = self.summary["epsilon"].get(listener.key)
        return found if _number(reported) and _close(found, reported) else None

    def disputed(self) -> list[Threat]:
        """Against whom the ledger and the result state different things."""
        found = ((listener, max(self.spent[listener])) for listener in self.listeners)
        stated = self.summary["epsilon"]
        return [one for one, value in found if not _agree(value, stated.get(one.key))]


def read(run_dir: Path) -> Evidence:
    """All files of a run; one sentence says what is missing or damaged."""
    run = RunFolder(run_dir)
    experiment, summary = run.facts(), run.summary().to_json()
    try:
        facts = {
            name: value for name, value in experiment.items() if name != "experiment"
        }
        found = Evidence(
            experiment["experiment"],
            facts,
            summary,
            _segments(run.ledger_path),
            _hashes(run_dir, experiment),
        )
        _ = found.spent, found.disputed(), found.settings["randomness"]
    except DAMAGE as failure:
        raise InputError(
            _damaged(run_dir, f"{type(failure).__name__}: {failure}")
        ) from failure
    return found


def _damaged(run_dir: Path, what: str) -> str:
    return (
        f"Run {str(run_dir)!r} holds a file that is damaged or was written by another "
        f"version of dpdl ({what})."
    )


# ------------------------------------------------------------------ ledger
def _segments(path: Path) -> list[Segment]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError as failure:
        raise InputError(
            f"Ledger {str(path)!r} cannot be read: {failure.strerror}."
        ) from failure
    found: list[Segment] = []
    for number, line in enumerate(lines, 1):
        entry = _entry(path, line, last=number == len(lines))
        if "sigma_eff" in entry:
            found.append(Segment(entry, [0] * len(entry["records"])))
        elif not found:
            raise InputError(
                f"Ledger {str(path)!r} is damaged: its first line is no header."
            )
        elif "round" in entry:
            everybody = range(len(found[-1].counts))
            for agent in everybody if entry.get("agents") is None else entry["agents"]:
                found[-1].counts[agent] += 1
    if not found:
        raise InputError(f"Ledger {str(path)!r} is damaged: it is empty.")
    return found


def _entry(path: Path, line: str, last: bool) -> Mapping[str, Any]:
    """A line.

    Of the last one a crash may have cut off the end, before anything of its round was sent.
    """
    try:
        entry = json.loads(line)
    except ValueError as failure:
        if last:
            return {"cut": line}
        raise InputError(f"Ledger {str(path)!r} is damaged: {failure}.") from failure
    if not isinstance(entry, dict):
        raise InputError(f"Ledger {str(path)!r} is damaged: a line is no object.")
    return entry


def _spent(segments: Sequence[Segment], listener: str) -> list[float]:
    first = segments[0].header
    if any(
        (s.header["delta"], s.header["relation"]) != (first["delta"], first["relation"])
        for s in segments
    ):
        return [math.inf] * len(first["records"])
    return [
        _of_agent(segments, listener, agent) for agent in range(len(first["records"]))
    ]


def _of_agent(segments: Sequence[Segment], listener: str, agent: int) -> float:
    steps = []
    for header, counts in segments:
        sigma = header["sigma_eff"][listener][agent]
        if sigma <= 0:
            return math.inf
        step = mechanism_of(header).step(agent, Effect(sigma))
        steps.append((step, counts[agent]))
    first = segments[0].header
    return epsilon(steps, first["delta"], relation_of(first))


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-9)


def _agree(found: float, reported: Any) -> bool:
    return _close(found, reported) if _number(reported) else math.isinf(found)


# ------------------------------------------------------------------ hashes
def _hashes(run_dir: Path, experiment: Mapping[str, Any]) -> dict[str, str]:
    found = {"settings": _of_settings(experiment)}
    for name in (names.LEDGER, names.STATE):
        path = run_dir / name
        if path.exists():
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def _of_settings(experiment: Mapping[str, Any]) -> str:
    """Of `experiment.json` without what could be found by trying."""
    kept = {name: value for name, value in experiment.items() if name not in UNTOLD}
    kept["experiment"] = {
        name: value
        for name, value in experiment["experiment"].items()
        if name not in UNTOLD
    }
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()
