"""Features in place of pixels, fixed before any data was seen, and normalised by record.

They cost no privacy. An agent computes the features of its records once. Those of public data sets
are kept in the cache folder, in half precision; those of anybody's own data are written nowhere.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Literal, final

import numpy as np
import torch
from torch import Tensor

from dpdl.errors import InputError
from dpdl.foreign import check_file
from dpdl.parallel import each, one_thread_per_operation
from dpdl.tasks.data import Dataset, cache_dir
from dpdl.tasks.data.catalogue import CATALOGUE
from dpdl.tasks.data.form import Form
from dpdl.tasks.deep_patches import DeepPatches
from dpdl.tasks.directions import SHARE, of_length
from dpdl.tasks.patches import Patches
from dpdl.tasks.scattering import GROUPS, Scattering, normalised

PIECE = 500  # records at a time


@dataclass(frozen=True)
class Features(ABC):
    """What stands in for records of one form, in the precision that models are trained on."""

    form: Form
    kind: ClassVar[Literal["scattering", "patches", "deep_patches"]]
    suffix: ClassVar[str]
    """Of the name of a data set that has them."""

    @property
    @abstractmethod
    def out(self) -> tuple[int, ...]:
        """Their shape for one record."""

    @property
    @abstractmethod
    def key(self) -> str:
        """All that they depend on beside the records."""

    @abstractmethod
    def of(self, rows: Tensor) -> Tensor:
        """Those of records as they are stored, float16."""


@final
@dataclass(frozen=True)
class Scattered(Features):
    """The wavelet scattering of scaled images, normalised by groups of channels."""

    kind = "scattering"
    suffix = ", scattered"
    version = 1

    @cached_property
    def transform(self) -> Scattering:
        """The transform of one image."""
        return Scattering(self.form.shape)

    @property
    def out(self) -> tuple[int, ...]:
        """Channels, height, width."""
        return self.transform.out

    @property
    def key(self) -> str:
        """Version, transform and scaling."""
        form = self.form
        return f"{self.version} {self.transform} {GROUPS} {form.mean} {form.std}"

    def of(self, rows: Tensor) -> Tensor:
        """Scaled, transformed, normalised."""
        images = self.form.inputs(rows, torch.float32)
        return normalised(self.transform(images), GROUPS).to(torch.float16)


@final
@dataclass(frozen=True)
class Patched(Features):
    """The answers of an image's pixels to whitened patches, all of one length."""

    kind = "patches"
    suffix = ", patches"

    def __post_init__(self) -> None:
        _check_pixels(self.form)

    @cached_property
    def transform(self) -> Patches:
        """The transform of one image."""
        return Patches(self.form.shape)

    @property
    def out(self) -> tuple[int, ...]:
        """Filters and signs, rows and columns."""
        return self.transform.out

    @property
    def key(self) -> str:
        """Version and transform."""
        return str(self.transform)

    def of(self, rows: Tensor) -> Tensor:
        """Transformed, and brought to one length."""
        return of_length(self.transform(rows)).to(torch.float16)


@final
@dataclass(frozen=True)
class DeepPatched(Features):
    """These answers, and those of a second layer half as long beside them, all of one length."""

    kind = "deep_patches"
    suffix = ", deep patches"

    def __post_init__(self) -> None:
        _check_pixels(self.form)

    @cached_property
    def transform(self) -> DeepPatches:
        """The transform of one image."""
        return DeepPatches(self.form.shape)

    @property
    def out(self) -> tuple[int, ...]:
        """All in one row."""
        return self.transform.out

    @property
    def key(self) -> str:
        """Share, and version and transform of both layers."""
        return f"{SHARE} {self.transform} {self.transform.first}"

    def of(self, rows: Tensor) -> Tensor:
        """Transformed; they are of one length."""
        return self.transform(rows).to(torch.float16)


