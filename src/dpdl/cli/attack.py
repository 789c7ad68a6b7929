"""`dpdl attack`: rebuild images from what was recorded."""

from __future__ import annotations

from pathlib import Path

import click

from dpdl.cli.common import (
    json_option,
    out_option,
    path_option,
    print_json,
    quiet_option,
)
from dpdl.cli.completion import run_folders
from dpdl.errors import InputError
from dpdl.extras import PLOTS, need
from dpdl.folder import names

PAPER = ("mnist", "cifar10")
GRAPH, AGENTS = "bipartite", 10


@click.command()
@click.argument(
    "runs",
    nargs=-1,
    type=click.Path(path_type=Path),
    metavar="RUN...",
    shell_complete=run_folders,
)
@click.option(
    "--scenario",
    default=None,
    help="cg, mm, self, step, separated by commas, or all [all]",
)
@click.option(
    "--rounds",
    default="all",
    show_default=True,
    help="recorded rounds, separated by commas",
)
@click.option(
    "--batch",
    default=None,
    metavar="SIZES",
    help="recorded sizes of batches, or 'own' [the smallest]",
)
@click.option(
    "--whose",
    default="all",
    show_default=True,
    help="agents whose records to rebuild, by their numbers",
)
@click.option(
    "--labels",
    type=click.Choice(["known", "recovered"]),
    default="known",
    show_default=True,
)
@click.option(
    "--method",
    default="auto",
    show_default=True,
    help="auto, peel, unscatter, inverting, dlg, idlg",
)
@click.option(
    "--iterations",
    type=int,
    default=None,
    help="steps of every optimisation [1000; peel 300]",
)
@click.option(
    "--restarts",
    type=int,
    default=None,
    help="starts of it, of which the best is kept [4; peel 16]",
)
@click.option(
    "--membership",
    is_flag=True,
    help="also ask of records whether they were in the batch",
)
@click.option(
    "--paper",
    type=click.Choice(PAPER),
    default=None,
    help="train and attack what the paper did; no RUN",
)
@click.option(
    "--graph",
    default=None,
    help=f"with --paper: ring, bipartite or complete [{GRAPH}]",
)
@click.option(
    "--agents",
    type=int,
    default=None,
    help=f"with --paper: 10, 20 or 30 [{AGENTS}]",
)
@out_option("with --paper: where runs go [runs/NAME]")
@click.option("--seed", default=0, show_default=True)
@path_option("--gallery", f"picture [RUN/{names.ATTACK}/{names.GALLERY}]")
@json_option()
@quiet_option
def attack(
    runs: tuple[Path, ...],
    scenario: str | None,
    rounds: str,
    batch: str | None,
    whose: str,
    labels: str,
    method: str,
    iterations: int | None,
    restarts: int | None,
    membership: bool,
    paper: str | None,
    graph: str | None,
    agents: int | None,
    out: Path | None,
    seed: int,
    gallery: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Rebuild images from what left the agents of recorded runs, and say how well.

    Attacks read only RUN/recording. What was done before is not done again.
    """
    if bool(runs) == bool(paper):
        raise InputError(
            "Name recorded runs to attack, or --paper mnist or --paper cifar10, and "
            "not both."
        )
    if not paper and (graph or agents or out):
        raise InputError("The options --graph, --agents and --out belong to --paper.")

    need(PLOTS, "The gallery of rebuilt images")
    from dpdl.attacks.effort import Effort
    from dpdl.folder.recording_facts import refuse_unrecorded
    from dpdl.folder.run_folder import RunFolder
    from dpdl.studies.attack_request import AttackRequest

    # What is wrong is refused before torch is imported.
    effort = Effort(method, iterations, restarts, seed)
    request = AttackRequest(
        scenario, rounds, batch, whose, labels, effort, membership, gallery
    )
    for run in runs:
        refuse_unrecorded(RunFolder(run).recording)

    from dpdl.cli.attack_show import AttackProgress, show
    from dpdl.paper.cells import AttackedPlace
    from dpdl.studies.attack import attack_runs
    from dpdl.studies.attack_paper import attack_paper, folder_of

    if paper:
        place = AttackedPlace(
            paper, graph or GRAPH, AGENTS if agents is None else agents
        )
        folder = out or Path(names.RUNS) / folder_of(place, seed)
        facts = attack_paper(place, folder, request, AttackProgress(quiet))
    else:
        facts = attack_runs(runs, request, AttackProgress(quiet))
    if as_json:
        print_json(facts.to_json())
    else:
        show(facts)
