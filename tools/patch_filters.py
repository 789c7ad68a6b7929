"""Write the filters of `patch-linear` and `deep-patch-linear`, two files of `src/dpdl/tasks`.

    python tools/patch_filters.py

They are made of the two photographs that scikit-learn installs. That needs scikit-learn and
pillow, which `dpdl[dev]` has. Tests hold the files to what this makes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

import dpdl
from dpdl.keys import generator
from dpdl.tasks.deep_patches import SQUARE, DeepPatches

HOME = Path(dpdl.__file__).parent / "tasks"
SIDE, FILTERS, PATCHES = 6, 256, 40_000
FLAT, EPSILON = 10.0, 0.1
SCALES = (1.5, 6.0)
PIECE, PIECES, OF_A_PIECE = 32, 40, 20
"""Pixels of a side of what the second layer is made of, how many at a scale, and patches of one."""


def photographs() -> list[np.ndarray]:
    """`china.jpg` and `flower.jpg`, (height, width, 3), from 0 to 255."""
    from sklearn.datasets import load_sample_images

    return [np.asarray(image) for image in load_sample_images().images]


def shrunk(image: np.ndarray, scale: float) -> np.ndarray:
    """The image made smaller."""
    from PIL import Image

    height, width = (round(size / scale) for size in image.shape[:2])
    small = Image.fromarray(image).resize((width, height), Image.Resampling.BOX)
    return np.asarray(small, dtype=np.float64)


def drawn(images: list[np.ndarray], count: int) -> np.ndarray:
    """Patches (count, 3, SIDE, SIDE) from random places of the images at random scales."""
    random = generator(0, "patches")
    scales = np.exp(np.linspace(*np.log(SCALES), 10))
    small = [shrunk(image, scale) for image in images for scale in scales]
    found = np.empty((count, 3, SIDE, SIDE))
    for k in range(count):
        image = small[random.integers(len(small))]
        top, left = (random.integers(size - SIDE + 1) for size in image.shape[:2])
        patch = image[top : top + SIDE, left : left + SIDE]
        found[k] = patch.transpose(2, 0, 1)
    return found


def filters(patches: np.ndarray, count: int = FILTERS) -> tuple[np.ndarray, np.ndarray]:
    """The filters (count, 3, SIDE, SIDE), and what is taken off their answers (count,).

    Patches and their mirror images are normalised and whitened; every filter is a whitened patch of
    length 1, times the whitening.
    """
    both = np.concatenate([patches, patches[..., ::-1]]).reshape(2 * len(patches), -1)
    both = both - both.mean(axis=1, keepdims=True)
    both /= np.sqrt((both**2).mean(axis=1, keepdims=True) + FLAT)
    chosen = generator(0, "filters").choice(len(patches), count, replace=False)
    made, offsets = whitened(both, chosen, EPSILON)
    return made.reshape(count, 3, SIDE, SIDE), offsets


def whitened(
    rows: np.ndarray, chosen: np.ndarray, added: float
) -> tuple[np.ndarray, np.ndarray]:
    """Chosen rows, whitened and of length 1, times the whitening; and what they say of the mean."""
    mean = rows.mean(axis=0)
    off = rows - mean
    values, vectors = np.linalg.eigh(off.T @ off / len(off))
    whitening = (vectors / np.sqrt(values + added)) @ vectors.T
    white = off[chosen] @ whitening
    white /= np.linalg.norm(white, axis=1, keepdims=True)
    made = white @ whitening
    return made, made @ mean


def second_filters(
    images: list[np.ndarray], count: int = FILTERS
) -> tuple[np.ndarray, np.ndarray]:
    """Second filters (count, maps, SQUARE, SQUARE), and what is taken off their answers."""
    random = generator(0, "second layer")
    rows = np.concatenate([squares(image, random) for image in images])
    chosen = random.choice(len(rows), count, replace=False)
    made, offsets = whitened(rows, chosen, EPSILON * rows.var(axis=0).mean())
    return made.reshape(count, -1, SQUARE, SQUARE), offsets


def squares(image: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Patches of what the first layer says of random pieces of an image at all scales."""
    transform = DeepPatches((3, PIECE, PIECE))
    found = []
    for scale in np.exp(np.linspace(*np.log(SCALES), 10)):
        small = torch.from_numpy(shrunk(image, scale)).float().permute(2, 0, 1)
        for _ in range(PIECES):
            top, left = (
                int(random.integers(size - PIECE + 1)) for size in small.shape[1:]
            )
            piece = small[None, :, top : top + PIECE, left : left + PIECE]
            q = transform.seen(piece)[1][0, 0].T.numpy()
            found.append(q[random.choice(len(q), OF_A_PIECE)])
    return np.concatenate(found).astype(np.float64)


def main() -> None:
    """Write the files; the second one, which is large, in half precision."""
    images = photographs()
    made, offsets = (
        part.astype(np.float32) for part in filters(drawn(images, PATCHES))
    )
    np.savez(HOME / "patches.npz", filters=made, offsets=offsets)
    made, offsets = (part.astype(np.float32) for part in second_filters(images))
    half = made.astype(np.float16)
    np.savez(HOME / "deep_patches.npz", filters=half, offsets=offsets)


if __name__ == "__main__":
    main()
