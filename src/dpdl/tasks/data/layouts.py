"""File layouts: IDX (MNIST), CIFAR-10 binary batches, and CIFAR-10 as one tall picture per batch.

Everything is read from bytes with fixed, checked sizes. Nothing is unpickled.
"""

from __future__ import annotations

import io
import math
import tarfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpdl.extras import is_installed, remedy
from dpdl.foreign import parse_json

Bytes = NDArray[np.uint8]

CIFAR_PIXELS = 3 * 32 * 32


def read_idx(content: bytes) -> Bytes:
    """The array in an IDX file of unsigned bytes: 0 0 8 d, then d big-endian sizes, then values."""
    start = 4 + 4 * content[3] if len(content) > 3 else 4
    if content[:3] != b"\x00\x00\x08" or len(content) < start:
        raise ValueError("not an IDX file of unsigned bytes")
    shape = tuple(int(size) for size in np.frombuffer(content[4:start], dtype=">u4"))
    if len(content) - start != math.prod(shape):
        raise ValueError(
            f"an IDX file of shape {shape} does not have {len(content)} bytes"
        )
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)


def read_cifar_batch(content: bytes) -> tuple[Bytes, Bytes]:
    """Images `(n, 3, 32, 32)` and labels `(n,)` of a binary batch.

    An image is one byte for the label, then its red, green and blue planes.
    """
    if not content or len(content) % (1 + CIFAR_PIXELS):
        raise ValueError(
            f"a CIFAR-10 batch is a multiple of {1 + CIFAR_PIXELS} bytes, not {len(content)}"
        )
    rows = np.frombuffer(content, dtype=np.uint8).reshape(-1, 1 + CIFAR_PIXELS)
    return rows[:, 1:].reshape(-1, 3, 32, 32), rows[:, 0]


def cifar_batch_from_picture(picture: bytes, labels: Bytes) -> bytes:
    """A binary batch from a picture that has one image per row.

    Pixel p of a row is pixel (p // 32, p % 32) of the image.
    """
    if not is_installed("PIL"):
        raise ValueError(remedy("PIL"))
    from PIL import Image

    with Image.open(io.BytesIO(picture), formats=["PNG"]) as image:
        if image.mode != "RGB" or image.size != (1024, len(labels)):
            raise ValueError(
                f"expected a picture RGB (1024, {len(labels)}), not {image.mode} {image.size}"
            )
        pixels = np.asarray(image)
    planes = pixels.transpose(0, 2, 1).reshape(len(labels), CIFAR_PIXELS)
    return np.concatenate([labels[:, None], planes], axis=1).tobytes()


def read_labels(content: bytes, count: int) -> Bytes:
    """Labels stored as a JSON list of `count` integers from 0 to 9."""
    values = parse_json(content)
    if not isinstance(values, list) or len(values) != count:
        raise ValueError(f"expected a JSON list of {count} labels")
    if not all(type(value) is int and 0 <= value <= 9 for value in values):
        raise ValueError("expected labels from 0 to 9")
    return np.array(values, dtype=np.uint8)


def members(archive: Path, wanted: set[str], limit: int) -> Iterator[tuple[str, bytes]]:
    """The wanted regular files of a tar archive, by exact name; nothing is written to disk.

    A member of more than `limit` bytes is refused, so that a hostile archive cannot fill the
    memory.
    """
    missing = set(wanted)
    with tarfile.open(archive, "r|*") as tar:
        for member in tar:
            name = member.name.removeprefix("./")
            if name not in missing:
                continue
            file = tar.extractfile(member) if member.isreg() else None
            if file is None or member.size > limit:
                raise ValueError(
                    f"{name} in the archive is not a regular file of at most {limit} bytes"
                )
            missing.discard(name)
            yield name, file.read()
            if not missing:
                return
    raise ValueError(f"the archive lacks {', '.join(sorted(missing))}")
