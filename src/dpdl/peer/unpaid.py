"""A ledger that is older than the run: what has left and is not in it is charged at the start."""

from __future__ import annotations

from dpdl.folder.data_ledger import DataLedger
from dpdl.folder.data_ledger_entries import Debited
from dpdl.peer.store_reader import StoreReader


def charge_sent(ledger: DataLedger, store: StoreReader, run: str) -> int:
    """Count rounds as spent whose frames may have left and that a ledger does not know.

    A round is paid before its first frame is committed, so there are none unless the ledger alone
    was restored from a backup. How many rounds are new; if any is, all before it count, too.
    """
    committed = [slot for slot, _ in store.outbox()]
    known = _rounds(ledger, run)
    unpaid = [slot for slot in committed if slot.round not in known]
    if not unpaid:
        return 0
    last = max(unpaid)
    return ledger.spent_up_to(run, last.view, last.round)


def _rounds(ledger: DataLedger, run: str) -> set[int]:
    entries = (one for one in ledger.entries() if isinstance(one, Debited))
    return {one.round for one in entries if one.run == run}
