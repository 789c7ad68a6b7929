"""What sites ask of a mailbox, and how they show who they are.

    PUT    /v1/RUN/TARGET/SOURCE/KIND/NUMBER    an envelope for TARGET; only SOURCE may
    GET    /v1/RUN/TARGET                       the oldest envelope; 204: none yet. Only TARGET may
    GET    /v1/RUN/TARGET/SOURCE/KIND/NUMBER    the same, and this one has arrived: it is deleted
    DELETE /v1/RUN/TARGET/SOURCE/KIND/NUMBER    SOURCE does not wait for it any more

KIND is `call` or `answer`; NUMBER is random. Every request is signed (Ed25519) over method, path,
time and SHA-256 of the body. The digest is a header, too, so that a wrong signature is refused
before a byte of the body is read.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import NamedTuple

from dpdl.peer.failures import Refused
from dpdl.peer.keys import SigningKey, verify

DELETE = "DELETE"
CALL, ANSWER = "call", "answer"
KEY_HEADER = "Dpdl-Key"
TIME_HEADER = "Dpdl-Time"
SIGNATURE_HEADER = "Dpdl-Signature"
DIGEST_HEADER = "Dpdl-Sha256"
ITEM_HEADER = "Dpdl-Item"
"""In an answer: SOURCE/KIND/NUMBER of the envelope."""
DOMAIN = b"dpdl-mailbox-1\0"
"""Before every signed request, and before nothing else that is signed."""
CLOCK = 300
"""Seconds that the clocks of a site and of a mailbox may differ."""
UNAUTHORIZED = 401

NAME = r"([a-z0-9-]{1,40})"
BOX = rf"/v1/([0-9a-f]{{64}})/{NAME}"
PLACE = rf"{NAME}/(call|answer)/([0-9a-f]{{32}})"
BOX_PATH = re.compile(BOX, re.ASCII)
ITEM_PATH = re.compile(rf"{BOX}/{PLACE}", re.ASCII)
ITEM_PLACE = re.compile(PLACE, re.ASCII)
TIME = re.compile(r"[0-9]{1,12}", re.ASCII)
DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
SIGNATURE = re.compile(r"[0-9a-f]{128}", re.ASCII)


class Item(NamedTuple):
    """The place of one envelope."""

    source: str
    kind: str
    number: str

    @property
    def text(self) -> str:
        """As it is in a path."""
        return "/".join(self)


class BoxPath(NamedTuple):
    """The envelopes for one site in one run; `item` is one of them."""

    run: str
    target: str
    item: Item | None = None

    @property
    def text(self) -> str:
        """As it is requested; for an envelope, this is what it is bound to."""
        box = f"/v1/{self.run}/{self.target}"
        return box if self.item is None else f"{box}/{self.item.text}"


def parsed_box(path: str) -> BoxPath | None:
    """What a path is the address of; None: nothing."""
    if found := BOX_PATH.fullmatch(path):
        return BoxPath(found[1], found[2])
    if found := ITEM_PATH.fullmatch(path):
        run, target, *item = found.groups()
        return BoxPath(run, target, Item(*item))
    return None


def parsed_item(text: str) -> Item | None:
    """The place of an envelope within its box; None: this is none."""
    found = ITEM_PLACE.fullmatch(text)
    return Item(*found.groups()) if found else None


# ------------------------------------------------------------------ signatures
def digest_of(content: bytes) -> str:
    """SHA-256 of a body."""
    return hashlib.sha256(content).hexdigest()


def signed_headers(
    key: SigningKey, method: str, path: str, content: bytes, now: float
) -> dict[str, str]:
    """The headers that show whose request this is."""
    time, digest = str(int(now)), digest_of(content)
    signature = key.sign(_message(method, path, time, digest))
    return {
        KEY_HEADER: key.public,
        TIME_HEADER: time,
        DIGEST_HEADER: digest,
        SIGNATURE_HEADER: signature.hex(),
    }


def signer(
    headers: Mapping[str, str],
    method: str,
    path: str,
    members: Mapping[str, str],
    now: float,
) -> str:
    """The name of who signed a request; `members` has names by keys. Others are `Refused`."""
    names = (KEY_HEADER, TIME_HEADER, DIGEST_HEADER, SIGNATURE_HEADER)
    key, time, digest, signature = (headers.get(name, "") for name in names)
    forms = (
        TIME.fullmatch(time),
        DIGEST.fullmatch(digest),
        SIGNATURE.fullmatch(signature),
    )
    if not all(forms):
        raise Refused(UNAUTHORIZED, "The request is not signed.")
    name = members.get(key)
    if name is None:
        raise Refused(
            UNAUTHORIZED, "This mailbox has no card with the key of the request."
        )
    if not verify(key, _message(method, path, time, digest), bytes.fromhex(signature)):
        raise Refused(UNAUTHORIZED, f"The request is not signed by {name}.")
    if abs(now - int(time)) > CLOCK:
        raise Refused(
            UNAUTHORIZED,
            f"The clock of {name} and that of the mailbox differ by {abs(now - int(time)):.0f} s; "
            f"{CLOCK} are allowed: set the clock.",
        )
    return name


def _message(method: str, path: str, time: str, digest: str) -> bytes:
    return DOMAIN + "\n".join((method, path, time, digest)).encode("utf-8", "replace")
