"""TensorBoard's event files, read plainly: frames, checksums a bit at a time, any protobuf message."""

from __future__ import annotations

import struct
from pathlib import Path

Message = dict[int, list[int | bytes]]
"""Field number to its values: varints as int, all others as their bytes."""


def crc32c(data: bytes) -> int:
    """Division of polynomials over two elements, bit by bit, lowest bit first."""
    remainder = 0xFFFFFFFF
    for byte in data:
        for k in range(8):
            bit = (byte >> k & 1) ^ (remainder & 1)
            remainder >>= 1
            if bit:
                remainder ^= 0x82F63B78  # x^32 + x^28 + x^27 + x^26 + x^25 + x^23 + x^22 + ..., reversed
    return remainder ^ 0xFFFFFFFF


def masked(data: bytes) -> int:
    """What a TFRecord stores of a checksum: turned right by 15 bits, and a constant added."""
    bits = f"{crc32c(data):032b}"
    return (int(bits[-15:] + bits[:-15], 2) + 0xA282EAD8) % 2**32


def frames(content: bytes) -> list[bytes]:
    """The data of all records; anything wrong is an assertion."""
    found = []
    while content:
        assert len(content) >= 16, "a frame is cut off"
        size = int.from_bytes(content[:8], "little")
        assert len(content) >= 16 + size, "a frame is cut off"
        assert int.from_bytes(content[8:12], "little") == masked(content[:8]), (
            "the length has another checksum"
        )
        data, check = content[12 : 12 + size], content[12 + size : 16 + size]
        assert int.from_bytes(check, "little") == masked(data), (
            "the data have another checksum"
        )
        found.append(data)
        content = content[16 + size :]
    return found


def varint(data: bytes) -> tuple[int, bytes]:
    """A number, and what follows it."""
    value = 0
    for k, byte in enumerate(data):
        value += (byte % 128) << (7 * k)
        if byte < 128:
            return value, data[k + 1 :]
    raise AssertionError("a number is cut off")


def message(data: bytes) -> Message:
    """All fields of a protobuf message."""
    found: Message = {}
    value: int | bytes
    while data:
        key, data = varint(data)
        match key % 8:
            case 0:
                value, data = varint(data)
            case 1:
                value, data = data[:8], data[8:]
            case 2:
                size, data = varint(data)
                assert size <= len(data), "a field is cut off"
                value, data = data[:size], data[size:]
            case 5:
                value, data = data[:4], data[4:]
            case kind:
                raise AssertionError(f"unknown kind of field {kind}")
        found.setdefault(key // 8, []).append(value)
    return found


def events(path: Path) -> list[dict]:
    """The events of a file: time, step, and what they hold."""
    return [_event(message(data)) for data in frames(path.read_bytes())]


def _event(fields: Message) -> dict:
    found: dict = {
        "time": struct.unpack("<d", fields.pop(1)[0])[0],
        "step": fields.pop(2, [0])[0],
    }
    ((number, (content,)),) = fields.items()  # one of several
    match number:
        case 3:
            found["version"] = content.decode()
        case 5:
            values = message(content)
            assert set(values) <= {1}
            found["values"] = dict(
                _value(message(value)) for value in values.get(1, [])
            )
            assert len(found["values"]) == len(values.get(1, [])), "a tag appears twice"
        case 7:
            found["session"] = message(content)
        case _:
            raise AssertionError(f"unknown field {number}")
    return found


def _value(fields: Message) -> tuple[str, float]:
    assert set(fields) == {1, 2}
    return fields[1][0].decode(), struct.unpack("<f", fields[2][0])[0]
