"""`dpdl privacy verify`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dpdl.cli.common import json_option, print_json, run_argument
from dpdl.text import plain

if TYPE_CHECKING:
    from dpdl.folder.verify import Finding, Verdict
    from dpdl.records import Json

STATES = {True: "agrees", False: "DIFFERS", None: "unknown"}
LONGEST = 300
"""Characters of a value that are shown."""


@click.command()
@run_argument
@json_option()
def verify(run_dir: Path, as_json: bool) -> None:
    """Recompute what a run gave away from its ledger, and compare it with all its files."""
    from dpdl.folder.verify import verify as compare

    verdict = compare(run_dir)
    if as_json:
        print_json(verdict)
    else:
        _show(verdict)
    if not verdict.agrees:
        click.get_current_context().exit(3)


def _show(verdict: Verdict) -> None:
    for finding in verdict.checks:
        both = finding.name in verdict.all.reported or finding.agrees is False
        click.echo(f"{STATES[finding.agrees]:8} {_one_line(_line(finding, both))}")
    click.echo(f"Head of the ledger: {_one_line(verdict.ledger_head)}")
    agrees = "agrees" if verdict.agrees else "does NOT agree"
    click.echo(f"The ledger {agrees} with the report.")


def _line(finding: Finding, both: bool) -> str:
    """A comparison in one line; of values that agree one is enough."""
    reported, recomputed = _text(finding.reported), _text(finding.recomputed)
    if both:
        return f"{finding.name:34} reported {reported}   recomputed {recomputed}"
    return f"{finding.name:34} {reported}"


def _one_line(text: str) -> str:
    """What a file says cannot look like a line of ours."""
    return plain(text).replace("\n", r"\n")


def _text(value: Json) -> str:
    if value is None:
        return "-"
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
