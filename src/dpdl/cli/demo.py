"""`dpdl demo`: why this exists, in about a minute."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dpdl.cli.common import json_option, out_option, print_json, quiet_option
from dpdl.extras import PLOTS, need
from dpdl.folder import names

if TYPE_CHECKING:
    from dpdl.cli.demo_show import DemoProgress
    from dpdl.folder.demo_facts import DemoFacts

OUT = Path(names.RUNS) / "demo"


@click.command()
@out_option("folder of the runs, the picture and the page", OUT)
@json_option()
@quiet_option
def demo(out: Path, as_json: bool, quiet: bool) -> None:
    """Show what a neighbour rebuilds: without noise, with the paper's, with a proven one.

    On MNIST, or on bundled digits where it cannot be fetched. What is in the folder already is not
    done again, so the same command continues what Ctrl-C ended, and nothing is deleted.
    """
    need(PLOTS, "The picture of the demo")
    from dpdl.cli.demo_show import DemoProgress, show

    with DemoProgress(hidden=quiet) as progress:
        facts = _tell(out, progress)
    if as_json:
        print_json(facts.to_json())
    else:
        show(facts)


def _tell(out: Path, progress: DemoProgress) -> DemoFacts:
    from dpdl.folder.lock import refuse_other
    from dpdl.training.interrupt import Interrupted

    refuse_other(out, names.DEMO)
    try:
        progress.doing("loading torch and the rest of the package")
        from dpdl.studies.demo.data_choice import choose_data
        from dpdl.studies.demo.script import story_of
        from dpdl.studies.demo.telling import tell

        progress.doing("looking for MNIST")
        with progress.others():
            data = choose_data(progress.shown)
        for note in data.notes:
            progress.say(note)
        return tell(story_of(data.dataset), out, progress, notes=data.notes)
    except (KeyboardInterrupt, Interrupted):
        raise Interrupted(
            f"Interrupted; what is done is kept in {str(out)!r}, and the same command "
            "goes on from there."
        ) from None
