"""The user's own data: a `PATH.npz`, a `PATH.csv`, or a function of their own code."""

from __future__ import annotations

import torch
from torch import Tensor

from dpdl.errors import InputError
from dpdl.objects import cause, load_object
from dpdl.tasks.data.arrays import as_array, held_out, records, targets, tensors_of
from dpdl.tasks.data.dataset import Dataset
from dpdl.tasks.targets import CLASSES, Classes, Predicted


def from_file(path: str, predict: Predicted = CLASSES) -> Dataset:
    """The data set in a CSV file, or in an `.npz` file with `x`, `y`, perhaps `x_test`, `y_test`.

    Without test arrays, a fifth of the records is held out (`held_out`).
    """
    found = tensors_of(path, predict.kind)
    x, y, x_test, y_test = found if len(found) == 4 else held_out(path, *found)
    return _assembled(path, x, y, x_test, y_test, predict)


def from_function(spec: str, predict: Predicted = CLASSES) -> Dataset:
    """The data set that the user's `module:function` returns, called without arguments.

    It returns `(x, y, x_test, y_test)`, tensors or arrays, or a `Dataset`, which says itself what
    is predicted.
    """
    function = load_object(spec, "dataset")
    try:
        made = function()
    except (Exception, SystemExit) as error:
        raise InputError(
            f"The dataset {spec!r} failed when it was called: {cause(error)}."
        ) from error
    if isinstance(made, Dataset):
        return made
    sequence = isinstance(made, tuple | list)
    if not sequence or len(made) != 4:
        given = f"{len(made)} values" if sequence else type(made).__name__
        raise InputError(
            f"Dataset {spec!r} must return (x, y, x_test, y_test) or a Dataset, not {given}."
        )
    x, y, x_test, y_test = (as_array(spec, value) for value in made)
    return _assembled(
        spec,
        records(spec, "x", x),
        targets(spec, "y", y, predict.kind),
        records(spec, "x_test", x_test),
        targets(spec, "y_test", y_test, predict.kind),
        predict,
    )


def _assembled(
    name: str,
    x: Tensor,
    y: Tensor,
    x_test: Tensor,
    y_test: Tensor,
    predict: Predicted,
) -> Dataset:
    """A data set whose form is that of its own records, all of which are here."""
    kind, count = predict.kind, predict.count
    mean, std = (0.5, 0.5) if x.dtype == torch.uint8 else (0.0, 1.0)
    if count is None and kind is Classes:
        labels = [int(part.max()) for part in (y, y_test) if len(part)]
        count = max(2, 1 + max(labels, default=0))
    elif count is None:
        count = y.shape[1]
    return Dataset(name, x, y, x_test, y_test, count, (mean,), (std,), kind(count))
