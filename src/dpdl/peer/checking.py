"""`dpdl peer check`: all that can be wrong before a run, each with a remedy; nothing leaves."""

from __future__ import annotations

import os
import shutil
import time
from base64 import b64decode
from collections.abc import Callable, Iterator
from concurrent.futures import TimeoutError
from datetime import UTC, datetime
from typing import NamedTuple

import torch

from dpdl.errors import DpdlError, reason
from dpdl.folder.data_ledger import DataLedger
from dpdl.peer.certificates import expires
from dpdl.peer.consent import epsilon_of, own_member
from dpdl.peer.failures import Refused
from dpdl.peer.frame import Slot
from dpdl.peer.home import Home
from dpdl.peer.manifest import Manifest
from dpdl.peer.members import members_of
from dpdl.peer.network import Neighbour, Network
from dpdl.peer.plan import first_view, own_site, public_plan
from dpdl.peer.run_folder import PeerRun
from dpdl.peer.wire import MANIFEST
from dpdl.planning.site import Site
from dpdl.privacy.noise import Reproducible

SOON = 30
"""Days before its end from which a certificate is spoken of."""
SLOW = 0.1
"""Seconds of an fsync from which a disk is called slow."""
ROUNDS_KEPT = 4
"""Rounds of frames and states that may be on disk at once."""


class Check(NamedTuple):
    """One line: what was looked at, and what to do if it is not well."""

    what: str
    well: bool
    said: str


def checks(home: Home, run: PeerRun, patience: float = 5.0) -> Iterator[Check]:
    """All checks of a run, one after the other; a neighbour may take `patience` seconds."""
    manifest = run.manifest()
    member = own_member(home, manifest)
    yield _tried(
        "privacy", lambda: f"epsilon {epsilon_of(home, run):.4g} in all rounds"
    )
    yield _tried("budget", lambda: _budget(home, manifest, member.data))
    yield _tried("records", lambda: _records(home, run, manifest, member.data))
    yield _tried("gradient", lambda: _gradient(home, run, manifest, member.data))
    yield _disk(run, manifest)
    yield _certificate("own certificate", home.card.certificate, "dpdl peer rotate")
    yield _approvals(run, manifest)
    yield from _members(home, run, manifest, patience)


def _tried(what: str, look: Callable[[], str]) -> Check:
    try:
        return Check(what, True, look())
    except DpdlError as failure:
        return Check(what, False, str(failure))


def _budget(home: Home, manifest: Manifest, data: str) -> str:
    with DataLedger.open(home.ledger_path(data)) as ledger:
        found = ledger.epsilon()
        left = ledger.run(manifest.hash).rounds_left
    kept = (
        f"{left} rounds are reserved"
        if left
        else "nothing is reserved for this run yet"
    )
    return f"{found.reserved:.4g} of {found.budget:g} is spent or reserved; {kept}"


def _site(home: Home, run: PeerRun, manifest: Manifest, data: str) -> Site:
    view = first_view(manifest)
    plan = public_plan(manifest, view, run.initial())
    file = str(home.data_file(data))
    return own_site(manifest, view, plan, home.name, file, Reproducible(0))


def _records(home: Home, run: PeerRun, manifest: Manifest, data: str) -> str:
    site = _site(home, run, manifest, data)
    return f"{home.data_file(data)} is as agreed: records of shape {site.plan.form}"


def _gradient(home: Home, run: PeerRun, manifest: Manifest, data: str) -> str:
    """One gradient twice: a machine that computes other bits cannot repeat a round."""
    site = _site(home, run, manifest, data)
    number = torch.tensor([first_view(manifest).rank(home.name)])
    began = time.perf_counter()
    first, second = (_one_gradient(site, number) for _ in range(2))
    seconds = (time.perf_counter() - began) / 2
    if not torch.equal(first, second):
        raise Refused(0, "Two computations differ: this machine cannot repeat a round.")
    return f"the same bits twice, {seconds:.3g} s each"


