from __future__ import annotations

import pytest

from dpdl.peer.envelope import OVERHEAD, Seal
from dpdl.peer.keys import AgreementKey

RUN = "ab" * 32
MERCY, OLAV, EVE = (AgreementKey.create() for _ in range(3))
PATH = f"/v1/{RUN}/olav/mercy/call/{'0' * 32}"
SENT = Seal.between(MERCY, OLAV.public, RUN, "mercy", "olav")
READ = Seal.between(OLAV, MERCY.public, RUN, "mercy", "olav")


@pytest.mark.parametrize("content", [b"", b"a frame", bytes(100_000)])
def test_the_receiver_opens_what_the_source_has_sealed(content):
    envelope = SENT.closed(PATH, content)
    assert len(envelope) == len(content) + OVERHEAD
    assert READ.opened(PATH, envelope) == content


def test_sealing_again_gives_another_envelope():
    assert SENT.closed(PATH, b"a frame") != SENT.closed(PATH, b"a frame")


@pytest.mark.parametrize(
    "other",
    [
        Seal.between(OLAV, MERCY.public, RUN, "olav", "mercy"),
        Seal.between(OLAV, MERCY.public, "cd" * 32, "mercy", "olav"),
        Seal.between(OLAV, EVE.public, RUN, "mercy", "olav"),
        Seal.between(EVE, MERCY.public, RUN, "mercy", "olav"),
    ],
    ids=["another direction", "another run", "another source", "another receiver"],
)
def test_nobody_else_opens_it(other):
    assert other.opened(PATH, SENT.closed(PATH, b"a frame")) is None


def test_an_envelope_at_another_place_does_not_open():
    envelope = SENT.closed(PATH, b"a frame")
    assert READ.opened(PATH.replace("call", "answer"), envelope) is None
    assert READ.opened(PATH[:-1] + "1", envelope) is None


def test_a_changed_or_shortened_envelope_does_not_open():
    envelope = SENT.closed(PATH, b"a frame")
    for k in range(len(envelope)):
        changed = bytearray(envelope)
        changed[k] ^= 1
        assert READ.opened(PATH, bytes(changed)) is None
        assert READ.opened(PATH, envelope[:k]) is None
