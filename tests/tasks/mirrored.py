"""Files as sources have them, and a tiny MNIST; `python -m tests.tasks.mirrored URL` fetches it."""

from __future__ import annotations

import hashlib
import io
import sys
from dataclasses import replace

import numpy as np
from PIL import Image

from dpdl.tasks.data import cache, catalogue
from dpdl.tasks.data.catalogue import IDX_DOWNLOADS, CatalogueEntry
from dpdl.tasks.data.mirrors import Mirror, gunzip
from dpdl.tasks.data.sources import Source, Unpack


def idx(array: np.ndarray) -> bytes:
    """An IDX file of unsigned bytes."""
    return (
        bytes([0, 0, 8, array.ndim])
        + np.array(array.shape, dtype=">u4").tobytes()
        + array.tobytes()
    )


def picture(images: np.ndarray) -> bytes:
    """Images (n, 3, 32, 32) as the npm package stores them, built pixel by pixel."""
    canvas = np.zeros((len(images), 1024, 3), dtype=np.uint8)
    for row, image in enumerate(images):
        for p in range(1024):
            canvas[row, p] = image[:, p // 32, p % 32]
    out = io.BytesIO()
    Image.fromarray(canvas, "RGB").save(out, "PNG")
    return out.getvalue()


DRAW = np.random.default_rng(3)
RAW = {
    "train-images-idx3-ubyte": idx(DRAW.integers(0, 256, (9, 4, 4), dtype=np.uint8)),
    "train-labels-idx1-ubyte": idx(DRAW.integers(0, 10, 9, dtype=np.uint8)),
    "t10k-images-idx3-ubyte": idx(DRAW.integers(0, 256, (3, 4, 4), dtype=np.uint8)),
    "t10k-labels-idx1-ubyte": idx(DRAW.integers(0, 10, 3, dtype=np.uint8)),
}


def mirror(base: str, unpack: Unpack = gunzip, **more: float) -> Mirror:
    return Mirror(base, IDX_DOWNLOADS, unpack, **more)


def entry(*bases: str | Mirror, registries: tuple[Source, ...] = ()) -> CatalogueEntry:
    """MNIST with the files in `RAW`, from these mirrors."""
    return replace(
        catalogue.MNIST,
        files={
            name: hashlib.sha256(content).hexdigest() for name, content in RAW.items()
        },
        mirrors=tuple(
            mirror(base) if isinstance(base, str) else base for base in bases
        ),
        registries=registries,
    )


if __name__ == "__main__":
    cache.fetch_entry(entry(sys.argv[1]), progress=False)
