"""Hello: what a peer tells each neighbour when it starts, and what it learns from the answer.

A neighbour shows the last header of mine that it has, with my signature. If my database does not
know that frame, it is older than what I have sent, and going on would send a second frame for the
same exchange: the peer stops before anything leaves. A count of starts and a random number per
start tell a second process that runs under the same name.

It also shows the last heads of my ledger that I have told it, signed. If my ledger has never had
one of them, it is an older copy: what this and other runs have spent is missing in it. A head is
told after all neighbours were heard, so that nobody remembers one of an older copy.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Event, Lock
from typing import ClassVar, Protocol, final

from dpdl.errors import InputError
from dpdl.peer.failures import (
    Doubled,
    LedgerRollback,
    Rollback,
    SecondInstance,
    Violation,
)
from dpdl.peer.frame import DOMAIN, FrameHead, head_of
from dpdl.peer.keys import DIGITS, SigningKey, verify
from dpdl.peer.signed import checked, signed_text
from dpdl.peer.store import Met, Store
from dpdl.records import Record, absent

HEAD_DOMAIN = b"dpdl-ledger-head-1\0"
"""Before the head of a ledger that is signed."""
HAVE = "have"
"""The kind of the notes about the last round whose result is durable at a neighbour."""
REMEMBERED = 8
"""Heads of a neighbour's ledger that are remembered."""

NONCE = re.compile(r"[0-9a-f]{1,64}", re.ASCII)
SIGNED_HEAD = re.compile(r"[0-9a-f]{192}", re.ASCII)
"""A hash and a signature."""


@final
@dataclass(frozen=True)
class Hello(Record):
    """Where a peer stands, said to one neighbour."""

    FORMAT: ClassVar[int | None] = 1

    run: str
    source: str
    target: str
    view: int
    incarnation: int  # how often it has started
    nonce: str  # of this start
    have: int  # the last round whose result is durable there
    header: str | None = absent()  # the last of the target's that it has
    header_signature: str | None = absent()
    ledger: str | None = absent()  # the head of its own, signed, once it was checked
    heads: tuple[str, ...] = ()  # the last ones of the target's ledger that it was told

    def __post_init__(self) -> None:
        """Refuse what would be kept, and be too long for every hello that shows it again."""
        if not NONCE.fullmatch(self.nonce):
            raise InputError("hello.nonce must be at most 64 hexadecimal digits.")
        if self.ledger is not None and not SIGNED_HEAD.fullmatch(self.ledger):
            raise InputError("hello.ledger must be 192 hexadecimal digits.")


class Chain(Protocol):
    """As much of a data set's ledger as a hello needs."""

    @property
    def head(self) -> str:
        """The hash of the last entry."""
        ...

    def holds(self, head: str) -> bool:
        """Whether this was the head once."""
        ...


