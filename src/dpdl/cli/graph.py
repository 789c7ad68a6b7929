"""`dpdl graph`."""

from __future__ import annotations

from pathlib import Path

import click

from dpdl.cli.common import json_option, out_option, print_json
from dpdl.cli.completion import among
from dpdl.cli.options import experiment_options
from dpdl.experiment.names import graphs
from dpdl.extras import PLOTS, drawn, left_out, need


@click.command()
@click.argument("name", shell_complete=among(graphs))
@click.option(
    "--agents", type=int, default=None, help="number of agents N; a file knows its own"
)
@experiment_options(only=["weights", "seed"])
@out_option("picture [runs/graph-NAME.png]")
@json_option()
def graph(
    name: str,
    agents: int | None,
    weights: str | None,
    seed: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Show the graph NAME (or a file): edges, degrees, weights, spectral gap; save a picture."""
    if out is not None:
        need(PLOTS, f"The picture {str(out)!r}")
    from dpdl.folder.files import among_runs
    from dpdl.graph import build, describe
    from dpdl.pages.figures import draw_graph

    built = build(name, agents, weights or "metropolis", seed or 0)
    file = f"graph-{Path(name).stem.replace(':', '-')}-{len(built)}.png"
    picture = drawn(lambda: str(draw_graph(built, out or among_runs(file))), None)
    facts = describe(built)
    if picture is None:
        click.echo(left_out("The picture was"), err=True)
    if as_json:
        print_json({**facts.to_json(), "picture": picture})
        return
    around = f"{facts.degree.min} to {facts.degree.max} neighbours"
    click.echo(f"{name}: {facts.agents} agents, {facts.edges} edges, {around}")
    click.echo(f"spectral gap {facts.spectral_gap:.4f}, rho {facts.rho:.4f}")
    click.echo(f"weights from {built.w_min:.4g} to {built.w_max:.4g}")
    if picture is not None:
        click.echo(f"picture: {picture}")
