"""`dpdl privacy verify`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpdl.cli.common import json_option, print_json, run_argument

if TYPE_CHECKING:
    from dpdl.folder.verify import Check, Verdict

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
        print_json(verdict.as_dict())
    else:
        _show(verdict)
    if not verdict.agrees:
        click.get_current_context().exit(3)


def _show(verdict: Verdict) -> None:
    for check in verdict.checks:
        both = check in verdict.epsilons or check.agrees is False
        click.echo(f"{STATES[check.agrees]:8} {_line(check, both)}")
    click.echo(f"Head of the ledger: {verdict.head}")
    agrees = "agrees" if verdict.agrees else "does NOT agree"
    click.echo(f"The ledger {agrees} with the report.")


def _line(check: Check, both: bool) -> str:
    """A comparison in one line; what agrees need not be said twice."""
    reported, recomputed = _text(check.reported), _text(check.recomputed)
    if both:
        return f"{check.name:34} reported {reported}   recomputed {recomputed}"
    return f"{check.name:34} {reported}"


def _text(value: Any) -> str:
    if value is None:
        return "-"
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
