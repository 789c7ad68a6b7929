"""What a peer reads from others, damaged in ways that a seed repeats: any number of inputs.

    bench = Bench(folder)
    bench.try_one("cards", Random("cards 7"))      # raises what is wrong with it

A kind draws an input and hands it to the product. What comes of it is "taken" or the name of a
refusal; anything else is wrong, as are a refusal that is no sentence, memory above the bound, and a
database that a refused input has changed.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import tomllib
import tracemalloc
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import NamedTuple

from dpdl.errors import DpdlError, InputError
from dpdl.peer.approvals import Approvals
from dpdl.peer.card import Card
from dpdl.peer.failures import Rollback, SecondInstance, Violation
from dpdl.peer.frame import (
    DOMAIN,
    SIGNATURE,
    Frame,
    FrameHead,
    Slot,
    check_frame,
    make_frame,
)
from dpdl.peer.frame_bytes import LENGTH, NOTED, decode, encode, received
from dpdl.peer.hello import Greeter
from dpdl.peer.keys import verify
from dpdl.peer.manifest import LARGEST_MANIFEST, Manifest
from dpdl.peer.signed import DOMAIN as SIGNED
from dpdl.peer.signed import LARGEST, signed_text
from dpdl.peer.statements import Statements
from dpdl.peer.store import Store
from dpdl.peer.store_reader import DATABASE
from dpdl.peer.toml_text import dumps
from dpdl.records import JsonObject
from tests.peer.agreements import NAMES, agreed, agreement, card, manifest, signing
from tests.peer.posts import Heads
from tests.peer.seeded import LONG, broken_bytes, broken_table, long_text

Draw = Callable[[Random], bytes]
Take = Callable[[bytes], object]
LONGEST = 300
"""Characters of a sentence."""
FIXED, EACH = 1 << 20, 200
"""Bytes of memory that reading may take: some, and so many for each that is read."""
LARGE = 1 / 400
"""Share of documents that are as long as they may be."""
MERCY, OLAV = NAMES[:2]
RUN = "ab" * 32


# ------------------------------------------------------------------ frames
HEAD = FrameHead(
    run=RUN,
    view=0,
    round=7,
    step=1,
    channel="model",
    source=MERCY,
    target=OLAV,
    dtype="float32",
    shape=(2, 3),
)


def frame(head: FrameHead, last: bytes = b"\0") -> Frame:
    """One of mercy's to olav."""
    return make_frame(head, bytes(23) + last, signing(MERCY))


@cache
def honest_frame() -> bytes:
    return encode(frame(HEAD))


def draw_frame(r: Random) -> bytes:
    """Damaged bytes, or a frame that is rightly signed and has another header or payload."""
    right = honest_frame()
    if r.random() < 0.4:
        return broken_bytes(r, right)
    known = decode(right, HEAD)
    payload = r.randbytes(24) if r.random() < 0.2 else bytes(known.payload)
    head: JsonObject = json.loads(known.header)
    table: JsonObject = {name: head[name] for name in NOTED}
    if r.random() < 0.9:
        table = broken_table(r, table)
    note = json.dumps([*table.values()], separators=(",", ":")).encode()
    before = LENGTH.pack(len(note)) + note
    try:
        header = decode(before + bytes(SIGNATURE) + payload, HEAD).header
    except ValueError:
        header = known.header
    signature = known.signature if r.random() < 0.1 else signed_by_mercy(header)
    return before + signature + payload


def signed_by_mercy(header: bytes) -> bytes:
    return signing(MERCY).sign(DOMAIN + header)


def take_frame(content: bytes) -> None:
    """As a receiver does; one that is taken has all fields that were expected."""
    key = signing(MERCY).public
    found = received(content, HEAD, key, MERCY, 1e6)
    plain = decode(content, HEAD)
    check_frame(plain, HEAD, key, MERCY, 1e6)
    assert found == plain
    assert encode(found) == content
    assert replace(found.head, sha256="") == replace(HEAD, sha256="")


