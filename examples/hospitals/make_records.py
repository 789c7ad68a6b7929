"""Five files of records, as five hospitals would have them: different sizes, classes and formats.

    python make_records.py FOLDER

The records are the handwritten digits that come with dpdl. Four sites have an `.npz` file, charite
has a CSV file, as a database writes it. Beside each is the number of records to declare.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from dpdl.tasks.data import load

SHARES = {
    "mercy": (420, (0, 1, 2, 3)),
    "st-olav": (360, (3, 4, 5)),
    "charite": (320, (5, 6, 7)),
    "vita": (300, (7, 8, 9)),
    "anna": (280, (0, 2, 4, 6, 8)),
}
"""How many records a site has, and which classes half of them are of."""


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    digits = load("digits")
    x = np.concatenate([digits.x.numpy(), digits.x_test.numpy()])
    y = np.concatenate([digits.y.numpy(), digits.y_test.numpy()])
    order = np.random.default_rng(0).permutation(len(y))
    left = list(order)
    for name, (count, classes) in SHARES.items():
        favoured = [k for k in left if y[k] in classes][: count // 2]
        rest = [k for k in left if k not in set(favoured)][: count - len(favoured)]
        mine = np.array([*favoured, *rest])
        left = [k for k in left if k not in set(mine.tolist())]
        if name == "charite":
            pixels = [f"p{k}" for k in range(x[0].size)]
            rows = np.column_stack([x[mine].reshape(count, -1), y[mine]])
            lines = [
                ",".join([*pixels, "y"]),
                *(",".join(map(_text, row)) for row in rows),
            ]
            (folder / "charite.csv").write_text("\n".join(lines) + "\n")
        else:
            np.savez(folder / f"{name}.npz", x=x[mine], y=y[mine])
        (folder / f"{name}.declared").write_text(f"{_declared(count)}\n")


def _declared(count: int) -> int:
    """A round number below that of the training records: a fifth is set aside for tests."""
    return count * 4 // 5 // 10 * 10


def _text(value: float) -> str:
    return f"{value:.9g}"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