def _one_gradient(site: Site, number: torch.Tensor) -> torch.Tensor:
    plan = site.plan
    batch = site.batches(number, 1)[0]
    row = plan.task.initial.clone()
    return plan.mechanism.gradient(plan.task, row, batch).gradient


def _disk(run: PeerRun, manifest: Manifest) -> Check:
    """Space for some rounds, and how long a small file takes to be durable."""
    degree = max(len(manifest.neighbours(k)) for k in range(len(manifest.members)))
    wanted = ROUNDS_KEPT * (degree + 3) * 8 * manifest.model.size
    free = shutil.disk_usage(run.path).free
    try:
        seconds = _fsync(run)
    except OSError as failure:
        return Check("disk", False, f"{run.path} cannot be written: {reason(failure)}")
    slow = " (slow)" if seconds > SLOW else ""
    said = f"{free / 1e9:.3g} GB free, an fsync takes {1e3 * seconds:.3g} ms{slow}"
    if free < wanted:
        return Check("disk", False, f"{said}; {wanted / 1e9:.3g} GB are needed")
    return Check("disk", True, said)


def _fsync(run: PeerRun) -> float:
    file = run.path / ".check"
    try:
        with file.open("wb") as out:
            out.write(bytes(4096))
            out.flush()
            began = time.perf_counter()
            os.fsync(out.fileno())
            return time.perf_counter() - began
    finally:
        file.unlink(missing_ok=True)


def _certificate(what: str, encoded: str, remedy: str) -> Check:
    end = expires(b64decode(encoded))
    days = (end - datetime.now(UTC)).days
    said = f"valid until {end.date().isoformat()}"
    return Check(what, days >= SOON, said if days >= SOON else f"{said}: {remedy}")


def _approvals(run: PeerRun, manifest: Manifest) -> Check:
    missing = [name for name in manifest.names if not run.approval_file(name).exists()]
    said = "all are here" if not missing else f"not here yet: {', '.join(missing)}"
    return Check("approvals", True, f"{said}; members also pass them on to each other")


def _members(
    home: Home, run: PeerRun, manifest: Manifest, patience: float
) -> Iterator[Check]:
    """Whether every member answers; it must run, or check, at the same time."""
    try:
        known = members_of(home, manifest)
        network = Network(
            manifest.hash, home.identity(), known, _Door(run), home.network_settings()
        )
        network.start()
    except DpdlError as failure:
        yield Check("members", False, str(failure))
        return
    try:
        asked = {
            one.name: network.fetch_document(one.name, "approval", one.name)
            for one in known
        }
        until = time.monotonic() + patience
        for one in known:
            try:
                asked[one.name].result(max(0.0, until - time.monotonic()))
                yield Check(one.name, True, f"answers {_way(home, one)}")
            except TimeoutError:
                trouble = network.since(one.name)
                said = trouble.sentence if trouble else "It has not answered yet."
                yield Check(one.name, False, said)
            except DpdlError as failure:
                yield Check(one.name, False, str(failure))
    finally:
        network.close()


def _way(home: Home, other: Neighbour) -> str:
    """How another site is reached."""
    if other.url is not None:
        return f"at {other.url}"
    by_mailbox = home.card.url is None
    return f"by the mailbox {other.mailbox}" if by_mailbox else "at this site"


class _Door:
    """Shows the approvals in a folder, and nothing else."""

    def __init__(self, run: PeerRun) -> None:
        self._run = run

    def frame(self, slot: Slot, target: str) -> bytes | None:
        return None

    def over(self, view: int) -> bytes | None:
        return None

    def heard(self, name: str, have: int) -> None:
        pass

    def hello(self, name: str, content: bytes) -> bytes:
        raise Refused(503, "This site only checks; it does not run yet.")

    def document(self, kind: str, name: str) -> bytes | None:
        file = self._run.approval_file(name)
        if kind == MANIFEST:
            file = self._run.manifest_file
        found = kind in ("approval", MANIFEST) and file.exists()
        return file.read_bytes() if found else None

    def take_document(self, kind: str, name: str, content: bytes, sender: str) -> None:
        raise Refused(503, "This site only checks; it does not run yet.")
