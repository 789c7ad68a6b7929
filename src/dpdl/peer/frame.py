r"""Frames: the rows that one peer sends another in one exchange, under a signed header.

    Ed25519 over "dpdl-frame-1\0" + header, payload

The header is compact JSON in ASCII, its fields in the order of `FrameHead`; it names the payload by
its SHA-256. The payload is the rows, little-endian. `frame_bytes` says how they are sent.

The receiver knows every field of the header beforehand, compares, and takes nothing from a frame
but the payload. A header has one spelling only, so that a frame is either the expected one, byte
by byte, or a violation.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from dpdl.errors import InputError
from dpdl.foreign import parse_json
from dpdl.peer.failures import Violation
from dpdl.peer.keys import SigningKey, verify
from dpdl.records import Record
from dpdl.text import shown

if TYPE_CHECKING:
    import numpy.typing as npt
    from torch import Tensor

    Numbers = npt.NDArray[np.generic]

VERSION = 1
DOMAIN = b"dpdl-frame-1\0"
"""What is signed begins with it: a signature of something else is none of a header."""
LARGEST_HEADER = 4096
"""Bytes of a header."""
SIGNATURE = 64
"""Bytes of a signature."""
MOST_AXES = 8
SIZES = {"float16": 2, "float32": 4, "float64": 8, "uint8": 1, "int32": 4, "int64": 8}
"""Bytes of a number, by the names of the types that rows may have."""
NO_DIGEST = "0" * 64
COMPACT = json.JSONEncoder(separators=(",", ":")).encode
LAST = slice(-2 - len(NO_DIGEST), -2)
"""Where a header has its SHA-256, which is its last field."""

Payload = bytes | bytearray | memoryview


# ------------------------------------------------------------------ headers
class Slot(NamedTuple):
    """One exchange: each peer sends each neighbour at most one frame in it, ever."""

    view: int
    round: int
    step: int  # counts the exchanges of the round


@final
@dataclass(frozen=True, kw_only=True)
class FrameHead(Record):
    """What a frame is; `sha256` may be left out where the payload is not known yet."""

    v: int = VERSION
    run: str  # hash of the manifest
    view: int
    round: int
    step: int
    channel: str
    source: str
    target: str
    dtype: str
    shape: tuple[int, ...]
    sha256: str = ""

    @property
    def slot(self) -> Slot:
        """The exchange that the frame belongs to."""
        return Slot(self.view, self.round, self.step)

    @property
    def payload_bytes(self) -> int:
        """The length of the payload."""
        return math.prod(self.shape) * SIZES[self.dtype]

    def text(self) -> bytes:
        """The header as it is signed."""
        return COMPACT(vars(self)).encode("ascii")  # every field is plain, in order

    def naming(self, digest: str) -> bytes:
        """The header as it is signed, with the SHA-256 of its payload."""
        return COMPACT({**vars(self), "sha256": digest}).encode("ascii")


def head_of(header: bytes) -> FrameHead:
    """The fields of a header.

    Anything that `FrameHead.text` would not have written is a ValueError, as are types and shapes
    that rows cannot have.
    """
    if len(header) > LARGEST_HEADER:
        raise ValueError(f"its header has more than {LARGEST_HEADER} bytes")
    try:
        head = FrameHead.from_json(parse_json(header), "header")
    except InputError as failure:
        raise ValueError(str(failure).rstrip(".")) from failure
    check_head(head)
    if head.text() != header:
        raise ValueError("its header is not written in the one form that is allowed")
    return head


def check_head(head: FrameHead) -> None:
    """Refuse types and shapes that rows cannot have, as a ValueError."""
    if head.v != VERSION:
        raise ValueError(f"it is of version {head.v}, not {VERSION}")
    if head.dtype not in SIZES:
        raise ValueError(f"rows cannot be of type {shown(head.dtype)}")
    if len(head.shape) > MOST_AXES or min((*head.slot, *head.shape)) < 0:
        raise ValueError("its header has numbers that cannot be")
    if len(head.sha256) != len(NO_DIGEST):
        raise ValueError("its header has no SHA-256")


# ------------------------------------------------------------------ frames
class Frame(NamedTuple):
    """A header, its signature, and the payload that it names."""

    header: bytes
    signature: bytes
    payload: Payload

    @property
    def head(self) -> FrameHead:
        """The fields of the header."""
        return head_of(self.header)

    @property
    def sha256(self) -> str:
        """What the header says of the payload; `make_frame` or a check has seen it before."""
        return self.header[LAST].decode("ascii")


def digest_of(payload: Payload) -> str:
    """The SHA-256 by which a header names a payload."""
    return hashlib.sha256(payload).hexdigest()


def make_frame(
    head: FrameHead, payload: Payload, key: SigningKey, digest: str | None = None
) -> Frame:
    """A signed frame; whatever `head.sha256` is, the payload's takes its place.

    `digest` saves hashing a payload again that goes to several neighbours.
    """
    header = head.naming(digest or digest_of(payload))
    if len(header) > LARGEST_HEADER:
        raise ValueError(f"a header of {len(header)} bytes is too long")
    if len(payload) != head.payload_bytes:
        raise ValueError(f"{len(payload)} bytes are no rows of shape {head.shape}")
    return Frame(header, key.sign(DOMAIN + header), payload)


# ------------------------------------------------------------------ what is accepted
def check_frame(
    frame: Frame,
    expected: FrameHead,
    public: str,
    sender: str,
    largest_norm: float | None = None,
) -> None:
    """Refuse, as a `Violation` of `sender`, a frame that is not the expected one.

    In this order: a header with another field than `expected` (its `sha256` aside), a signature
    that is not by the key `public`, a payload that is not the one signed, a number that is not
    finite, a row of a larger Euclidean norm than `largest_norm`.
    """
    check_signed(frame.header, frame.signature, expected, public, sender)
    if len(frame.payload) != expected.payload_bytes:
        raise Violation(sender, f"sent a payload of {len(frame.payload)} bytes")
    if digest_of(frame.payload) != head_of(frame.header).sha256:
        raise Violation(sender, "sent a payload that is not the one it signed")
    check_numbers(frame.payload, expected, sender, largest_norm)


def check_numbers(
    payload: Payload, expected: FrameHead, sender: str, largest_norm: float | None
) -> None:
    """Refuse a number that is not finite, and a row that is too long."""
    numbers = _numbers(payload, expected.dtype, expected.shape)
    if not np.isfinite(numbers).all():
        raise Violation(sender, "sent numbers that are not finite")
    if largest_norm is not None and _norm(numbers) > largest_norm:
        raise Violation(
            sender, f"sent a row of norm {_norm(numbers):.4g}, above {largest_norm:.4g}"
        )


def check_signed(
    header: bytes, signature: bytes, expected: FrameHead, public: str, sender: str
) -> FrameHead:
    """The fields of a header that is the expected one, its `sha256` aside, and signed by `public`.

    Anything else is a `Violation` of `sender`.
    """
    try:
        found = head_of(header)
    except ValueError as failure:
        raise Violation(sender, f"sent a frame that is wrong: {failure}") from failure
    _check_fields(found, expected, sender)
    check_signature(header, signature, public, sender)
    return found


def check_signature(header: bytes, signature: bytes, public: str, sender: str) -> None:
    """Refuse a header that the owner of the key `public` did not sign."""
    if not verify(public, DOMAIN + header, signature):
        raise Violation(sender, "sent a frame that is not signed with its key")


def _check_fields(found: FrameHead, expected: FrameHead, sender: str) -> None:
    for field in fields(FrameHead):
        name = field.name
        sent, wanted = getattr(found, name), getattr(expected, name)
        if name != "sha256" and sent != wanted:
            raise Violation(
                sender,
                f"sent a frame with {name} {shown(sent)} where {shown(wanted)} was expected",
            )


def _norm(numbers: Numbers) -> float:
    """The largest Euclidean norm of a row, summed in double precision."""
    count = numbers.shape[0] if numbers.ndim else 1
    rows = numbers.reshape(count, numbers.size // max(count, 1))
    squares = np.einsum("ij,ij->i", rows, rows, dtype=np.float64, casting="unsafe")
    return math.sqrt(max(squares, default=0.0))


# ------------------------------------------------------------------ rows
def payload_of(rows: Tensor) -> bytes:
    """The numbers of a tensor, row by row, little-endian."""
    numbers = rows.detach().cpu().numpy()
    if numbers.dtype.name not in SIZES:
        raise ValueError(f"rows of type {numbers.dtype.name} cannot be sent")
    return numbers.astype(numbers.dtype.newbyteorder("<"), copy=False).tobytes()


def rows_of(payload: Payload, dtype: str, shape: Sequence[int]) -> Tensor:
    """The tensor that `payload_of` wrote, in memory of its own."""
    import torch

    numbers = _numbers(payload, dtype, shape)
    return torch.from_numpy(numbers.astype(numbers.dtype.newbyteorder("=")))


def _numbers(payload: Payload, dtype: str, shape: Sequence[int]) -> Numbers:
    """The numbers of a payload, where they are."""
    kind = np.dtype(dtype).newbyteorder("<")
    found: Numbers = np.frombuffer(payload, kind).reshape(tuple(shape))
    return found
