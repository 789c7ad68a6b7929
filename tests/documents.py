"""The documentation, as tests read it."""

from __future__ import annotations

import re
from pathlib import Path

HOME = Path(__file__).parents[1]


def text(name: str) -> str:
    """A page."""
    return (HOME / name).read_text("utf-8")


def code_blocks(page: str) -> list[str]:
    """The Python on a page."""
    return re.findall(r"^```python\n(.*?)^```", text(page), re.MULTILINE | re.DOTALL)


def table(page: str, columns: int) -> list[list[str]]:
    """The rows of a page's tables with so many columns whose first cell is code."""
    lines = [line for line in text(page).splitlines() if line.startswith("| `")]
    rows = [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))]
        for line in lines
    ]
    return [row for row in rows if len(row) == columns]


def install_skeleton(home: Path) -> None:
    """The algorithm of CONTRIBUTING.md as pip leaves a package: a module, and its metadata."""
    about = home / "cross_sgd-1.0.dist-info"
    about.mkdir(parents=True)
    (skeleton,) = code_blocks("CONTRIBUTING.md")
    (home / "cross_sgd.py").write_text(skeleton, "utf-8")
    (about / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: cross-sgd\nVersion: 1.0\n", "utf-8"
    )
    (about / "entry_points.txt").write_text(
        "[dpdl.algorithms]\ncross-sgd = cross_sgd:CrossSGD\n", "utf-8"
    )
