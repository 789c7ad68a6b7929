"""The change from one view to the next, at one of the members who remain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from dpdl.errors import InputError, RunFailed
from dpdl.folder.data_ledger import DataLedger
from dpdl.folder.data_ledger_entries import Charge
from dpdl.folder.files import write
from dpdl.foreign import read_toml
from dpdl.peer.failures import ViewOver
from dpdl.peer.home import Home
from dpdl.peer.keys import AgreementKey
from dpdl.peer.loop import packed, unpacked
from dpdl.peer.manifest import Manifest
from dpdl.peer.meeting import POLL, Documents
from dpdl.peer.network import Network
from dpdl.peer.plan import first_view, own_step, public_plan
from dpdl.peer.run_folder import PeerRun
from dpdl.peer.standing import Standing
from dpdl.peer.statements import Statements
from dpdl.peer.store import Document, Store
from dpdl.peer.store_reader import DATABASE, StoreReader
from dpdl.peer.toml_text import dumps
from dpdl.peer.view import View
from dpdl.peer.views import (
    KIND,
    OVER,
    StopStatement,
    current_view,
    joined,
    next_view,
    refusal,
)
from dpdl.records import Record


@final
@dataclass(frozen=True)
class StopRequest(Record):
    """What `dpdl peer drop` asks the running process for."""

    drop: tuple[str, ...]
    attempt: int = 1


@final
@dataclass(frozen=True)
class ViewChange:
    """Ends a view: says so, hears the others, and computes what follows."""

    home: Home
    run: PeerRun
    manifest: Manifest
    view: View
    store: Store
    statements: Statements
    ledger: DataLedger
    standing: Standing
    say: Callable[[str], None]

    def made(self, network: Network, failure: ViewOver) -> View:
        """The view that follows, durable here; waits until all who remain have said the same.

        From the first statement on, nothing is committed in this view any more. Who says only that
        the view is over is not believed: this site goes on waiting for the statements, and is out
        when those of all others say so.
        """
        own = self._own()
        others = [name for name in self.view.names if name != self.home.name]
        if own is None:
            self.say(f"{failure} Waiting for the statements that say so.")
        else:
            self.say(f"View {self.view.number} ends; waiting for the other statements.")
            self._send(network, others)
        documents = Documents(network, KIND, others)
        while (following := self._following()) is None:
            wanted = [f"{self.view.number}-{name}" for name in others]
            known = self.store.documents(KIND)
            for name, content in documents.found([n for n in wanted if n not in known]):
                self._hear(name, content)
            self.standing.wait(POLL)
            self.standing.check()
            own = self._again(network, own, others)
        if self.home.name not in following.names:
            raise RunFailed(
                f"The other members go on without {self.home.name}: {failure} What it has sent "
                "stays paid."
            )
        self._enter(following)
        return following

    def _hear(self, document: str, content: bytes) -> None:
        """What another passes on; a wrong one must not end this process."""
        try:
            self.statements.accept(document, content)
        except InputError as failure:
            self.store.log("refused", f"{KIND} {document}: {failure}")

    # ------------------------------------------------------------------ statements
    def _own(self) -> StopStatement | None:
        """This member's statement, made where it was asked for; None: it was not."""
        known = self.store.documents(KIND).get(self._document(self.home.name))
        if known is not None:
            return StopStatement.parse(known, self.manifest, self.home.name)
        request = self._request()
        return None if request is None else self._stated(request)

    def _stated(self, request: StopRequest) -> StopStatement:
        if why := refusal(self.manifest, self.view, request.drop):
            self.run.stop_file(self.view.number).unlink(missing_ok=True)
            raise InputError(f"These members cannot be dropped: {why}.")
        key = _key_of(self.run.run_key(self.view.number + 1))
        statement = StopStatement(
            run=self.manifest.hash,
            view=self.view.number,
            name=self.home.name,
            drop=request.drop,
            begun=self.store.here.round,
            agreement=key.public,
            attempt=request.attempt,
        )
        text = statement.text(self.home.signing)
        self.statements.accept(statement.document, text)
        self.store.log("view", f"drop {', '.join(request.drop) or 'nobody'}")
        return statement

    def _request(self) -> StopRequest | None:
        file = self.run.stop_file(self.view.number)
        if not file.exists():
            return None
        return StopRequest.from_json(read_toml(file), str(file))

    def _again(
        self, network: Network, own: StopStatement | None, others: list[str]
    ) -> StopStatement | None:
        """A first statement of this site's operator, or a later attempt that replaces it."""
        request = self._request()
        if request is None or (own is not None and request.attempt <= own.attempt):
            return own
        stated = self._stated(request)
        self._send(network, others)
        return stated

    def _send(self, network: Network, others: list[str]) -> None:
        document = self._document(self.home.name)
        content = self.store.documents(KIND)[document]
        for name in others:
            network.send_document(name, KIND, document, content)

    def _following(self) -> View | None:
        said = self.statements.of_view(self.view.number, self.view.names)
        return next_view(self.manifest, self.view, said.values())

    def _document(self, name: str) -> str:
        return f"{self.view.number}-{name}"

    # ------------------------------------------------------------------ the next view
    def _enter(self, following: View) -> None:
        """Reserve what the rounds that are left cost on the new graph, then make it durable."""
        plan = public_plan(self.manifest, following, self.run.initial())
        number = following.rank(self.home.name)
        left = plan.experiment.rounds - following.start + 1
        charge = Charge.of(own_step(plan, self.manifest, number), max(1, left))
        if self.ledger.run(self.manifest.hash).view < following.number:
            self.ledger.replace_reservation(
                self.manifest.hash,
                following.number,
                [charge],
                threat=self.manifest.privacy.threat,
                relation=self.manifest.privacy.relation,
            )
        known = self.store.documents(KIND)
        said = joined([known[self._document(name)] for name in following.names])
        x = unpacked(self.store.state())["x"]
        state = packed(plan.algorithm.rejoined(x))
        over = Document(OVER, str(self.view.number), said)
        self.store.change_view(following.number, following.start - 1, state, [over])
        self.store.log("view", f"view {following.number} from round {following.start}")
        self.say(
            f"View {following.number} begins with round {following.start}: "
            f"{', '.join(following.names)}."
        )


def _key_of(file: Path) -> AgreementKey:
    """The run key of the next view, durable before its public part is said; made once."""
    if not file.exists():
        AgreementKey.create().write(file)
    return AgreementKey.read(file)


def ask_to_drop(
    home: Home, run: PeerRun, names: Sequence[str], attempt: int = 1
) -> int:
    """Ask the process of a run to end its view; the number of the view.

    It is done at the next start if no process runs.
    """
    manifest = run.manifest()
    view = first_view(manifest)
    if (run.path / DATABASE).exists():
        with StoreReader(run.path) as store:
            view = current_view(manifest, view, store.documents(OVER))
    drop = tuple(name for name in view.names if name in names)
    unknown = [name for name in names if name not in view.names]
    why = refusal(manifest, view, [*drop, *unknown])
    if why or home.name in names:
        why = why or "a site does not drop itself; end its process instead"
        raise InputError(f"These members cannot be dropped: {why}.")
    request = StopRequest(drop, attempt)
    write(run.stop_file(view.number), dumps(request.to_json()).encode())
    return view.number
