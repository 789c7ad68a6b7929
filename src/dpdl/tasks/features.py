"""Features in place of pixels: the scattering of every record, normalised by itself.

They cost no privacy. An agent computes the features of its records once. Those of public data sets
are kept in the cache folder, in half precision; those of anybody's own data are written nowhere.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from dpdl.errors import InputError
from dpdl.parallel import each, one_thread_per_operation
from dpdl.tasks.data import Dataset, cache_dir
from dpdl.tasks.data.catalogue import CATALOGUE
from dpdl.tasks.models import ON_FEATURES as MODELS
from dpdl.tasks.scattering import GROUPS, Scattering, normalised

SUFFIX = ", scattered"
VERSION = 1  # of the features, part of the name of their file
PIECE = 500  # records at a time


def for_model(model: str, data: Dataset) -> Dataset:
    """The data set as this model takes it: with features if it is one of `MODELS`."""
    if model not in MODELS or data.name.endswith(SUFFIX):
        return data
    return scattered(data)


def features_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of the features of an image of this shape."""
    return Scattering(shape).out


def features(transform: Scattering, images: Tensor) -> Tensor:
    """The features of images, in the precision that models are trained on."""
    return normalised(transform(images), GROUPS).to(torch.float16)


def scattered(data: Dataset, piece: int = PIECE) -> Dataset:
    """The data set with features in place of records; a core transforms `piece` at a time."""
    transform = Scattering(data.shape)
    found = _kept if data.name in CATALOGUE else _features
    x, x_test = (found(data, rows, transform, piece) for rows in (data.x, data.x_test))
    return replace(
        data, name=data.name + SUFFIX, x=x, x_test=x_test, mean=(0.0,), std=(1.0,)
    )


def _features(data: Dataset, rows: Tensor, transform: Scattering, piece: int) -> Tensor:
    out = torch.empty(len(rows), *transform.out, dtype=torch.float16)
    _fill(out, data, rows, transform, piece)
    return out


def _fill(
    out: Tensor, data: Dataset, rows: Tensor, transform: Scattering, piece: int
) -> None:
    def one(start: int) -> None:
        some = slice(start, start + piece)
        out[some] = features(transform, data.inputs(rows[some], torch.float32))

    with one_thread_per_operation():
        each(one, range(0, len(rows), piece))


def _kept(data: Dataset, rows: Tensor, transform: Scattering, piece: int) -> Tensor:
    """Features from the cache folder, computed and written there if they are missing.

    The file is mapped into memory: read as it is needed, and shared by processes.
    """
    what = f"{VERSION} {transform} {GROUPS} {data.mean} {data.std} {tuple(rows.shape)} "
    content = rows.contiguous().numpy().tobytes()
    digest = hashlib.sha256(what.encode() + content).hexdigest()
    path = cache_dir() / "features" / f"{data.name}-{digest[:24]}.npy"
    try:
        if not path.exists():
            _compute(path, data, rows, transform, piece)
        return torch.from_numpy(np.load(path, mmap_mode="c"))
    except OSError as failure:
        raise InputError(
            f"The features {path} cannot be kept ({failure.strerror or failure}): free some space, "
            "or set DPDL_DATA to a folder you may write to."
        ) from failure


def _compute(
    path: Path, data: Dataset, rows: Tensor, transform: Scattering, piece: int
) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, part = tempfile.mkstemp(dir=path.parent, prefix=".part-", suffix=".npy")
    os.close(handle)
    try:
        out = np.lib.format.open_memmap(
            part, "w+", np.float16, (len(rows), *transform.out)
        )
        _fill(torch.from_numpy(out), data, rows, transform, piece)
        out.flush()
        Path(part).replace(path)
    finally:
        Path(part).unlink(missing_ok=True)