# ------------------------------------------------------------------ documents
def signed_kind(table: JsonObject, name: str) -> Draw:
    """Draws documents: most are rightly signed by their sender, some are damaged after that."""
    right = signed_text(table, signing(name))

    def draw(r: Random) -> bytes:
        if r.random() < LARGE:
            return sealed(long_text(r.choice(tuple(LONG)), LARGEST - 150), name)
        if r.random() < 0.25:
            return broken_bytes(r, right)
        if r.random() < 0.1:
            return sealed(broken_bytes(r, right[: right.rindex(b"signature")]), name)
        signer = name if r.random() < 0.95 else r.choice(NAMES)
        return signed_text(broken_table(r, table), signing(signer))

    return draw


def sealed(body: bytes, name: str) -> bytes:
    """Any bytes, rightly signed."""
    signature = signing(name).sign(SIGNED + body).hex()
    return body + f'signature = "{signature}"\n'.encode()


@cache
def one_manifest() -> bytes:
    return agreed()


@cache
def manifest_table() -> JsonObject:
    return tomllib.loads(one_manifest().decode())


def draw_manifest(r: Random) -> bytes:
    if r.random() < LARGE / 5:
        return long_text(r.choice(tuple(LONG)), LARGEST_MANIFEST // 8)
    if r.random() < 0.35:
        return broken_bytes(r, one_manifest())
    return dumps(broken_table(r, manifest_table())).encode()


def take_manifest(content: bytes) -> None:
    """One that is taken is known by exactly these bytes."""
    assert Manifest.parse(content).hash == hashlib.sha256(content).hexdigest()


def card_table() -> JsonObject:
    found = tomllib.loads(card(MERCY).content.decode())
    del found["signature"]
    return found


def take_card(content: bytes) -> None:
    """One that is taken has the key of somebody who signs here."""
    found = Card.parse(content)
    assert found.content == content
    assert found.key in {signing(name).public for name in NAMES}


def approval_table() -> JsonObject:
    key, time = agreement(OLAV).public, "2030-06-01T12:00:00+00:00"
    about = {"format": 1, "manifest": manifest().hash, "name": MERCY, "time": time}
    return {**about, "person": "Ann Lee", "agreement": key}


def statement_table() -> JsonObject:
    about = {"format": 1, "run": manifest().hash, "view": 0, "name": MERCY}
    key = agreement(MERCY).public
    return {**about, "drop": [OLAV], "begun": 7, "agreement": key, "attempt": 2}


# ------------------------------------------------------------------ with a database
class Watched:
    """A database of a run, and whether anything was written to it."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.store = Store.create(folder, RUN, "a build", b"state 0")
        self._own = sqlite3.connect(folder / DATABASE)
        self.changes = 0

    def version(self) -> int:
        """Another number after every transaction of the store."""
        (found,) = self._own.execute("PRAGMA data_version").fetchone()
        return int(found)

    def changed(self) -> None:
        """Every other time, what was kept is forgotten: the next input meets it, or does not."""
        self.changes += 1
        if self.changes % 2 == 0:
            with self._own:
                self._own.execute("DELETE FROM document")
                self._own.execute("DELETE FROM neighbour")

    def close(self) -> None:
        self._own.close()
        self.store.close()


def take_named(accept: Callable[[str, bytes], None], name: str) -> Take:
    """As a server takes what is put under a name."""
    return lambda content: accept(name, content)


def hello_kind(store: Store) -> Draw:
    """Hellos of olav to mercy, who has committed one frame; some show it, some another one."""
    first = replace(HEAD, round=1, step=0)
    known, later, other = frame(first), frame(HEAD), frame(first, b"1")
    store.begin(1, b"state 0", 0)
    store.commit(Slot(0, 1, 0), {OLAV: known})
    shown = [
        (one.header.decode(), one.signature.hex()) for one in (known, later, other)
    ]
    shown += [(shown[0][0], "00" * 64), ("{}", shown[0][1]), (shown[1][0], shown[0][1])]
    table: JsonObject = {"format": 1, "run": RUN, "source": OLAV, "target": MERCY}
    table |= {
        "view": 0,
        "incarnation": 5,
        "nonce": "aa",
        "have": 0,
        "ledger": "00" * 96,
    }
    draws = [signed_kind(table, OLAV)]
    for header, signature in (shown[0], *shown):
        with_header = {**table, "header": header, "header_signature": signature}
        draws.append(signed_kind(with_header, OLAV))
    for heads in (["00" * 96], ["00" * 32, ""], ["zz"] * 9):
        draws.append(signed_kind({**table, "heads": heads}, OLAV))
    return lambda r: r.choice(draws)(r)


def take_hello(store: Store) -> Take:
    keys = {name: signing(name).public for name in NAMES}
    mine = Greeter(RUN, MERCY, signing(MERCY), keys, store, 1, "bb", Heads(), lambda: 0)

    def take(content: bytes) -> None:
        """A header that is shown and taken is one that mercy has signed."""
        said = mine.judged(OLAV, content)
        assert (said.run, said.source, said.target) == (RUN, OLAV, MERCY)
        if said.header is not None and said.header_signature is not None:
            signed = DOMAIN + said.header.encode()
            assert verify(keys[MERCY], signed, bytes.fromhex(said.header_signature))

    return take


# ------------------------------------------------------------------ all of them
@dataclass(frozen=True)
class Kind:
    """How inputs are drawn, what takes them, how they may be refused, and what must not change."""

    draw: Draw
    take: Take
    refusals: tuple[type[Exception], ...] = (InputError,)
    watched: Watched | None = None


class Came(NamedTuple):
    """What an input came to."""

    ended: str  # "taken", or the name of a refusal
    content: bytes


class Bench:
    """All kinds, with databases in a folder."""

    def __init__(self, folder: Path) -> None:
        approving, ending, greeting = (
            Watched(folder / name) for name in ("a", "s", "h")
        )
        self._watched = (approving, ending, greeting)
        approvals = Approvals(manifest(), approving.store)
        statements = Statements(manifest(), ending.store)
        hello = hello_kind(greeting.store)
        stops = (Violation, SecondInstance, Rollback)
        self.kinds: Mapping[str, Kind] = {
            "frames": Kind(draw_frame, take_frame, (ValueError, Violation)),
            "manifests": Kind(draw_manifest, take_manifest),
            "cards": Kind(signed_kind(card_table(), MERCY), take_card),
            "approvals": Kind(
                signed_kind(approval_table(), MERCY),
                take_named(approvals.accept, MERCY),
                watched=approving,
            ),
            "statements": Kind(
                signed_kind(statement_table(), MERCY),
                take_named(statements.accept, f"0-{MERCY}"),
                watched=ending,
            ),
            "hellos": Kind(hello, take_hello(greeting.store), stops, greeting),
        }

    def try_one(self, name: str, r: Random, weigh: bool = False) -> Came:
        """Draw an input and hand it over; `weigh` also measures the memory that it takes."""
        kind = self.kinds[name]
        content = kind.draw(r)
        before = kind.watched.version() if kind.watched else 0
        if weigh:
            tracemalloc.start()
        try:
            ended = self._taken(kind, content)
            most = tracemalloc.get_traced_memory()[1] if weigh else 0
        finally:
            tracemalloc.stop()
        assert most <= FIXED + EACH * len(content), f"{most} bytes of memory"
        if kind.watched and kind.watched.version() != before:
            assert ended == "taken", "what was refused has changed the database"
            kind.watched.changed()
        return Came(ended, content)

    def _taken(self, kind: Kind, content: bytes) -> str:
        try:
            kind.take(content)
        except kind.refusals as refusal:
            said = str(refusal)
            assert said.isprintable() and len(said) <= LONGEST, said
            if isinstance(refusal, DpdlError):
                assert said.endswith("."), said
            return type(refusal).__name__
        return "taken"

    def close(self) -> None:
        for one in self._watched:
            one.close()
