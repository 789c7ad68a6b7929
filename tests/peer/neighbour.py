"""A neighbour that does as it likes: it has a valid key and certificate, and answers from a list.

It runs in the process of the tests, beside real peers, over real TLS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from dpdl.peer.frame import Frame, FrameHead, Slot, make_frame
from dpdl.peer.frame_bytes import encode
from dpdl.peer.hello import Hello
from dpdl.peer.members import members_of
from dpdl.peer.network import Network
from dpdl.peer.signed import signed_text
from dpdl.peer.store_reader import StoreReader
from tests.peer.group import QUICK, Group

Answer = Callable[["Neighbourly", Slot, FrameHead], bytes | None]
"""What is answered in a slot: given how an honest frame would look."""
ANSWER_SOON = 0.05
"""Seconds of a long poll: new frames of the victim are noticed by looking again."""


@dataclass
class Neighbourly:
    """Site `number` of a group of two, played by the test; the other one is a real process."""

    group: Group
    number: int = 1
    victim: int = 0
    answer: Answer = field(default=lambda me, slot, head: None)
    told: list[str] = field(default_factory=list)  # hellos of the victim
    shows: Frame | None = None  # the last of the victim's, as its hello says

    def __enter__(self) -> Self:
        home = self.group.home(self.number)
        self.key, self.name = home.signing, home.name
        settings = replace(
            QUICK, port=self.group.ports[self.number], long_poll=ANSWER_SOON
        )
        manifest = self.group.manifest
        others = members_of(home, manifest)
        self.network = Network(manifest.hash, home.identity(), others, self, settings)
        self.network.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self.network.close()

    # ------------------------------------------------------------------ frames of its own
    def honest(self, slot: Slot, head: FrameHead, value: float = 0.0) -> bytes:
        """A frame as it should be, with the same number everywhere."""
        return self.signed(head, np.full(head.shape, value, head.dtype).tobytes())

    def signed(self, head: FrameHead, payload: bytes) -> bytes:
        """Any frame, under the neighbour's valid key."""
        return encode(make_frame(head, payload, self.key))

    def sent(self, slot: Slot) -> Frame | None:
        """What the victim has committed for this neighbour."""
        folder = self.group.run(self.victim).path
        if not (folder / "run.sqlite").exists():
            return None
        with StoreReader(folder) as store:
            return store.stored(slot, self.name)

    # ------------------------------------------------------------------ as a shelf
    def frame(self, slot: Slot, target: str) -> bytes | None:
        """Whatever the test wants; nothing before the victim has shown how frames look."""
        theirs = self.sent(slot)
        if theirs is None:
            return None
        head = replace(theirs.head, source=self.name, target=target)
        return self.answer(self, slot, head)

    def over(self, view: int) -> bytes | None:
        return None

    def heard(self, name: str, have: int) -> None:
        """It does not care."""

    def hello(self, name: str, content: bytes) -> bytes:
        self.told.append(content.decode())
        run = self.group.manifest.hash
        said = Hello(run, self.name, name, 0, 1, "00" * 16, 0, "00" * 32)
        if self.shows is not None:
            header, signature = self.shows.header.decode(), self.shows.signature.hex()
            said = replace(said, header=header, header_signature=signature)
        return signed_text(said.to_json(), self.key)

    def document(self, kind: str, name: str) -> bytes | None:
        file = self.group.run(self.number).approval_file(name)
        return file.read_bytes() if file.exists() else None

    def take_document(self, kind: str, name: str, content: bytes, sender: str) -> None:
        """It keeps nothing."""
