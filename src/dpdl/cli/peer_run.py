"""`dpdl peer` while a run goes on: run, status, pause, drop, check; audit and export afterwards."""

from __future__ import annotations

import signal
from pathlib import Path

import click

from dpdl.cli.common import (
    json_option,
    out_option,
    path_option,
    print_json,
    quiet_option,
)
from dpdl.cli.peer import home_option, opened, peer, run_name, run_of
from dpdl.cli.peer_mailbox import mailbox
from dpdl.errors import InputError, RunFailed
from dpdl.folder import names as files
from dpdl.text import sentence

peer.add_command(mailbox)
LINE = 1000
"""Characters of a line of the log; `--json` has all of them."""


@peer.command()
@run_name
@path_option("--test", "the public test set of the manifest, if it has one")
@click.option(
    "--until-eof", is_flag=True, help="stop when whoever holds standard input has ended"
)
@quiet_option
@home_option
def run(run: str, test: Path | None, until_eof: bool, quiet: bool, home: Path) -> None:
    """Take part in RUN: wait for all, train, resume. Nothing else releases anything."""
    site = opened(home)
    folder = run_of(site, run)

    from dpdl.peer.running import Manner, Peer
    from dpdl.peer.site_process import when_alone

    def say(sentence: str) -> None:
        if not quiet:
            click.echo(sentence, err=True)

    manner = Manner(network=site.network_settings(), say=say, test=test)
    member = Peer(site, folder, manner)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: member.standing.stop())
    if until_eof:
        when_alone(member.standing.stop)
    try:
        ended = member.run()
    finally:
        member.close()
    score = "" if ended.score is None else f", own score {ended.score:.4g}"
    click.echo(f"{site.name}: all {ended.rounds} rounds{score}.")


@peer.command()
@run_name
@click.option(
    "--patience", default=5.0, show_default=True, help="seconds for every member"
)
@home_option
def check(run: str, patience: float, home: Path) -> None:
    """Look at everything that RUN needs, each line ok or with a remedy; nothing is sent."""
    site = opened(home)
    folder = run_of(site, run)

    from dpdl.peer.checking import checks

    bad = 0
    for one in checks(site, folder, patience):
        bad += not one.well
        click.echo(f"{'ok ' if one.well else 'NOT'} {one.what}: {one.said}")
    if bad:
        raise InputError(f"{bad} of the checks did not go well.")


@peer.command()
@path_option("--tls-cert", "a certificate of your own (PEM)")
@path_option("--tls-key", "its key (PEM)")
@home_option
def rotate(tls_cert: Path | None, tls_key: Path | None, home: Path) -> None:
    """Make a new certificate and a new card; the old one is valid until the new one is seen."""
    card = opened(home).rotate(tls_cert=tls_cert, tls_key=tls_key)
    click.echo(
        f"Card {card.serial}: {home / 'card.toml'}; mail it to the other members."
    )


@peer.command()
@click.argument("run", metavar="[RUN]", required=False)
@click.option("--shareable", is_flag=True, help="without what no epsilon covers")
@click.option(
    "--prometheus", is_flag=True, help="also write metrics.prom beside the run"
)
@json_option()
@home_option
def status(
    run: str | None, shareable: bool, prometheus: bool, as_json: bool, home: Path
) -> None:
    """Where RUN stands, or all runs of this site."""
    from dpdl.folder.files import write
    from dpdl.peer.status import status_of

    site = opened(home)
    names = [run] if run else [path.name for path in site.runs()]
    runs = [run_of(site, name) for name in names]
    found = [status_of(site, one) for one in runs]
    if shareable:
        found = [one.shareable() for one in found]
    for folder, one in zip(runs, found, strict=True):
        if prometheus:
            write(folder.path / "metrics.prom", one.prometheus().encode())
    if as_json:
        print_json({"runs": found})
        return
    for one in found:
        click.echo(one.line())
        for waiting in one.waiting:
            click.echo(f"  {waiting.name}: {waiting.why}")
        if one.alarm:
            click.echo(f"  ALARM: {one.alarm}")


