"""`dpdl peer run`: from an approved manifest to a trained model.

It waits for all approvals, greets its neighbours, runs the rounds that are left, and stays until no
neighbour needs anything from it any more. It is the only command that releases anything, and it may
be killed and started again at any time.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, final

from torch import Tensor

from dpdl.errors import InputError
from dpdl.folder.data_ledger import DataLedger
from dpdl.parallel import one_thread_per_operation
from dpdl.peer.ahead import Pattern
from dpdl.peer.approvals import KIND as APPROVAL
from dpdl.peer.approvals import Approvals
from dpdl.peer.build import check_build, this_build
from dpdl.peer.ending import ViewChange
from dpdl.peer.failures import LedgerRollback, Rollback, ViewOver
from dpdl.peer.first_links import FirstLinks
from dpdl.peer.frame import FrameHead
from dpdl.peer.hello import Greeter
from dpdl.peer.home import Home
from dpdl.peer.keys import erase_secret
from dpdl.peer.loop import Course, first_state, run_rounds
from dpdl.peer.meeting import Meeting
from dpdl.peer.members import members_of
from dpdl.peer.network import Network
from dpdl.peer.newest_cards import NewestCards, expiring
from dpdl.peer.own_metrics import OwnMeasurement, OwnMetrics, reported
from dpdl.peer.plan import first_view, own_site, public_plan
from dpdl.peer.round_key import RoundKey
from dpdl.peer.run_folder import PeerRun
from dpdl.peer.shelf import OwnShelf
from dpdl.peer.standing import Standing
from dpdl.peer.statements import Statements
from dpdl.peer.status import PulseWriter
from dpdl.peer.store import Store
from dpdl.peer.store_reader import DATABASE
from dpdl.peer.transport import PATIENCE, Peers, Speaker, unheard
from dpdl.peer.unpaid import charge_sent
from dpdl.peer.view import FIRST, View
from dpdl.peer.views import KIND as STOP
from dpdl.peer.views import OVER, agreements_in, current_view
from dpdl.peer.wire import NetworkSettings
from dpdl.privacy.sealed import Sealed
from dpdl.training.observe import Examiner


def _silence(sentence: str) -> None:
    """Nobody listens."""


def _ignore(t: int) -> None:
    """Nobody watches."""


@final
@dataclass(frozen=True)
class Manner:
    """How a peer is run; the defaults are those of `dpdl peer run`."""

    network: NetworkSettings = field(default_factory=NetworkSettings)
    say: Callable[[str], None] = _silence  # sentences for people
    watch: Callable[[int], None] = _ignore  # after every round
    fault: Callable[[str], None] = _silence  # for tests: called at every durable step
    heard: Callable[[FrameHead, bytes], None] = unheard  # for tests: all that arrives
    linger: float = 60.0  # seconds to wait for the answer of one who needs nothing more
    test: Path | None = None  # the public test set


class Ended(NamedTuple):
    """What a peer has when all rounds are over."""

    model: Tensor  # (D,)
    rounds: int
    score: float | None  # the last one on the site's own test records

    def __repr__(self) -> str:
        return f"Ended({self.rounds} rounds, {len(self.model):,} entries)"


@final
class Peer:
    """One member of one run, while its process runs."""

    def __init__(self, home: Home, run: PeerRun, manner: Manner) -> None:
        """Read all that can be wrong before anything is opened for writing."""
        self._home, self._run, self._manner = home, run, manner
        self.manifest = run.manifest()
        self.name = home.name
        self._member = self.manifest.members[self.manifest.number(self.name)]
        self._sealed = Sealed()
        self._metrics = OwnMetrics(run.metrics)
        self.standing = Standing(())
        self._enter(first_view(self.manifest))
        self._ledger = DataLedger.open(home.ledger_path(self._member.data))
        self._store = self._opened()
        self._approvals = Approvals(self.manifest, self._store)
        self._statements = Statements(self.manifest, self._store)
        self._last: float | None = None
        self._network: Network | None = None
        self._look_at = 0.0  # when files that people write are looked at again
        self._cards = NewestCards(home, self.manifest, self._refuse_card)
        over = self._store.documents(OVER)
        if over:
            self._enter(current_view(self.manifest, self.view, over))

    def close(self) -> None:
        """Release the folder."""
        self._store.close()
        self._ledger.close()

    # ------------------------------------------------------------------ opening
    def _enter(self, view: View) -> None:
        """Everything that depends on who takes part."""
        home, manifest = self._home, self.manifest
        self.view = view
        self.plan = public_plan(manifest, view, self._run.initial())
        file = str(home.data_file(self._member.data))
        self._site = own_site(
            manifest,
            view,
            self.plan,
            self.name,
            file,
            self._sealed,
            self._manner.test,
        )
        self._examiner = Examiner.of(self._site)
        self.standing.reset(view.neighbours(self.name))

    def _opened(self) -> Store:
        """The database of the run, made at the first start; `round.key` is made before it."""
        path, fault = self._run.path, self._manner.fault
        if (path / DATABASE).exists():
            return Store(path, fault)
        erase_secret(self._run.round_key)
        RoundKey.create(self._run.round_key, len(self.manifest.names))
        state = first_state(self.plan)
        return Store.create(path, self.manifest.hash, this_build(), state, fault)

    # ------------------------------------------------------------------ the whole way
    def run(self) -> Ended:
        """All rounds that are left."""
        store, here = self._store, self._store.here
        if any(slot.round == here.round for slot, _ in store.outbox()):
            check_build(here.build, here.round)
        store.note_build(this_build())
        incarnation = store.wake()
        store.log("start", f"start {incarnation}, {this_build()}")
        if unpaid := charge_sent(self._ledger, store, self.manifest.hash):
            said = f"The ledger is from a backup: {unpaid} rounds were charged again."
            store.log("ledger", said)
            self._manner.say(said)
        self._metrics.begin(here.done)
        for sentence in expiring(self._home, self.manifest):
            self._manner.say(sentence)
        greeter = self._greeter(incarnation)
        shelf = self._shelf(greeter)
        with Network(
            self.manifest.hash,
            self._home.identity(),
            members_of(self._home, self.manifest),
            shelf,
            self._manner.network,
        ) as network:
            network.on_refused = lambda address, why: shelf.note(
                "refused", f"{address}: {why}"
            )
            try:
                with PulseWriter(self._run.status_file, network.troubles):
                    return self._trained(network, greeter)
            except Rollback as failure:
                run = self.manifest.hash
                self._ledger.spent_up_to(run, failure.view, failure.round)
                store.log("rollback", str(failure))
                raise
            except LedgerRollback as failure:
                store.log("rollback", str(failure))
                raise

    def _trained(self, network: Network, greeter: Greeter) -> Ended:
        self._network = network
        meeting = self._meeting(network, greeter)
        meeting.gather_approvals(self._approvals, self._run.path)
        while True:
            try:
                self._check()
                meeting.greet()
                with one_thread_per_operation():
                    model = run_rounds(self._course(network))
                break
            except ViewOver as failure:
                self._change_view(network, failure)
        rounds = self.plan.experiment.rounds
        self._ledger.release(self.manifest.hash)
        meeting.stay(self.view, rounds)
        self._store.log("end", f"all {rounds} rounds are over")
        return Ended(model[0], rounds, self._last)

    def _check(self) -> None:
        """Raise what makes this peer stop, or end the view; new cards are taken on the way."""
        self.standing.check()
        number, now = self.view.number, time.monotonic()
        over = f"{number}-{self.name}" in self._store.documents(STOP)
        if now >= self._look_at:  # a round calls this many times, and files cost
            self._look_at = now + PATIENCE
            if self._network is not None:
                self._cards.look(self._network)
            over = over or self._run.stop_file(number).exists()
        if over:
            raise ViewOver("This site was asked to end the view.")

    def _refuse_card(self, sentence: str) -> None:
        self._store.log("refused", sentence)

    def _change_view(self, network: Network, failure: ViewOver) -> None:
        change = ViewChange(
            self._home,
            self._run,
            self.manifest,
            self.view,
            self._store,
            self._statements,
            self._ledger,
            self.standing,
            self._manner.say,
        )
        self._enter(change.made(network, failure))
        network.publish()

    # ------------------------------------------------------------------ its parts
    def _greeter(self, incarnation: int) -> Greeter:
        return Greeter(
            self.manifest.hash,
            self.name,
            self._home.signing,
            self._keys,
            self._store,
            incarnation,
            secrets.token_hex(16),
            self._ledger,
            lambda: self._store.here.done,
        )

    def _meeting(self, network: Network, greeter: Greeter) -> Meeting:
        manner = self._manner
        return Meeting(
            self.name,
            self.manifest,
            network,
            greeter,
            self._store,
            self.standing,
            self._check,
            manner.say,
            manner.linger,
        )

    @cached_property
    def _keys(self) -> dict[str, str]:
        return {member.name: member.key for member in self.manifest.members}

    def _shelf(self, greeter: Greeter) -> OwnShelf:
        content = self.manifest.content
        return OwnShelf(self._store, greeter, self.standing, self._accept, content)

    def _accept(self, kind: str, name: str, content: bytes) -> None:
        """Keep an approval, or a statement that a view shall end; nothing else is taken."""
        if kind == APPROVAL:
            self._approvals.accept(name, content)
        elif kind == STOP:
            self._statements.accept(name, content)
        else:
            raise InputError(f"Documents of kind {kind} are not taken.")

    def _course(self, network: Network) -> Course:
        plan = self.plan
        self._links = self._first_links()
        me = Speaker(
            self.manifest.hash,
            self.name,
            self._home.signing,
            self._keys,
            self.manifest.rules.largest_norm,
        )

        def pattern() -> Pattern:
            return Pattern(plan.algorithm.period, plan.experiment.rounds)

        fault, heard = self._manner.fault, self._manner.heard
        view, store, check = self.view, self._store, self._check
        peers = Peers(me, view, store, network, pattern, check, fault, heard)
        return Course(
            self.manifest.hash,
            self.name,
            tuple(name for name in self.manifest.names if name != self.name),
            self.view,
            self._site,
            self._sealed,
            self._store,
            self._round_key(),
            self._ledger,
            self.standing,
            peers,
            self._links,
            self._check,
            fault,
            self._run.pause_file.exists,
            self._watch,
        )

    def _round_key(self) -> RoundKey:
        """The file of secrets; a view that has begun no round takes a new one for a lost one."""
        file = self._run.round_key
        if self._store.here.round < self.view.start:
            return RoundKey.renewed(file, len(self.manifest.names))
        return RoundKey(file)

    def _first_links(self) -> FirstLinks:
        """What the links of this view begin with."""
        number, keys = self.view.number, self._approvals.agreements()
        if number != FIRST:
            said = self._store.documents(OVER)[str(number - 1)]
            keys = agreements_in(said, self.manifest)
        return FirstLinks(self._run, self.manifest.hash, self.name, keys, number)

    # ------------------------------------------------------------------ after a round
    def _watch(self, t: int, values: Mapping[str, Tensor], model: Tensor) -> None:
        """Measure, where it is due, on the site's own records."""
        e = self.plan.experiment
        self._links.forget()  # they are in `round.key` now
        if t == 1 or t % e.eval_every == 0 or t == e.rounds:
            score = self.plan.task.score
            value = float(self._examiner.scores(model, self._examiner.agents)[0])
            self._last = value
            loss = reported(values, "train_loss")
            clipped = reported(values, "clip_fraction")
            self._metrics.add(OwnMeasurement(t, score.name, value, loss, clipped))
        self._manner.watch(t)