@final
@dataclass(frozen=True)
class Greeter:
    """Writes hellos of this peer, and judges those of its neighbours."""

    run: str
    name: str
    key: SigningKey
    keys: Mapping[str, str]  # public ones, by member
    store: Store
    incarnation: int
    nonce: str
    ledger: Chain
    have: Callable[[], int]
    heard: Event = field(default_factory=Event)  # all neighbours, in this start
    _one_at_a_time: Lock = field(default_factory=Lock, repr=False)

    def text_for(self, neighbour: str) -> bytes:
        """What is said to a neighbour."""
        last, met = self.store.last_pin(neighbour), self.store.neighbour(neighbour)
        said = Hello(
            run=self.run,
            source=self.name,
            target=neighbour,
            view=self.store.here.view,
            incarnation=self.incarnation,
            nonce=self.nonce,
            have=self.have(),
            ledger=self._signed_head() if self.heard.is_set() else None,
            header=last.header.decode() if last else None,
            header_signature=last.signature.hex() if last else None,
            heads=met.heads if met else (),
        )
        return signed_text(said.to_json(), self.key)

    def judged(self, neighbour: str, content: bytes) -> Hello:
        """A neighbour's hello, if it is one; what it shows may make this peer stop.

        Raises `Violation` for one that is wrong, `SecondInstance` where two processes run under the
        neighbour's name, `Rollback` where this peer's own database is old, and `LedgerRollback`
        where its ledger is.
        """
        said = self.parsed(neighbour, content)
        with self._one_at_a_time:
            met = self.store.neighbour(neighbour)
            if met is not None:
                self._check_instance(neighbour, said, met)
            self._check_memory(neighbour, said)
            heads = met.heads if met is not None else ()
            if said.ledger is not None:
                others = (one for one in heads if one != said.ledger)
                heads = (*others, said.ledger)[-REMEMBERED:]
            self.store.note_neighbour(
                neighbour, Met(said.incarnation, said.nonce, heads)
            )
            self._note_have(neighbour, said.have)
        return said

    def _note_have(self, neighbour: str, have: int) -> None:
        """Remember it before the hello is answered: a neighbour that has all rounds ends then."""
        before = self.store.documents(HAVE).get(neighbour)
        if before is None or int(before) < have:
            self.store.put_document(HAVE, neighbour, str(have).encode())

    def doubted(self, failure: SecondInstance, neighbour: str) -> None:
        """Raise what is the case when a neighbour takes this peer for a second process.

        Its hello tells whether this peer's files are old; if they are not, there are two.
        """
        if failure.content:
            self._check_memory(neighbour, self.parsed(neighbour, failure.content))
        raise Doubled(str(failure)) from failure

    def _check_memory(self, neighbour: str, said: Hello) -> None:
        """Stop if the neighbour knows what this peer does not know any more."""
        if said.header is not None and said.header_signature is not None:
            self._check_shown(neighbour, said.header, said.header_signature)
        for one in said.heads:
            self._check_head(neighbour, one)

    def _signed_head(self) -> str:
        head = self.ledger.head
        return head + self.key.sign(self._said(head)).hex()

    def _said(self, head: str) -> bytes:
        return HEAD_DOMAIN + f"{self.run} {head}".encode()

    def _check_head(self, neighbour: str, told: str) -> None:
        head, signature = told[:DIGITS], told[DIGITS:]
        try:
            signed = bytes.fromhex(signature)
        except ValueError:
            signed = b""
        if not verify(self.keys[self.name], self._said(head), signed):
            raise Violation(
                neighbour, "showed the head of a ledger that this peer has not signed"
            )
        if not self.ledger.holds(head):
            raise LedgerRollback(
                f"The ledger of these records is older than what {neighbour} was told of it: "
                "rounds that were paid are missing, also of other runs. Nothing was sent. Put its "
                "newest copy back; if there is none, use these records no more, and let the "
                f"others say: dpdl peer drop {self.run[:12]} {self.name}."
            )

    def parsed(self, neighbour: str, content: bytes) -> Hello:
        """A neighbour's hello, of which only the signature and the addressee are checked."""
        try:
            table = checked(content, self.keys[neighbour], f"The hello of {neighbour}")
            said = Hello.from_json(table, "hello")
        except InputError as failure:
            reason = str(failure).rstrip(".")
            raise Violation(neighbour, f"sent a wrong hello: {reason}") from failure
        wanted = (self.run, neighbour, self.name)
        if (said.run, said.source, said.target) != wanted:
            raise Violation(neighbour, "sent a hello that was made for another")
        return said

    def _check_instance(self, neighbour: str, said: Hello, met: Met) -> None:
        incarnation = met.incarnation
        again = said.incarnation == incarnation and said.nonce != met.nonce
        if said.incarnation < incarnation or again:
            raise SecondInstance(
                f"Two processes run as {neighbour}, or its database was copied back: its start "
                f"number {said.incarnation} is not above {incarnation}, which was seen before. "
                f"End one of them."
            )

    def _check_shown(self, neighbour: str, header: str, signature: str) -> None:
        """Stop if a neighbour has a frame that I signed and do not know."""
        try:
            signed, head = bytes.fromhex(signature), head_of(header.encode())
        except ValueError as failure:
            raise Violation(neighbour, "sent a hello with a wrong header") from failure
        mine = (head.run, head.source, head.target) == (self.run, self.name, neighbour)
        public = self.keys[self.name]
        if not mine or not verify(public, DOMAIN + header.encode(), signed):
            raise Violation(neighbour, "showed a header that this peer has not signed")
        if not self._knows(head):
            raise Rollback(
                f"The database of this run is older than what was sent: {neighbour} has a frame "
                f"of round {head.round} that is not in it. Nothing was sent. The ledger counts "
                "the run as spent up to that round; let the others say: dpdl peer drop "
                f"{self.run[:12]} {self.name}.",
                head.view,
                head.round,
            )

    def _knows(self, head: FrameHead) -> bool:
        here = self.store.here
        if (head.view, head.round) > (here.view, here.round):
            return False
        committed = self.store.committed(head.slot).get(head.target)
        if committed is not None:
            return committed.head.sha256 == head.sha256
        return (head.view, head.round) < (here.view, here.round)
