"""Taking a proposal in, approving it, and taking an approval back."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from dpdl.errors import InputError, PrivacyRefused
from dpdl.folder.data_ledger import DataLedger
from dpdl.folder.data_ledger_entries import Charge
from dpdl.folder.files import write
from dpdl.peer.approval import Approval
from dpdl.peer.documents import read_file
from dpdl.peer.home import Home
from dpdl.peer.keys import AgreementKey, erase_secret
from dpdl.peer.manifest import LARGEST_MANIFEST, Manifest, Member
from dpdl.peer.plan import first_view, own_step, public_plan
from dpdl.peer.run_folder import LARGEST_MODEL, PeerRun
from dpdl.peer.signed import LARGEST
from dpdl.peer.view import FIRST
from dpdl.privacy.threats import threat

TOLERANCE = 1e-6
"""Relative difference up to which two computations of an epsilon are the same."""


def adopt(home: Home, manifest_file: Path, initial_file: Path | None = None) -> PeerRun:
    """Copy a manifest and its initial model into the folder of the site; nothing is sent.

    The initial model lies beside the manifest unless it is named.
    """
    content = read_file(manifest_file, LARGEST_MANIFEST)
    modules = home.settings.modules
    manifest = Manifest.parse(content, modules)
    own_member(home, manifest)
    run = PeerRun(home.run_folder(manifest.hash), modules)
    if not run.manifest_file.exists():
        source = initial_file or manifest_file.parent / run.initial_file.name
        initial = read_file(source, LARGEST_MODEL)
        public_plan(
            manifest, first_view(manifest), initial
        )  # refuses what does not fit
        run.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        write(run.initial_file, initial)
        write(run.manifest_file, content)
    return run


def own_member(home: Home, manifest: Manifest) -> Member:
    """What a manifest says of this site; refused if it is not a member under its own key."""
    found = [member for member in manifest.members if member.name == home.name]
    if not found:
        raise InputError(f"{home.name} is no member of this run: {_listed(manifest)}.")
    if found[0].key != home.signing.public:
        raise InputError(
            f"The manifest has another key for {home.name} than this site; mail the current "
            "card.toml to whoever proposed it."
        )
    return found[0]


def epsilon_of(home: Home, run: PeerRun) -> float:
    """What all rounds of a run cost this site, computed here from the manifest.

    Refused where the manifest says less than that.
    """
    manifest = run.manifest()
    view = first_view(manifest)
    number = view.rank(home.name)
    plan = public_plan(manifest, view, run.initial())
    terms = manifest.privacy
    model = replace(plan.privacy, relation=terms.relation)
    spent = model.epsilon(number, threat(terms.threat), delta=terms.delta)
    if spent > terms.epsilon[number] * (1 + TOLERANCE):
        raise PrivacyRefused(
            f"The manifest says epsilon = {terms.epsilon[number]:.4g} for {home.name}; its own "
            f"numbers give {spent:.4g}."
        )
    return spent


def approve(
    home: Home, run: PeerRun, person: str, now: datetime | None = None
) -> Approval:
    """Reserve the budget, then sign; an approval that is there is given back as it is."""
    manifest = run.manifest()
    member = own_member(home, manifest)
    file = run.approval_file(home.name)
    if file.exists():
        return Approval.parse(read_file(file, LARGEST), member.key, manifest.hash)
    _check_date(manifest, now or datetime.now(UTC))
    epsilon_of(home, run)
    _reserve(home, run, manifest, member)
    key = AgreementKey.create()
    erase_secret(run.run_key())
    key.write(run.run_key())
    moment = (now or datetime.now(UTC)).isoformat(timespec="seconds")
    approval = Approval(manifest.hash, home.name, moment, person, key.public)
    write(file, approval.text(home.signing))
    return approval


def withdraw(home: Home, run: PeerRun) -> None:
    """Take an approval back, before the first round: the budget is free again."""
    manifest = run.manifest()
    member = own_member(home, manifest)
    with DataLedger.open(home.ledger_path(member.data)) as ledger:
        ledger.withdraw(manifest.hash)
    erase_secret(run.run_key())
    run.approval_file(home.name).unlink(missing_ok=True)


def charge_of(home: Home, run: PeerRun, manifest: Manifest) -> Charge:
    """All rounds of a run, as the ledger of the site's data set has them."""
    view = first_view(manifest)
    plan = public_plan(manifest, view, run.initial())
    step = own_step(plan, manifest, view.rank(home.name))
    return Charge.of(step, plan.experiment.rounds)


def _reserve(home: Home, run: PeerRun, manifest: Manifest, member: Member) -> None:
    with DataLedger.open(home.ledger_path(member.data)) as ledger:
        ledger.reserve(
            manifest.hash,
            [charge_of(home, run, manifest)],
            view=FIRST,
            threat=manifest.privacy.threat,
            relation=manifest.privacy.relation,
        )


def _check_date(manifest: Manifest, now: datetime) -> None:
    ends = manifest.rules.ends
    if ends is not None and now.date().isoformat() > ends:
        raise InputError(f"This proposal ended on {ends}; ask for a new one.")


def _listed(manifest: Manifest) -> str:
    return ", ".join(manifest.names)
