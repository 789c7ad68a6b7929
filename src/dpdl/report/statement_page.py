"""`dpdl privacy statement`: the statement of a run as a page, as text, and for programs."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from dpdl import __version__
from dpdl.folder import files, names
from dpdl.report.document import as_html, as_text
from dpdl.report.risk_numbers import best_guess
from dpdl.report.statement import alarms, leading_order, protects, statement
from dpdl.report.statement_evidence import Evidence, read

MECHANISM = ("delta", "relation", "sampling", "sigma", "neighbours", "releases")
"""What programs get of the ledger's header as it is."""


class StatementPage(NamedTuple):
    """A statement, and the file that it was written to (None: to none)."""

    text: str
    path: Path | None
    evidence: Evidence

    def facts(self) -> dict[str, Any]:
        """The statement for programs."""
        found, path = self.evidence, self.path
        proven = {one.key: found.proven(one) for one in found.listeners}
        known = {key: value for key, value in proven.items() if value is not None}
        spent = {one.key: values for one, values in found.spent.items()}
        delta = found.header["delta"]
        return {
            "page": str(path) if path else None,
            "protects": protects(found),
            "alarms": [alarm.text for alarm in alarms(found)],
            "epsilon": {
                key: "unbounded" if value is None else value
                for key, value in proven.items()
            },
            "per_agent": {key: spent[key] for key in known},
            "best_guess": {
                key: best_guess(value, delta) for key, value in known.items()
            },
            "to_leading_order": leading_order(found),
            **{name: found.header.get(name) for name in MECHANISM},
            "sha256": dict(found.hashes),
        }


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
