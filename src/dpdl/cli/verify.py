"""`dpdl privacy verify`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from dpdl.run.verify import Check

STATES = {True: "agrees", False: "DIFFERS", None: "unknown"}


@click.command()
@click.argument("run_dir", type=click.Path(path_type=Path), metavar="RUN")
@click.option("--json", "as_json", is_flag=True, help="print one JSON object on standard output")
def verify(run_dir: Path, as_json: bool) -> None:
    """Recompute what a run gave away from its ledger, and compare it with everything that the run folder says."""
    from dpdl.run.verify import verify as compare

    verdict = compare(run_dir)
    if as_json:
        click.echo(json.dumps(verdict.as_dict(), allow_nan=False))
    else:
        for check in verdict.checks:
            click.echo(f"{STATES[check.agrees]:8} {_told(check, check in verdict.epsilons)}")
        click.echo(f"Head of the ledger: {verdict.head}")
        click.echo(
            "The ledger agrees with the report." if verdict.agrees else "The ledger does NOT agree with the report."
        )
    if not verdict.agrees:
        click.get_current_context().exit(3)


def _told(check: Check, both: bool) -> str:
    """A comparison in one line; what agrees need not be said twice."""
    if both or check.agrees is False:
        return f"{check.name:34} reported {_show(check.reported)}   recomputed {_show(check.recomputed)}"
    return f"{check.name:34} {_show(check.reported)}"


def _show(value: Any) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else "-" if value is None else str(value)
    return text if len(text) <= 300 else f"{text[:300]}..."