@peer.command()
@run_name
@click.option(
    "--kind", default=None, help="only these: refused, violation, rollback, ..."
)
@json_option()
@home_option
def log(run: str, kind: str | None, as_json: bool, home: Path) -> None:
    """What has happened to RUN here: starts, whom it turned away, evidence, consent."""
    from dpdl.peer.store_reader import StoreReader

    with StoreReader(run_of(opened(home), run).path) as store:
        found = [one for one in store.events() if kind in (None, one.kind)]
    if as_json:
        print_json({"events": [one._asdict() for one in found]})
        return
    for one in found:
        click.echo(f"{one.time} {one.kind}: {sentence(one.text, LINE)}")


@peer.command()
@run_name
@click.option("--off", is_flag=True, help="go on")
@home_option
def pause(run: str, off: bool, home: Path) -> None:
    """Stop before the next round, where the program may be upgraded."""
    file = run_of(opened(home), run).pause_file
    if off:
        file.unlink(missing_ok=True)
        click.echo("It may go on: dpdl peer run.")
    else:
        file.touch()
        click.echo("It stops before the next round.")


@peer.command()
@run_name
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--nobody", is_flag=True, help="begin the round anew, with all members")
@click.option(
    "--attempt", default=1, show_default=True, help="a higher one replaces a lower one"
)
@home_option
def drop(
    run: str, names: tuple[str, ...], nobody: bool, attempt: int, home: Path
) -> None:
    """Go on without NAME; all members that remain must say the same."""
    from dpdl.peer.ending import ask_to_drop

    if bool(names) == nobody:
        raise InputError("Name the members to drop, or say --nobody, one of both.")
    site = opened(home)
    view = ask_to_drop(site, run_of(site, run), names, attempt)
    click.echo(
        f"View {view} ends when all who remain have said the same; dpdl peer run goes on then."
    )


@peer.command()
@run_name
@json_option()
@home_option
def audit(run: str, as_json: bool, home: Path) -> None:
    """Check signatures, logs and ledger of RUN, and compute epsilon again."""
    from dpdl.peer.auditing import audit_run

    site = opened(home)
    found = audit_run(site, run_of(site, run))
    if as_json:
        print_json(found)
    else:
        click.echo(
            f"{found.site}: {found.rounds} rounds, {found.charged} charged, epsilon "
            f"{found.epsilon:.4g}, {found.violations} violations of neighbours"
        )
        for problem in found.problems:
            click.echo(f"  {problem}")
        click.echo(f"audit: {'ok' if found.ok else 'NOT ok'}")
    if not found.ok:
        raise RunFailed(f"The audit found {len(found.problems)} problem(s).")


@peer.command()
@run_name
@click.option("--own-score", is_flag=True, help="say in the card how good it is here")
@out_option("folder for model, card and script [RUN/model]")
@json_option()
@home_option
def export(
    run: str, own_score: bool, out: Path | None, as_json: bool, home: Path
) -> None:
    """Write the model of RUN, a card that says what is proven, and a script that loads it."""
    from dpdl.peer.exporting import export_run

    site = opened(home)
    folder = run_of(site, run)
    found = export_run(folder, site.name, out or folder.path / files.MODEL, own_score)
    if as_json:
        print_json(found)
        return
    click.echo(f"{found.folder}: {', '.join(found.files)}")
    click.echo(f"SHA-256 of the parameters: {found.sha256}")


@peer.command()
@click.argument("manifest", type=click.Path(path_type=Path))
@click.option("--rounds", default=3, show_default=True, help="of the run's, to try")
@out_option("an empty folder [a temporary one]")
@json_option()
@quiet_option
@click.option(
    "--module", "modules", multiple=True, help="code of your own that MANIFEST names"
)
def rehearse(
    manifest: Path,
    rounds: int,
    out: Path | None,
    as_json: bool,
    quiet: bool,
    modules: tuple[str, ...],
) -> None:
    """Run all members of MANIFEST on this machine, with random records; spends nothing."""
    from dpdl.peer.rehearse import rehearse_file

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the sites end, too

    def say(sentence: str) -> None:
        if not quiet:
            click.echo(sentence, err=True)

    found = rehearse_file(manifest, rounds, out, say, modules)
    if as_json:
        print_json(found)
        return
    for name, verdict in zip(found.members, found.audits, strict=True):
        click.echo(f"{name}: audit {verdict}")
    click.echo(
        f"{found.rounds} rounds in {found.seconds:.1f} s; models differ by at most "
        f"{found.distance:.3g}"
    )
    if not found.ok:
        raise RunFailed("The rehearsal did not end well.")
