"""The records of one site, whose form is public and given beforehand.

Nothing about the form is derived from the records: a site without some class, or with few records,
would otherwise build another model than the others.
"""

from __future__ import annotations

import math
from pathlib import Path

import torch
from torch import Tensor

from dpdl.errors import InputError
from dpdl.tasks.data.arrays import (
    held_out,
    read_arrays,
    records,
    targets,
    tensors_of,
)
from dpdl.tasks.data.dataset import Dataset
from dpdl.tasks.data.form import Form, look
from dpdl.tasks.data.named import FILES
from dpdl.tasks.data.own import from_function
from dpdl.tasks.targets import Predicted, Targets

Owner = str | Path | Dataset
"""An `.npz` or a CSV file, a `module:function`, or a data set."""


def of_site(
    owner: Owner, form: Form, test: tuple[Tensor, Tensor] | None = None
) -> Dataset:
    """The records of a site, with test records.

    These are the public ones in `test`, or its own. Without either, a fifth of its records is held
    out.
    """
    name, found = _tensors(owner, type(form.targets))
    if test is not None:
        found = [*found[:2], *test]
    x, y, x_test, y_test = found if len(found) == 4 else held_out(name, *found)
    if str(owner).endswith(".csv"):
        x, x_test = (as_form(rows, form) for rows in (x, x_test))
    for field, rows in (("x", x), ("x_test", x_test)):
        shape = tuple(rows.shape[1:])
        if shape != form.shape or rows.dtype != form.dtype:
            raise InputError(
                f"{name}: a record in {field} is {look(shape, rows.dtype)}, but the plan says "
                f"{form}."
            )
    mean, std, predicts = form.mean, form.std, form.targets
    return Dataset(name, x, y, x_test, y_test, predicts.count, mean, std, predicts)


def as_form(rows: Tensor, form: Form) -> Tensor:
    """Lines of numbers as the records that they stand for; others are left as they are.

    A table has no shapes and no pixels: as many numbers as a record has entries are that record,
    and whole numbers from 0 to 255 are pixels where records are.
    """
    if rows.dim() != 2 or rows.shape[1] != math.prod(form.shape):
        return rows
    pixels = bool(((rows >= 0) & (rows <= 255) & (rows == rows.floor())).all())
    if form.dtype == torch.uint8 and pixels:
        rows = rows.to(torch.uint8)
    return rows.reshape(len(rows), *form.shape)


def public_test(path: str, kind: type[Targets]) -> tuple[Tensor, Tensor]:
    """Public test records: `x` and `y` of a file."""
    found = read_arrays(path)
    if not {"x", "y"} <= set(found):
        raise InputError(f"{path} must hold the arrays x and y of the test records.")
    x, y = records(path, "x", found["x"]), targets(path, "y", found["y"], kind)
    if len(x) != len(y) or not len(x):
        raise InputError(
            f"{path}: {len(x)} records x and {len(y)} targets y, both must be equal, at least 1."
        )
    return x, y


def _tensors(owner: Owner, kind: type[Targets]) -> tuple[str, list[Tensor]]:
    """A name, training records and targets, and test records and targets if there are any."""
    if isinstance(owner, Dataset):
        return owner.name, [owner.x, owner.y, owner.x_test, owner.y_test]
    name = str(owner)
    if ":" not in name or name.endswith(FILES):
        return name, tensors_of(name, kind)
    made = from_function(name, Predicted(kind, None))
    return name, [made.x, made.y, made.x_test, made.y_test]
