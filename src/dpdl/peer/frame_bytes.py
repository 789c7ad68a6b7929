r"""Frames as they are sent: what the receiver can put into the header itself is left out.

    u32 length | note | Ed25519 over "dpdl-frame-1\0" + header | payload

The length is little-endian. The note is compact JSON: the fields of the header in their order, but
for what is not in doubt between the two sides (`LEFT_OUT`), and `sha256`, which the receiver
computes. The signature is over the whole header all the same, and over the payload by its SHA-256.
A frame has some 110 bytes beside its rows, where the header alone has 270.

A note has one spelling only, as a header has. The expected frame is recognised by the bytes of its
note, and nothing of it is parsed; any other is taken apart, so that its violation can be named.
"""

from __future__ import annotations

import json
import struct
from dataclasses import fields, replace

from dpdl.errors import InputError
from dpdl.foreign import parse_json
from dpdl.peer.frame import (
    COMPACT,
    LARGEST_HEADER,
    NO_DIGEST,
    SIGNATURE,
    Frame,
    FrameHead,
    Payload,
    check_frame,
    check_head,
    check_numbers,
    check_signature,
    digest_of,
)

LENGTH = struct.Struct("<I")
KEPT = 4096
"""Bytes of a refused frame that are kept."""
LEFT_OUT = ("v", "run", "source", "target", "sha256")
"""Fields that a note does not have."""
NOTED = tuple(f.name for f in fields(FrameHead) if f.name not in LEFT_OUT)
"""The fields that a note has."""


def encode(frame: Frame) -> bytes:
    """The bytes of a frame; a ValueError where its header is none."""
    try:
        head = json.loads(frame.header)
        note = COMPACT([head[name] for name in NOTED]).encode("ascii")
    except (KeyError, TypeError) as failure:
        raise ValueError("a header lacks a field") from failure
    return b"".join((LENGTH.pack(len(note)), note, frame.signature, frame.payload))


def note_of(head: FrameHead) -> bytes:
    """What is sent of a header."""
    return COMPACT([getattr(head, name) for name in NOTED]).encode("ascii")


def frame_length(head: FrameHead) -> int:
    """The exact number of bytes of a frame, before its payload is known."""
    return LENGTH.size + len(note_of(head)) + SIGNATURE + head.payload_bytes


def decode(content: Payload, like: FrameHead) -> Frame:
    """The frame in these bytes; a ValueError says why there is none.

    What a note leaves out is taken from `like`.

    The payload is a view of `content`, not a copy. The signature is not looked at: `check_frame`
    does.
    """
    view = memoryview(content)
    if len(view) < LENGTH.size:
        raise ValueError("it is cut off")
    (length,) = LENGTH.unpack_from(view)
    if length > LARGEST_HEADER:
        raise ValueError(f"its header has more than {LARGEST_HEADER} bytes")
    signed = LENGTH.size + length
    start = signed + SIGNATURE
    if len(view) < start:
        raise ValueError("it is cut off")
    head = _head_in(bytes(view[LENGTH.size : signed]), like)
    if len(view) - start != head.payload_bytes:
        raise ValueError(
            f"its payload has {len(view) - start} bytes, not {head.payload_bytes}"
        )
    payload = view[start:]
    return Frame(head.naming(digest_of(payload)), bytes(view[signed:start]), payload)


def _head_in(note: bytes, like: FrameHead) -> FrameHead:
    """The header that a note is about, but for the digest; a ValueError says why there is none."""
    values = parse_json(note)
    if not isinstance(values, list) or len(values) != len(NOTED):
        raise ValueError(f"its header is no list of {len(NOTED)} values")
    noted = dict(zip(NOTED, values, strict=True))
    try:
        head = FrameHead.from_json({**like.to_json(), **noted}, "header")
    except InputError as failure:
        raise ValueError(str(failure).rstrip(".")) from failure
    check_head(replace(head, sha256=NO_DIGEST))
    if note_of(head) != note:
        raise ValueError("its header is not written in the one form that is allowed")
    return head


def evidence(content: bytes, like: FrameHead) -> str:
    """What to keep of a frame that was refused: where it has a header, that with its signature."""
    try:
        frame = decode(content, like)
    except ValueError:
        return content[:KEPT].hex()
    said = frame.header.decode("ascii")
    return f"{said} {frame.signature.hex()} {content[:KEPT].hex()}"


def received(
    content: bytes,
    expected: FrameHead,
    public: str,
    sender: str,
    largest_norm: float | None = None,
) -> Frame:
    """The frame in these bytes, if it is the expected one.

    It is what `decode` and then `check_frame` return or raise, with nothing parsed and the payload
    hashed once where the frame is the expected one.
    """
    note = note_of(expected)
    signed = LENGTH.size + len(note)
    start = signed + SIGNATURE
    fits = len(content) == start + expected.payload_bytes
    if not fits or content[:signed] != LENGTH.pack(len(note)) + note:
        frame = decode(content, expected)
        check_frame(frame, expected, public, sender, largest_norm)
        return frame
    payload = memoryview(content)[start:]
    header, signature = expected.naming(digest_of(payload)), content[signed:start]
    check_signature(header, signature, public, sender)
    check_numbers(payload, expected, sender, largest_norm)
    return Frame(header, signature, payload)
