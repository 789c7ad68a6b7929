"""Records in a CSV file, as hospitals and banks have them: one line each, under a line of names.

    age,pressure,glucose,y
    61,131,5.4,1

The column `y`, or the columns `y0`, `y1`, ..., are what is predicted; all others are the numbers of
a record, in the order of the file. Nothing may be missing, and nothing but numbers may be there.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpdl.errors import InputError, reason
from dpdl.foreign import read_text
from dpdl.text import shown

TARGET = re.compile(r"y[0-9]*")
Values = NDArray[np.float64]


def csv_arrays(path: str) -> dict[str, NDArray[np.generic]]:
    """`x` (n, numbers) in float32, and `y` (n,) or (n, k): whole numbers if all of them are."""
    lines = list(csv.reader(io.StringIO(_text(path))))
    names = [name.strip() for name in lines[0]] if lines else []
    targets = [k for k, name in enumerate(names) if TARGET.fullmatch(name)]
    if not targets or len(targets) == len(names) or len(set(names)) < len(names):
        raise InputError(
            f"{path} must begin with a line of different names, of which one is y, or y0, y1, ..., "
            "and at least one is not."
        )
    values = _values(path, names, lines[1:])
    x = np.delete(values, targets, axis=1).astype(np.float32)
    y = values[:, targets]
    return {"x": x, "y": _targets(y[:, 0] if len(targets) == 1 else y)}


def _text(path: str) -> str:
    try:
        return read_text(Path(path).expanduser())
    except FileNotFoundError:
        raise InputError(f"The data file {path} does not exist.") from None
    except (OSError, ValueError, RuntimeError) as failure:
        raise InputError(
            f"The data file {shown(path)} cannot be read: {reason(failure)}."
        ) from failure


def _values(path: str, names: Sequence[str], lines: Sequence[Sequence[str]]) -> Values:
    rows = [line for line in lines if line]
    for number, line in enumerate(rows, start=2):
        if len(line) != len(names):
            raise InputError(
                f"{path}: record {number - 1} has {len(line)} values, not {len(names)}."
            )
    try:
        return np.array(rows, dtype=np.float64).reshape(len(rows), len(names))
    except ValueError:
        raise _not_a_number(path, names, rows) from None


def _not_a_number(
    path: str, names: Sequence[str], rows: Sequence[Sequence[str]]
) -> InputError:
    """The error for the first value that is no number."""
    for number, row in enumerate(rows, start=1):
        for name, value in zip(names, row, strict=True):
            if not _is_number(value):
                where = f"{path}: record {number} has {shown(value)} in column {name}"
                return InputError(f"{where}, where a number must be.")
    return InputError(f"{path} holds numbers that cannot be read.")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _targets(y: Values) -> NDArray[np.generic]:
    whole = bool(np.isfinite(y).all()) and bool((y == np.floor(y)).all())
    return y.astype(np.int64) if whole and np.abs(y).max(initial=0) < 2**53 else y
