"""Arrays of the user's own data, checked and made into tensors."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from zipfile import ZipInfo

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dpdl.errors import InputError, reason
from dpdl.foreign import check_file
from dpdl.keys import generator
from dpdl.objects import cause
from dpdl.tasks.data.csv_table import csv_arrays
from dpdl.tasks.targets import Classes, Labels, Numbers, Targets
from dpdl.text import shown

HELD_OUT = 5  # one of so many records
LARGEST_LABEL = 65_535
KEYS = ("x", "y", "x_test", "y_test")
Array = NDArray[Any]


def tensors_of(path: str, kind: type[Targets]) -> list[Tensor]:
    """`x`, `y` and, if they are there, `x_test`, `y_test` of an `.npz` or a CSV file."""
    found = read_arrays(path)
    missing = [key for key in ("x", "y") if key not in found]
    if missing or ("x_test" in found) != ("y_test" in found):
        raise InputError(
            f"{path} holds the arrays {', '.join(found) or 'none'}, it must hold x and y, "
            "and either both or none of x_test and y_test."
        )
    tensors = [records(path, "x", found["x"]), targets(path, "y", found["y"], kind)]
    if "x_test" in found:
        tensors.append(records(path, "x_test", found["x_test"]))
        tensors.append(targets(path, "y_test", found["y_test"], kind))
    return tensors


def held_out(name: str, x: Tensor, y: Tensor) -> list[Tensor]:
    """Training records and targets, then test records and targets: a fifth, at least one.

    The test records are the first ones of the permutation with key `(0, "held-out")`, so the same
    file always gives the same split.
    """
    if len(x) != len(y) or len(x) < 2:
        raise InputError(
            f"{name}: {len(x)} records x and {len(y)} labels y, both must be equal, at least 2."
        )
    order = generator(0, "held-out").permutation(len(x))
    cut = max(1, len(x) // HELD_OUT)
    test, train = np.sort(order[:cut]), np.sort(order[cut:])
    return [x[train], y[train], x[test], y[test]]


def read_arrays(path: str) -> Mapping[str, Array]:
    """The arrays `x`, `y`, `x_test` and `y_test` of a file, as far as it has them."""
    if path.endswith(".csv"):
        return csv_arrays(path)
    try:
        file = Path(path).expanduser()
        check_file(file)
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise InputError(f"The data file {path} does not exist.") from None
    except (OSError, ValueError, RuntimeError) as error:  # no such home
        raise InputError(
            f"The data file {shown(path)} cannot be read: {reason(error)}."
        ) from error
    try:
        with file.open("rb") as stream:  # numpy would leave a damaged file open
            loaded = np.load(stream, allow_pickle=False)
            if not isinstance(loaded, np.lib.npyio.NpzFile):
                raise ValueError("it is not an .npz archive")
            _check_memory(loaded.zip.infolist() if loaded.zip else [])
            found = {key: loaded[key] for key in KEYS if key in loaded}
            for key, value in found.items():
                if not isinstance(value, np.ndarray) or not value.ndim:
                    raise ValueError(f"{key} is not an array of records")
            return found
    except Exception as error:  # numpy and zipfile raise almost anything
        raise InputError(
            f"The data file {path} cannot be read ({cause(error)}): "
            "it must be a file that numpy.savez wrote, with plain arrays."
        ) from error


def _check_memory(members: Iterable[ZipInfo]) -> None:
    """Refuse arrays that are larger than the memory of this machine, before they are read."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if sum(member.file_size for member in members) > memory:
        raise ValueError("its arrays are larger than the memory of this machine")


def as_array(spec: str, value: Any) -> Array:
    """A tensor or an array as an array."""
    if isinstance(value, Tensor):
        if value.dtype == torch.bfloat16:
            value = value.float()
        return np.asarray(value.detach().cpu().numpy())
    if isinstance(value, np.ndarray):
        return value
    raise InputError(
        f"The dataset {spec!r} must return tensors or numpy arrays, not {type(value).__name__}."
    )


def records(name: str, field: str, x: Array) -> Tensor:
    """Pixels or floating numbers as records; images get a channel."""
    if x.dtype != np.uint8 and x.dtype.kind != "f":
        raise InputError(
            f"{name}: {field} must be uint8 pixels or floating numbers, not {x.dtype}."
        )
    if x.ndim == 3:
        x = x[:, None]
    if x.ndim == 4 and x.shape[3] in (1, 3) and x.shape[1] not in (1, 3):
        raise InputError(
            f"{name}: {field} of shape {x.shape} looks like (n, H, W, C), transpose it to "
            "(n, C, H, W)."
        )
    if x.dtype == np.uint8:
        return torch.from_numpy(np.array(x, order="C"))
    with np.errstate(over="ignore"):  # infinite numbers are refused later
        return torch.from_numpy(np.array(x, dtype=np.float32, order="C"))


def targets(name: str, field: str, y: Array, kind: type[Targets]) -> Tensor:
    """Whole numbers (n,) for classes, 0 and 1 (n, k) for labels, numbers (n,) or (n, k)."""
    if kind is Classes:
        return _classes(name, field, y)
    if kind is Labels and (y.dtype.kind not in "iub" or y.ndim != 2):
        raise InputError(
            f"{name}: {field} must be integers 0 and 1 of shape (n, labels), not {y.dtype} of "
            f"shape {y.shape}."
        )
    if kind is Numbers and (y.dtype.kind not in "fiu" or y.ndim not in (1, 2)):
        raise InputError(
            f"{name}: {field} must be numbers of shape (n,) or (n, k), not {y.dtype} of shape "
            f"{y.shape}."
        )
    rows = y if y.ndim == 2 else y[:, None]
    with np.errstate(over="ignore"):  # infinite numbers are refused later
        return torch.from_numpy(rows.astype(np.float32))


def _classes(name: str, field: str, y: Array) -> Tensor:
    if y.dtype.kind not in "iu" or y.ndim != 1:
        raise InputError(
            f"{name}: {field} must be integers of shape (n,), not {y.dtype} of shape {y.shape}; "
            "to predict labels or numbers, say so with predict."
        )
    if y.size and int(y.max()) > LARGEST_LABEL:
        raise InputError(
            f"{name}: {field} has the label {y.max()}, allowed are 0 to {LARGEST_LABEL}."
        )
    return torch.from_numpy(y.astype(np.int64))
