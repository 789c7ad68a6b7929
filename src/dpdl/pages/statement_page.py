"""`dpdl privacy statement`: the statement of a run as a page, as text, and for programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, final

from dpdl import __version__
from dpdl.folder import files, names
from dpdl.pages.document import as_html, as_text
from dpdl.pages.risk_numbers import best_guess
from dpdl.pages.statement import alarms, leading_order, protects, statement
from dpdl.pages.statement_evidence import Evidence, read
from dpdl.privacy.epsilon import Epsilon
from dpdl.privacy.releases import Release
from dpdl.records import Record


@final
@dataclass(frozen=True, kw_only=True)
class StatementFacts(Record):
    """The statement for programs. The mechanism is that of the ledger's header."""

    page: str | None  # where it was written
    protects: bool  # something is proven, and the noise is secret
    alarms: tuple[str, ...]
    epsilon: Mapping[str, Epsilon]  # by threat, of the agent that is worst off
    per_agent: Mapping[str, tuple[float, ...]]  # where something is proven
    best_guess: Mapping[str, float]
    to_leading_order: bool
    delta: float
    relation: str
    sampling: str
    sigma: float
    neighbours: tuple[tuple[int, ...], ...]
    releases: tuple[Release, ...]
    sha256: Mapping[str, str]


class StatementPage(NamedTuple):
    """A statement, and the file that it was written to (None: to none)."""

    text: str
    path: Path | None
    evidence: Evidence

    def facts(self) -> StatementFacts:
        """The statement for programs."""
        found, header = self.evidence, self.evidence.header
        proven = {one.key: found.proven(one) for one in found.listeners}
        finite = {key: one.finite for key, one in proven.items()}
        known = {key: value for key, value in finite.items() if value is not None}
        spent = {one.key: tuple(values) for one, values in found.spent.items()}
        return StatementFacts(
            page=str(self.path) if self.path else None,
            protects=protects(found),
            alarms=tuple(alarm.text for alarm in alarms(found)),
            epsilon=proven,
            per_agent={key: spent[key] for key in known},
            best_guess={
                key: best_guess(one, header.delta) for key, one in known.items()
            },
            to_leading_order=leading_order(found),
            delta=header.delta,
            relation=header.relation,
            sampling=header.sampling,
            sigma=header.sigma,
            neighbours=header.neighbours,
            releases=header.releases,
            sha256=found.hashes,
        )


def write_statement(run_dir: Path, form: str | None, out: Path | None) -> StatementPage:
    """Write the statement of a run.

    `form` is `text`, `html`, or None for both: then the page is written, and the text is for
    whoever called. Text alone is written only where a file is named.
    """
    found = read(run_dir)
    document = statement(found, __version__, datetime.now(UTC).date().isoformat())
    text = as_text(document)
    path = out if form == "text" else out or run_dir / names.STATEMENT
    if path:
        content = text if form == "text" else as_html(document)
        with files.refusing("Page", path):
            files.write(path, content.encode("utf-8"))
    return StatementPage(text, path, found)
