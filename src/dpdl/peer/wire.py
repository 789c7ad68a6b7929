"""What peers say to each other over HTTPS, apart from how it gets there.

    GET  /v1/RUN/VIEW/ROUND-STEP?have=R     a frame; 204 not yet, 410 the view is over
    PUT  /v1/RUN/hello                      hello; the answer is one, too
    GET  /v1/RUN/KIND/NAME                  a small signed document, or 404
    PUT  /v1/RUN/KIND/NAME                  204, or the sentence that says why it is refused
    GET  /v1/RUN/calls/KNOWN                see `pushes`: for sites that accept no connections
    PUT  /v1/RUN/answers/NUMBER/STATUS

All of them may get 403 (no neighbour), 409 (another manifest is run) and 429 (too many requests). A
manifest that is put under its own hash gets a 409 that names the fields in which they differ.
RUN is the hash of the manifest, or its first 16 digits: it says which run is meant, and proves
nothing. `have` is the caller's last durable round: frames of it and of the
rounds before may be forgotten.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol, final

from dpdl.peer.frame import Slot
from dpdl.peer.keys import AgreementKey, SigningKey

GET, PUT = "GET", "PUT"
MANIFEST = "manifest"
KINDS = ("card", "approval", "stop", MANIFEST)
"""Documents that peers pass on."""
LARGEST_DOCUMENT = 65536
"""Bytes of a document, and of a sentence that says why something is refused."""
EVIDENCE = "\n# hello\n"
"""In a 423: between the sentence and the hello of who says it."""
RUN_HEADER = "Dpdl-Run"
"""In a 409: the hash of the manifest that is run instead."""


# ------------------------------------------------------------------ who
@final
@dataclass(frozen=True)
class Mailing:
    """A site's own mailbox, and the keys that it uses there."""

    url: str
    signing: SigningKey
    agreement: AgreementKey


@final
@dataclass(frozen=True)
class Identity:
    """This site: its name, its certificate with key, and its address; None: it accepts nothing."""

    name: str
    certificate: Path
    key: Path
    url: str | None = None
    mailbox: Mailing | None = None  # where it fetches what others cannot bring


@final
@dataclass(frozen=True)
class Neighbour:
    """Another site: what the manifest and its newest card say of it."""

    name: str
    number: int
    key: str
    certificate: bytes  # DER
    url: str | None = None  # https://host:port; None: it accepts no connections
    mailbox: str | None = None  # where it fetches what others cannot bring
    agreement: str = ""  # its X25519 key


@final
@dataclass(frozen=True)
class NetworkSettings:
    """Where this site listens, how it reaches others, and all bounds; times in seconds."""

    host: str = "0.0.0.0"
    port: int = 8443
    proxy: str | None = None  # for instance http://proxy:3128
    authorities: Path | None = None  # who may vouch for mailboxes; None: the system's
    long_poll: float = 25.0  # how long a request for a frame that is not there is held
    patience: float = 10.0  # beyond that, until an answer of no length is there
    slowest: float = 50_000.0  # bytes per second
    handshake: float = 10.0
    idle: float = 75.0  # until a connection without a request is closed
    backlog: int = 32
    connections: int = 64
    connections_each: int = 16  # of one neighbour
    requests: int = 4  # of one neighbour at once
    rate: float = 20.0  # requests of one neighbour a second; first fetches do not count
    first_pause: float = 0.05  # before a failed request is repeated; then doubled
    longest_pause: float = 30.0

    def allowance(self, size: int) -> float:
        """Seconds that a request may take whose longer side has so many bytes."""
        return self.long_poll + self.patience + size / self.slowest


# ------------------------------------------------------------------ what
class Call(NamedTuple):
    """What one peer wants of another."""

    method: str
    path: str  # without have
    content: bytes = b""
    have: int | None = None

    @property
    def target(self) -> str:
        """The path as it is requested."""
        return self.path if self.have is None else f"{self.path}?have={self.have}"


class Answer(NamedTuple):
    """What the other says to it."""

    status: int
    content: bytes = b""
    run: str | None = None  # in a 409 for another manifest: the one that is run


