"""`dpdl peer mailbox`: for sites that accept no connections; anybody may host it."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import click

MEGABYTE = 1 << 20


@click.command()
@click.argument("cards", nargs=-1, metavar="CARD...", type=click.Path(path_type=Path))
@click.option("--listen", required=True, metavar="HOST:PORT", help="where it listens")
@click.option(
    "--folder",
    required=True,
    type=click.Path(path_type=Path),
    help="where envelopes are kept",
)
@click.option(
    "--tls-cert",
    required=True,
    type=click.Path(path_type=Path),
    help="an ordinary web certificate (PEM)",
)
@click.option(
    "--tls-key", required=True, type=click.Path(path_type=Path), help="its key (PEM)"
)
@click.option(
    "--quota",
    default=1024,
    show_default=True,
    type=click.IntRange(1, 1 << 20),
    help="megabytes that each member may leave here",
)
def mailbox(
    cards: tuple[Path, ...],
    listen: str,
    folder: Path,
    tls_cert: Path,
    tls_key: Path,
    quota: int,
) -> None:
    """Keep sealed envelopes for the members with these CARDs, until they fetch them."""
    from dpdl.folder.files import refusing
    from dpdl.peer.contacts import read_card
    from dpdl.peer.mailbox import Mailbox, MailboxSettings
    from dpdl.peer.mailbox_folder import Bounds
    from dpdl.peer.site_settings import address_of

    host, port = address_of(listen)
    members = [read_card(card) for card in cards]
    bounds = Bounds(quota=quota * MEGABYTE, largest=min(quota, 256) * MEGABYTE)
    settings = MailboxSettings(host, port, folder, tls_cert, tls_key, bounds)

    def ready(port: int) -> None:
        names = ", ".join(card.name for card in members)
        click.echo(f"Mailbox of {names} at {host}:{port}.")

    async def serve() -> None:
        with refusing("Folder", folder):
            box = Mailbox(settings, members)
        task = asyncio.ensure_future(box.serve(ready))
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
        try:
            await task
        except asyncio.CancelledError:
            return

    asyncio.run(serve())
