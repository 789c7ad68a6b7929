"""Which ledger a run pays into: the named one, that of an earlier start, or the data's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.folder import names
from dpdl.folder.data_ledger import DataLedger
from dpdl.folder.data_ledger_place import (
    SECURE,
    beside,
    check_randomness,
    ledger_folder,
)
from dpdl.folder.ledger_note import LedgerNote
from dpdl.planning.plan import Plan
from dpdl.planning.sites import Sites
from dpdl.tasks.data import Dataset
from dpdl.training.run_account import RunAccount, refuse_older


@contextmanager
def account_of(
    p: Plan, named: Path | None, folder: Path | None, again: bool
) -> Iterator[RunAccount | None]:
    """The account of a run that begins in a folder, or goes on there; None: no ledger is about it.

    What the budget has no room for is refused before anything is written.
    """
    note = LedgerNote.of(folder) if folder and again else None
    place = chosen(p.experiment, named, note)
    if place is None:
        yield None
        return
    check_randomness(p.experiment)
    _refuse_shared_records(p)
    with DataLedger.open(place) as ledger:
        if folder and again:
            note = _going_on(ledger, folder, note)
        account = RunAccount(
            ledger, p.public, folder, note or LedgerNote.new(folder, ledger)
        )
        if not again:
            account.refuse_beyond()
        yield account


def chosen(e: Experiment, named: Path | None, note: LedgerNote | None) -> Path | None:
    """The folder of the ledger.

    Whoever uses data that have a ledger beside them pays into that one, unless the noise protects
    nobody anyway.
    """
    refuse_site_ledgers(e)
    own = own_ledgers(e) if e.randomness == SECURE else []
    given = ledger_folder(named) if named else None
    if own and given and own[0].resolve() != given.resolve():
        raise InputError(
            f"The data have a ledger of their own, {str(own[0])!r}; leave out --ledger."
        )
    if given:
        return given
    if note:
        return ledger_folder(Path(note.path))
    return own[0] if own else None


def refuse_site_ledgers(e: Experiment) -> None:
    """Refuse sites that have ledgers of their own, which nobody would pay into."""
    own = own_ledgers(e)
    if own and e.sites is not None and e.randomness == SECURE:
        raise InputError(
            f"Ledger {str(own[0])!r} is about one site, and a run of several sites does not pay "
            "into it; use `dpdl peer`, where every site pays into its own."
        )


def own_ledgers(e: Experiment) -> list[Path]:
    """The ledgers beside the files that an experiment names."""
    files = [e.dataset] if e.sites is None else list(e.sites)
    places = [beside(Path(file).expanduser()) for file in files]
    return [place for place in places if (place / names.DATA_LEDGER).is_file()]


def _going_on(ledger: DataLedger, folder: Path, note: LedgerNote | None) -> LedgerNote:
    if note is None:
        raise InputError(
            f"Run {str(folder)!r} was started without a ledger, and what has left is in none; "
            "start a new run."
        )
    refuse_older(ledger, folder, note)
    return note


def _refuse_shared_records(p: Plan) -> None:
    """Refuse runs in which a record may be in two places: it would pay for one of them only."""
    if isinstance(p.source, Sites):
        _refuse_twice(p.source)
    elif p.algorithm.public_records:
        raise InputError(
            f"{p.experiment.algorithm} makes {p.algorithm.public_records} records of the data set "
            "public, which no ledger can account for; choose another algorithm."
        )


def _refuse_twice(sites: Sites) -> None:
    owners = Counter(
        id(owner) if isinstance(owner, Dataset) else str(Path(owner).resolve())
        for owner in sites.owners
    )
    for owner, count in owners.items():
        if count > 1:
            raise InputError(
                f"Site {owner!r} is given to {count} agents: its records would be paid for once "
                "and used by each."
            )
