"""`dpdl peer audit`: whether what a site has on disk fits together, checked from the beginning.

Signatures, hash chains and the arithmetic of epsilon are computed again; nothing is believed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, final

from dpdl.errors import InputError, PrivacyRefused
from dpdl.folder.data_ledger import DataLedger
from dpdl.folder.data_ledger_entries import Debited
from dpdl.peer.approval import Approval
from dpdl.peer.approvals import KIND as APPROVAL
from dpdl.peer.consent import charge_of, epsilon_of, own_member
from dpdl.peer.frame import DOMAIN, digest_of, head_of
from dpdl.peer.home import Home
from dpdl.peer.keys import verify
from dpdl.peer.manifest import Manifest
from dpdl.peer.plan import first_view
from dpdl.peer.run_folder import PeerRun
from dpdl.peer.store_reader import StoreReader
from dpdl.peer.views import OVER, current_view
from dpdl.privacy.accounting import epsilon
from dpdl.records import Record


class Finding(NamedTuple):
    """One thing that was checked; `problem` says what is wrong with it."""

    what: str
    problem: str | None = None


@final
@dataclass(frozen=True)
class PeerAudit(Record):
    """What an audit of one run at one site found."""

    run: str
    site: str
    rounds: int  # whose result is durable
    charged: int  # rounds that the ledger has
    epsilon: float  # that these rounds have spent, against the agreed threat
    problems: tuple[str, ...]
    checked: tuple[str, ...]
    violations: int  # of neighbours, in the log

    @property
    def ok(self) -> bool:
        """Whether everything fits."""
        return not self.problems


def audit_run(home: Home, run: PeerRun) -> PeerAudit:
    """Check all that is kept of a run."""
    manifest = run.manifest()
    member = own_member(home, manifest)
    with (
        StoreReader(run.path) as store,
        DataLedger.open(home.ledger_path(member.data)) as ledger,
    ):
        found = [
            *_run_findings(manifest, run, store),
            *_frames(home, manifest, store),
            *_ledger_findings(home, run, ledger, store),
        ]
        debits = _debits(ledger, manifest.hash)
        violations = sum(event.kind == "violation" for event in store.events())
        done = store.here.done
        spent = spent_by(ledger, manifest)
    return PeerAudit(
        manifest.hash,
        home.name,
        done,
        len(debits),
        spent,
        tuple(f"{one.what}: {one.problem}" for one in found if one.problem),
        tuple(one.what for one in found),
        violations,
    )


def _run_findings(
    manifest: Manifest, run: PeerRun, store: StoreReader
) -> Iterator[Finding]:
    here = store.here
    wrong = None if here.run == manifest.hash else "the database is of another run"
    yield Finding("manifest and database", wrong)
    broken = store.check_events()
    yield Finding(
        f"log of {len(store.events())} events",
        None if broken is None else f"line {broken} was changed",
    )
    yield _approvals(manifest, store)
    yield _views(manifest, store)


def _approvals(manifest: Manifest, store: StoreReader) -> Finding:
    what = f"approvals of {len(manifest.members)} members"
    known = store.documents(APPROVAL)
    for member in manifest.members:
        if member.name not in known:
            return Finding(what, f"that of {member.name} is missing")
        try:
            Approval.parse(known[member.name], member.key, manifest.hash)
        except InputError as failure:
            return Finding(what, str(failure))
    return Finding(what)


def _views(manifest: Manifest, store: StoreReader) -> Finding:
    what = f"views up to {store.here.view}"
    try:
        view = current_view(manifest, first_view(manifest), store.documents(OVER))
    except InputError as failure:
        return Finding(what, str(failure))
    same = view.number == store.here.view
    return Finding(what, None if same else f"the statements lead to view {view.number}")


def _frames(home: Home, manifest: Manifest, store: StoreReader) -> Iterator[Finding]:
    """Every frame that may have left is signed by this site, every pin by its sender."""
    outbox = store.outbox()
    what = f"{len(outbox)} frames of the last rounds"
    yield Finding(what, next(_wrong_frames(home, store), None))
    keys = {member.name: member.key for member in manifest.members}
    pins = [pin for name in keys if (pin := store.last_pin(name)) is not None]
    wrong = [
        pin.source
        for pin in pins
        if not verify(keys[pin.source], DOMAIN + pin.header, pin.signature)
        or head_of(pin.header).source != pin.source
    ]
    yield Finding(
        f"last frames of {len(pins)} neighbours",
        f"that of {wrong[0]} is not signed by it" if wrong else None,
    )


def _wrong_frames(home: Home, store: StoreReader) -> Iterator[str]:
    for slot, target in store.outbox():
        frame = store.stored(slot, target)
        if frame is None:
            yield f"the frame for {target} in round {slot.round} is gone"
            continue
        signed = verify(home.signing.public, DOMAIN + frame.header, frame.signature)
        if not signed or digest_of(frame.payload) != frame.sha256:
            yield f"the frame for {target} in round {slot.round} was changed"


def _ledger_findings(
    home: Home, run: PeerRun, ledger: DataLedger, store: StoreReader
) -> Iterator[Finding]:
    manifest = run.manifest()
    try:
        ledger.verify()
        yield Finding("ledger of the data set")
    except InputError as failure:
        yield Finding("ledger of the data set", str(failure))
        return
    debits = _debits(ledger, manifest.hash)
    begun = min(store.here.round, manifest.experiment_of().rounds)
    charged = {one.round for one in debits}
    missing = sorted(set(range(1, begun + 1)) - charged) if not store.here.view else []
    yield Finding(
        f"{len(debits)} rounds charged",
        f"round {missing[0]} was begun and is not charged" if missing else None,
    )
    spending = ledger.epsilon()
    over = spending.spent > spending.budget
    yield Finding("budget", f"{spending.spent:.4g} is spent" if over else None)
    yield _price(home, run, manifest, debits)


def _price(
    home: Home, run: PeerRun, manifest: Manifest, debits: list[Debited]
) -> Finding:
    """Whether rounds of the first view are charged at what the manifest says."""
    wanted = charge_of(home, run, manifest).times(1)
    wrong = [one.round for one in debits if not one.view and one.charge != wanted]
    problem = f"round {wrong[0]} is charged at another price" if wrong else None
    try:
        epsilon_of(home, run)
    except PrivacyRefused as failure:
        problem = problem or str(failure)
    return Finding("price of a round", problem)


def spent_by(ledger: DataLedger, manifest: Manifest) -> float:
    """What the rounds of a run that were charged have spent, against the agreed threat."""
    counts = Counter(one.charge.step for one in _debits(ledger, manifest.hash))
    terms = manifest.privacy
    return epsilon([*counts.items()], terms.delta, terms.relation)


def _debits(ledger: DataLedger, run: str) -> list[Debited]:
    found = [entry for entry in ledger.entries() if isinstance(entry, Debited)]
    return [entry for entry in found if entry.run == run]
