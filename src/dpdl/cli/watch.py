"""`dpdl watch`: a live page about runs, while they go on or afterwards."""

from __future__ import annotations

from pathlib import Path

import click

from dpdl.cli.common import path_option
from dpdl.folder import names


@click.command()
@click.argument(
    "folder",
    type=click.Path(path_type=Path),
    default=Path(names.RUNS),
    metavar="[RUN|FOLDER]",
)
@click.option("--port", type=int, default=0, help="where to serve [any free port]")
@click.option("--open/--no-open", "show", default=True, help="open it in a browser")
@click.option(
    "--public", is_flag=True, help="leave out what no epsilon covers, and names"
)
@click.option(
    "--remote",
    metavar="ADDRESS",
    help="serve to other machines at this address of this one; needs TLS",
)
@path_option("--cert", "certificate for TLS, in PEM form")
@path_option("--key", "its private key")
def watch(
    folder: Path,
    port: int,
    show: bool,
    public: bool,
    remote: str | None,
    cert: Path | None,
    key: Path | None,
) -> None:
    """Show runs on a live page: graph, curves, epsilon spent and left, time left.

    RUN is a run folder; FOLDER holds several, and new ones appear by themselves. Without either:
    runs/. The page reads files only, so training is not disturbed, and it works afterwards, too.

    It is served to this machine alone, at an address that holds a secret token. From another
    machine: ssh -L PORT:127.0.0.1:PORT HOST. Ctrl-C ends it.
    """
    from dpdl.watch.server import HERE, Address, WatchServer
    from dpdl.watch.watched_folder import WatchedFolder

    address = Address(remote or HERE, port, cert, key)
    watched = WatchedFolder(folder, public)
    watched.require_runs()
    server = WatchServer(watched, address)
    click.echo(f"Watching {folder}")
    click.echo(f"Open {server.url}")
    click.echo("Ctrl-C ends it; the runs go on.")
    if show:
        click.launch(server.url)
    try:
        server.serve()
    except KeyboardInterrupt:
        click.echo("Closed.")
