"""The user's own data: a `PATH.npz`, or a function of their own code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dpdl.errors import InputError
from dpdl.keys import generator
from dpdl.tasks.data.dataset import Dataset
from dpdl.tasks.objects import cause, load_object

HELD_OUT = 5
LARGEST_LABEL = 65_535
Array = NDArray[Any]


def from_file(path: str) -> Dataset:
    """The data set in an `.npz` file with `x`, `y` and, optionally, `x_test`, `y_test`.

    Without test arrays, a fifth of the records (rounded down, at least one) is held out: the first of the
    permutation with key `(0, "held-out")`, so the same file always gives the same split.
    """
    found = _read(path)
    missing = [key for key in ("x", "y") if key not in found]
    if missing or ("x_test" in found) != ("y_test" in found):
        raise InputError(
            f"{path} holds the arrays {', '.join(found) or 'none'}, it must hold x and y, "
            "and either both or none of x_test and y_test."
        )
    x, y = _records(path, "x", found["x"]), _labels(path, "y", found["y"])
    if "x_test" in found:
        x_test, y_test = _records(path, "x_test", found["x_test"]), _labels(path, "y_test", found["y_test"])
        return _assemble(path, x, y, x_test, y_test)
    if len(x) != len(y) or len(x) < 2:
        raise InputError(f"{path}: {len(x)} records x and {len(y)} labels y, both must be equal, at least 2.")
    order = generator(0, "held-out").permutation(len(x))
    cut = max(1, len(x) // HELD_OUT)
    test, train = np.sort(order[:cut]), np.sort(order[cut:])
    return _assemble(path, x[train], y[train], x[test], y[test])


def from_function(spec: str) -> Dataset:
    """The data set that the user's `module:function` returns, called without arguments.

    It returns `(x, y, x_test, y_test)`, tensors or arrays, or a `Dataset`.
    """
    function = load_object(spec, "dataset")
    try:
        made = function()
    except (Exception, SystemExit) as error:
        raise InputError(f"The dataset {spec!r} failed when it was called: {cause(error)}.") from error
    if isinstance(made, Dataset):
        return made
    if not isinstance(made, tuple | list) or len(made) != 4:
        given = f"{len(made)} values" if isinstance(made, tuple | list) else type(made).__name__
        raise InputError(f"Dataset {spec!r} must return (x, y, x_test, y_test) or a Dataset, not {given}.")
    x, y, x_test, y_test = (_as_array(spec, value) for value in made)
    return _assemble(
        spec,
        _records(spec, "x", x),
        _labels(spec, "y", y),
        _records(spec, "x_test", x_test),
        _labels(spec, "y_test", y_test),
    )


def _assemble(name: str, x: Tensor, y: Tensor, x_test: Tensor, y_test: Tensor) -> Dataset:
    labels = [int(part.max()) for part in (y, y_test) if len(part)]
    classes = max(2, 1 + max(labels, default=0))
    mean, std = (0.5, 0.5) if x.dtype == torch.uint8 else (0.0, 1.0)
    return Dataset(name, x, y, x_test, y_test, classes, mean=(mean,), std=(std,))


def _read(path: str) -> Mapping[str, Array]:
    file = Path(path).expanduser()
    if not file.is_file():
        raise InputError(f"The data file {path} does not exist.")
    try:
        loaded = np.load(file, allow_pickle=False)
        if not isinstance(loaded, np.lib.npyio.NpzFile):
            raise ValueError("it is not an .npz archive")
        with loaded:
            return {key: loaded[key] for key in ("x", "y", "x_test", "y_test") if key in loaded}
    except (Exception, MemoryError) as error:  # a damaged file makes numpy and zipfile raise almost anything
        raise InputError(
            f"The data file {path} cannot be read ({cause(error)}): "
            "it must be a file that numpy.savez wrote, with plain arrays."
        ) from error


def _as_array(spec: str, value: Any) -> Array:
    if isinstance(value, Tensor):
        if value.dtype == torch.bfloat16:
            value = value.float()
        return np.asarray(value.detach().cpu().numpy())
    if isinstance(value, np.ndarray):
        return value
    raise InputError(f"The dataset {spec!r} must return tensors or numpy arrays, not {type(value).__name__}.")


def _records(name: str, field: str, x: Array) -> Tensor:
    if x.dtype != np.uint8 and x.dtype.kind != "f":
        raise InputError(f"{name}: {field} must be uint8 pixels or floating numbers, not {x.dtype}.")
    if x.ndim == 3:
        x = x[:, None]
    if x.ndim == 4 and x.shape[3] in (1, 3) and x.shape[1] not in (1, 3):
        raise InputError(f"{name}: {field} of shape {x.shape} looks like (n, H, W, C), transpose it to (n, C, H, W).")
    if x.dtype == np.uint8:
        return torch.from_numpy(np.array(x, order="C"))
    with np.errstate(over="ignore"):
        return torch.from_numpy(np.array(x, dtype=np.float32, order="C"))


def _labels(name: str, field: str, y: Array) -> Tensor:
    if y.dtype.kind not in "iu" or y.ndim != 1:
        raise InputError(f"{name}: {field} must be integers of shape (n,), not {y.dtype} of shape {y.shape}.")
    if y.size and int(y.max()) > LARGEST_LABEL:
        raise InputError(f"{name}: {field} has the label {y.max()}, allowed are 0 to {LARGEST_LABEL}.")
    return torch.from_numpy(y.astype(np.int64))
