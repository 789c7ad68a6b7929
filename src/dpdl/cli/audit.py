"""`dpdl audit`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dpdl.cli.common import json_option, optional_run_argument, print_json
from dpdl.cli.options import ExperimentCommand, experiment_options, given

OPTIONS = {
    "algorithm",
    "graph",
    "agents",
    "weights",
    "batch",
    "rounds",
    "compress",
    "epsilon",
    "sigma",
    "delta",
    "threat",
    "c2",
    "h",
    "randomness",
    "seed",
}
RECORDS = 6000
MOST_CANARIES = 2000


@click.command(cls=ExperimentCommand)
@optional_run_argument
@experiment_options(only=OPTIONS)
@click.option(
    "--noise",
    default=None,
    help="rule that sets sigma (accountant, theorem1) [theorem1 if it applies]",
)
@click.option(
    "--records", type=int, default=None, help=f"records of every agent [{RECORDS}]"
)
@click.option(
    "--rate",
    type=float,
    default=None,
    help="batch as a share of the records; 1 also measures sigma_eff",
)
@click.option(
    "--canaries",
    type=int,
    default=None,
    help=f"records that are attacked, at once [{MOST_CANARIES}]",
)
@click.option(
    "--trials",
    type=int,
    default=None,
    help="instead, one record, and so many runs with and without it",
)
@click.option(
    "--crowd",
    default=None,
    help="then, where the agent's other records pull (against, along, none) [none]",
)
@click.option(
    "--confidence",
    type=float,
    default=0.95,
    show_default=True,
    help="of the lower bound",
)
@json_option()
def audit(
    run_dir: Path | None,
    noise: str | None,
    records: int | None,
    rate: float | None,
    canaries: int | None,
    trials: int | None,
    crowd: str | None,
    confidence: float,
    as_json: bool,
    **options: Any,
) -> None:
    """Attack what agents send with worst-case records; certify a lower bound on epsilon.

    With RUN, a run folder, the settings are those of the run, and the result is kept there as
    audit.json.
    """
    from dpdl.audit.request import AuditRequest

    request = AuditRequest(
        given(options),
        default_records=RECORDS,
        most_canaries=MOST_CANARIES,
        run=run_dir,
        records=records,
        rate=rate,
        rule=noise,
        canaries=canaries,
        trials=trials,
        crowd=crowd,
        confidence=confidence,
    )
    request.setting()  # refuses what is wrong, before torch is imported

    from dpdl.audit.examine import examine
    from dpdl.cli.audit_show import show
    from dpdl.cli.show import counting

    facts = examine(request, counting)
    if as_json:
        print_json(facts.to_json())
    else:
        show(facts)
    if facts.refutes_proof:
        click.get_current_context().exit(3)