def _check_pixels(form: Form) -> None:
    if form.dtype != torch.uint8:
        raise InputError(
            "A model on patches takes pixels from 0 to 255 (uint8), but the data has "
            "floating numbers; use --model scatter-linear."
        )


OF_MODEL: Mapping[str, type[Features]] = {
    "scatter-linear": Scattered,
    "scatter-cnn": Scattered,
    "patch-linear": Patched,
    "deep-patch-linear": DeepPatched,
}
"""What the models take that take features."""
SUFFIXES = tuple(kind.suffix for kind in OF_MODEL.values())
"""Of data sets that have features in place of records."""


def features_of(model: str, form: Form) -> Features | None:
    """What a named model takes in place of records of this form; None: the records."""
    return OF_MODEL[model](form) if model in OF_MODEL else None


def for_model(model: str, data: Dataset) -> Dataset:
    """The data set as this model takes it: with features if it is one that takes them."""
    if model not in OF_MODEL or data.name.endswith(OF_MODEL[model].suffix):
        return data
    return with_features(data, OF_MODEL[model](data.form))


def with_features(data: Dataset, features: Features, piece: int = PIECE) -> Dataset:
    """The data set with features in place of records; a core transforms `piece` at a time."""
    found = _kept if data.name in CATALOGUE else _features
    x, x_test = (
        found(data.name, rows, features, piece) for rows in (data.x, data.x_test)
    )
    name = data.name + features.suffix
    return replace(data, name=name, x=x, x_test=x_test, mean=(0.0,), std=(1.0,))


def _features(name: str, rows: Tensor, features: Features, piece: int) -> Tensor:
    out = torch.empty(len(rows), *features.out, dtype=torch.float16)
    _fill(out, rows, features, piece)
    return out


def _fill(out: Tensor, rows: Tensor, features: Features, piece: int) -> None:
    def one(start: int) -> None:
        some = slice(start, start + piece)
        out[some] = features.of(rows[some])

    with one_thread_per_operation():
        each(one, range(0, len(rows), piece))


def _kept(name: str, rows: Tensor, features: Features, piece: int) -> Tensor:
    """Features from the cache folder, computed and written there if they are missing.

    The file is mapped into memory: read as it is needed, and shared by processes.
    """
    shape = (len(rows), *features.out)
    content = rows.contiguous().numpy().tobytes()
    about = f"{features.key} {tuple(rows.shape)} "
    digest = hashlib.sha256(about.encode() + content).hexdigest()
    path = cache_dir() / "features" / f"{name}-{digest[:24]}.npy"
    try:
        found = _mapped(path, shape)
        if found is None:
            _compute(path, rows, features, piece)
            found = _mapped(path, shape)
        if found is None:
            raise OSError("It was damaged while it was read")
        return found
    except OSError as failure:
        raise InputError(
            f"The features {path} cannot be kept ({failure.strerror or failure}): free some space, "
            "or set DPDL_DATA to a folder you may write to."
        ) from failure


def _mapped(path: Path, shape: tuple[int, ...]) -> Tensor | None:
    """The features in a file; None: there is none, or it was damaged."""
    if not path.exists():
        return None
    check_file(path)
    try:
        found = np.load(path, mmap_mode="c", allow_pickle=False)
    except (ValueError, EOFError):
        return None
    if not isinstance(found, np.ndarray) or found.dtype != np.float16:
        return None
    return torch.from_numpy(found) if found.shape == shape else None


def _compute(path: Path, rows: Tensor, features: Features, piece: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, part = tempfile.mkstemp(dir=path.parent, prefix=".part-", suffix=".npy")
    os.close(handle)
    try:
        out = np.lib.format.open_memmap(
            part, "w+", np.float16, (len(rows), *features.out)
        )
        _fill(torch.from_numpy(out), rows, features, piece)
        out.flush()
        Path(part).replace(path)
    finally:
        Path(part).unlink(missing_ok=True)