OK = 200
DONE = Answer(204)
NOT_FOUND = Answer(404, b"There is nothing here.")
WRONG_METHOD = Answer(405, b"This cannot be done here.")
BUSY = Answer(429, b"Too many requests.")


class Shelf(Protocol):
    """What a peer shows and takes; called from the network's thread, so each must be quick."""

    def frame(self, slot: Slot, target: str) -> bytes | None:
        """A committed frame; None: not yet."""
        ...

    def over(self, view: int) -> bytes | None:
        """The documents that ended a view; None: it is not over."""
        ...

    def heard(self, name: str, have: int) -> None:
        """A neighbour's last durable round."""
        ...

    def hello(self, name: str, content: bytes) -> bytes:
        """The answer to a hello; `Refused` says why there is none."""
        ...

    def document(self, kind: str, name: str) -> bytes | None:
        """A document of this kind."""
        ...

    def take_document(self, kind: str, name: str, content: bytes, sender: str) -> None:
        """Keep a document; `Refused` says why it is not kept."""
        ...


# ------------------------------------------------------------------ paths
class FramePath(NamedTuple):
    """The address of a frame."""

    run: str
    slot: Slot


class CallsPath(NamedTuple):
    """Where a site without an address finds what is wanted of it, besides what it knows of."""

    run: str
    known: frozenset[int]


class AnswerPath(NamedTuple):
    """Where it puts an answer."""

    run: str
    number: int
    status: int


class DocumentPath(NamedTuple):
    """The address of a document; that of hello has no name."""

    run: str
    kind: str
    name: str = ""


WirePath = FramePath | DocumentPath | CallsPath | AnswerPath
HELLO = "hello"
SHORT = 16
"""Digits of a run's hash that say which one is meant."""
RUN = r"/v1/([0-9A-Za-z-]{1,64})"
NUMBER = r"(0|[1-9][0-9]{0,17})"
FRAME = re.compile(rf"{RUN}/{NUMBER}/{NUMBER}-{NUMBER}", re.ASCII)
DOCUMENT = re.compile(rf"{RUN}/({'|'.join(KINDS)})/([a-z0-9-]{{1,64}})", re.ASCII)
CALLS = re.compile(rf"{RUN}/calls/([0-9]{{0,18}}(?:,[0-9]{{1,18}}){{0,31}})", re.ASCII)
ANSWER = re.compile(rf"{RUN}/answers/{NUMBER}/([1-5][0-9]{{2}})", re.ASCII)
GREETING = re.compile(rf"{RUN}/{HELLO}", re.ASCII)


def frame_path(run: str, slot: Slot) -> str:
    """The address of a frame; it is asked for so often that the run has few digits."""
    return f"/v1/{run[:SHORT]}/{slot.view}/{slot.round}-{slot.step}"


def means(asked: str, run: str) -> bool:
    """Whether a run that is asked for is this one."""
    return len(asked) >= min(SHORT, len(run)) and run.startswith(asked)


def hello_path(run: str) -> str:
    """The address that takes hellos."""
    return f"/v1/{run}/{HELLO}"


def document_path(run: str, kind: str, name: str) -> str:
    """The address of a document."""
    return f"/v1/{run}/{kind}/{name}"


def calls_path(run: str, known: Iterable[int]) -> str:
    """Where the calls are that are not known yet."""
    return f"/v1/{run}/calls/{','.join(map(str, known))}"


def answer_path(run: str, number: int, status: int) -> str:
    """Where the answer to a call is put."""
    return f"/v1/{run}/answers/{number}/{status}"


def parsed_path(path: str) -> WirePath | None:
    """What a path is the address of; None: nothing."""
    if found := FRAME.fullmatch(path):
        run, *numbers = found.groups()
        return FramePath(run, Slot(*map(int, numbers)))
    if found := DOCUMENT.fullmatch(path):
        return DocumentPath(*found.groups())
    if found := GREETING.fullmatch(path):
        return DocumentPath(found[1], HELLO)
    if found := CALLS.fullmatch(path):
        known = filter(None, found[2].split(","))
        return CallsPath(found[1], frozenset(map(int, known)))
    if found := ANSWER.fullmatch(path):
        return AnswerPath(found[1], int(found[2]), int(found[3]))
    return None
