"""`dpdl peer`: organisations train together, each with its own records, noise and ledger."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dpdl.cli.common import json_option, out_option, path_option, print_json
from dpdl.errors import InputError

if TYPE_CHECKING:
    from dpdl.peer.home import Home
    from dpdl.peer.run_folder import PeerRun

HOME = Path("peer")
home_option = click.option(
    "--home",
    type=click.Path(path_type=Path),
    envvar="DPDL_PEER_HOME",
    default=HOME,
    show_default=True,
    help="the folder of this site",
)
run_name = click.argument("run", metavar="RUN")


@click.group()
def peer() -> None:
    """Organisations train together: one process each, and no server."""


def opened(home: Path) -> Home:
    """The site in a folder."""
    from dpdl.peer.home import Home

    return Home.open(home)


def run_of(home: Home, name: str) -> PeerRun:
    """A run of this site, by the beginning of its hash, its folder or its manifest."""
    from dpdl.peer.run_folder import PeerRun

    return PeerRun(home.find_run(name), home.settings.modules)


# ------------------------------------------------------------------ who a site is
@peer.command()
@click.argument("name")
@click.option(
    "--url", default=None, help="where others reach this site, https://HOST:PORT"
)
@click.option(
    "--listen", default=None, metavar="HOST:PORT", help="[0.0.0.0, port of --url]"
)
@click.option(
    "--mailbox", default=None, help="the mailbox of a site without an address"
)
@click.option(
    "--proxy", default=None, help="a proxy for outgoing connections, http://HOST:PORT"
)
@path_option("--tls-cert", "a certificate of your own (PEM)")
@path_option("--tls-key", "its key (PEM)")
@home_option
def init(
    name: str,
    url: str | None,
    listen: str | None,
    mailbox: str | None,
    proxy: str | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    home: Path,
) -> None:
    """Make the keys and the card of site NAME."""
    from dpdl.peer.home import Home
    from dpdl.peer.keys import fingerprint

    site = Home.create(
        home,
        name,
        url,
        listen=listen,
        mailbox=mailbox,
        proxy=proxy,
        tls_cert=tls_cert,
        tls_key=tls_key,
    )
    click.echo(f"Card: {home / 'card.toml'}; mail it to the other members.")
    click.echo(
        f"Fingerprint, to read out by telephone: {fingerprint(site.signing.public)}"
    )


@peer.group("data")
def data_group() -> None:
    """The data sets that this site offers; files stay where they are."""


@data_group.command("add")
@click.argument("name")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--budget", required=True, metavar="EPSILON:DELTA", help="of all runs together"
)
@click.option(
    "--declare", required=True, type=int, help="at most as many records as there are"
)
@click.option("--shape", default=None, help="of a record: 30, or 1,28,28")
@click.option("--predict", default=None, help="such as '2 classes'")
@click.option("--scaling", default=None, help="of pixels: 'pixels', or MEAN/STD")
@click.option(
    "--like", default=None, help="records look like those of this named data set"
)
@home_option
def add_data(
    name: str,
    file: Path,
    budget: str,
    declare: int,
    shape: str | None,
    predict: str | None,
    scaling: str | None,
    like: str | None,
    home: Path,
) -> None:
    """Offer data set NAME, and open the ledger of its budget."""
    from dpdl.folder.data_ledger_budget import budget_in

    site = opened(home)
    offer = site.add_data(
        name,
        file,
        budget=budget_in(budget),
        declare=declare,
        shape=shape,
        predict=predict,
        scaling=scaling,
        like=like,
    )
    click.echo(f"{name}: {offer.records} records are declared, of shape {offer.shape}.")
    click.echo(f"Ledger: {site.ledger_path(name)}")
    click.echo(f"Card: {home / 'card.toml'}; mail it to the other members again.")


@peer.command()
@click.argument("card", type=click.Path(path_type=Path))
@click.option(
    "--digits", is_flag=True, help="only the last 8 digits of the fingerprint"
)
@json_option()
def show(card: Path, digits: bool, as_json: bool) -> None:
    """What a card says, and its fingerprint; nothing is stored."""
    from dpdl.peer.card import Card
    from dpdl.peer.documents import read_file
    from dpdl.peer.keys import fingerprint, last_digits

    found = Card.parse(read_file(card))
    if digits:
        click.echo(last_digits(found.key))
    elif as_json:
        print_json(found)
    else:
        click.echo(f"{found.name}, card {found.serial}: {found.url or 'no address'}")
        click.echo(f"fingerprint {fingerprint(found.key)}")
        for offer in found.data:
            form = f"{offer.predict}, records of shape {offer.shape}"
            click.echo(f"data {offer.name}: {offer.records} records declared, {form}")


@peer.command()
@click.argument("cards", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--digits",
    multiple=True,
    help="the last 8 digits of a fingerprint, as heard; once for every card",
)
@home_option
def admit(cards: tuple[Path, ...], digits: tuple[str, ...], home: Path) -> None:
    """Accept cards of other sites, whose fingerprints were compared by telephone."""
    from dpdl.peer.card import Card
    from dpdl.peer.documents import read_file
    from dpdl.peer.keys import fingerprint, last_digits

    site = opened(home)
    if digits and len(digits) != len(cards):
        raise InputError(
            f"Give --digits once for each of {len(cards)} cards, or never."
        )
    for number, file in enumerate(cards):
        found = Card.parse(read_file(file))
        click.echo(f"{found.name}: {fingerprint(found.key)}")
        if not site.knows(found):
            asked = "Last 8 digits, as you heard them by telephone"
            heard = digits[number] if digits else click.prompt(asked)
            if heard.replace(" ", "").lower() != last_digits(found.key):
                raise InputError(
                    f"These are not the last 8 digits of the fingerprint of {found.name}: its card "
                    "was not admitted."
                )
        site.admit(found)
        click.echo(f"{found.name} is admitted.")


# ------------------------------------------------------------------ what is agreed on
@peer.command()
@click.argument("experiment", type=click.Path(path_type=Path))
@click.option("--members", required=True, help="names of admitted sites, with commas")
@click.option(
    "--data", "data_name", default=None, help="the data set [the first on each card]"
)
@click.option(
    "--alarm", default=60, show_default=True, help="minutes of waiting until an alarm"
)
@click.option(
    "--least-members", default=2, show_default=True, help="that may go on after a drop"
)
@click.option(
    "--after-drop", default="rebuild", show_default=True, help="rebuild, or lost-weight"
)
@click.option(
    "--largest-norm", type=float, default=None, help="of a row that is received"
)
@click.option("--ends", default=None, help="the last day for approvals, YYYY-MM-DD")
@path_option("--test", "a public test set for all (PATH.npz)")
@out_option("where manifest and initial model are written", Path("proposal"))
@home_option
def propose(
    experiment: Path,
    members: str,
    data_name: str | None,
    alarm: int,
    least_members: int,
    after_drop: str,
    largest_norm: float | None,
    ends: str | None,
    test: Path | None,
    out: Path,
    home: Path,
) -> None:
    """Write the manifest of a run, with noise and epsilons, from an experiment (TOML)."""
    from dpdl.peer.manifest_parts import Rules
    from dpdl.peer.proposing import write_proposal

    rules = Rules(alarm, least_members, after_drop, largest_norm, ends)  # type: ignore[arg-type]
    names = [name.strip() for name in members.split(",")]
    site = opened(home)
    manifest = write_proposal(site, experiment, names, data_name, rules, test, out)
    click.echo(f"Run {manifest.hash}")
    for member, epsilon in zip(manifest.members, manifest.privacy.epsilon, strict=True):
        click.echo(f"  {member.name}: epsilon {epsilon:.4g}, {member.records} records")
    click.echo(
        f"Mail {out / 'manifest.toml'} and {out / 'initial.safetensors'} to all members."
    )


@peer.command()
@click.argument("manifest", type=click.Path(path_type=Path))
@json_option()
@home_option
def review(manifest: Path, as_json: bool, home: Path) -> None:
    """One page for a data protection officer; nothing is sent or reserved."""
    from dpdl.peer.consent import adopt
    from dpdl.peer.review import review as reviewed

    site = opened(home)
    before = site.last_manifest()
    found = reviewed(site, adopt(site, manifest), before)
    if as_json:
        print_json(found)
        return
    for line in found.lines():
        click.echo(line)


@peer.command()
@click.argument("manifest", type=click.Path(path_type=Path))
@click.option("--person", default=None, help="who approves; it is written into the log")
@click.option(
    "--withdraw", "back", is_flag=True, help="take the approval back, before round 1"
)
@home_option
def approve(manifest: Path, person: str | None, back: bool, home: Path) -> None:
    """Reserve the budget, and sign; nothing is sent but the approval."""
    from dpdl.peer.consent import adopt, withdraw
    from dpdl.peer.consent import approve as approved

    site = opened(home)
    run = adopt(site, manifest)
    if back:
        withdraw(site, run)
        click.echo("Withdrawn; the budget is free again.")
        return
    if not person:
        raise InputError("Say who approves: --person NAME; it is written into the log.")
    found = approved(site, run, person)
    click.echo(f"Approved by {found.person}: {run.approval_file(site.name)}")
    click.echo(
        f"Now: dpdl peer check {found.manifest[:12]}, then dpdl peer run {found.manifest[:12]}"
    )
