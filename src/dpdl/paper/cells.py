"""The accuracy cells of the paper's tables, by name and by selection."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from dpdl.errors import InputError, unknown
from dpdl.paper import tables


class Cell(NamedTuple):
    """One number of a table."""

    dataset: str
    graph: str
    agents: int
    alpha_d: float
    epsilon: float
    algorithm: str

    @property
    def name(self) -> str:
        """For files."""
        where = f"{self.dataset}-{self.graph}-{self.agents}"
        return f"{where}-alpha{self.alpha_d:g}-epsilon{self.epsilon:g}-{self.algorithm}"


class Published(NamedTuple):
    """What the paper says, in percent."""

    accuracy: float
    spread: float
    table: str


@cache
def published() -> dict[Cell, Published]:
    """All cells, the most telling ones first."""
    found = {
        Cell(*(cell[name] for name in Cell._fields)): Published(cell["accuracy"], cell["spread"], cell["table"])
        for cell in tables()["accuracy"]
    }
    return dict(sorted(found.items(), key=lambda item: _worth(item[0])))


def _worth(cell: Cell) -> tuple[Any, ...]:
    """MNIST before CIFAR-10, strong heterogeneity before weak, few agents before many, DPDL before the others."""
    return (
        cell.dataset != "mnist",
        cell.alpha_d,
        cell.agents,
        cell.algorithm != "dpdl",
        *cell[1:2],
        cell.epsilon,
        cell.algorithm,
    )


def names_of_tables() -> list[str]:
    """The tables of accuracies."""
    return sorted({entry.table for entry in published().values()})


def select(table: str | None, words: str = "") -> list[Cell]:
    """The cells of a table (None: of all) that fit words such as `graph=ring/complete,agents=10`."""
    if table is not None and table not in names_of_tables():
        raise unknown("table", table, names_of_tables())
    found = [cell for cell, entry in published().items() if table in (None, entry.table)]
    for word in filter(None, (part.strip() for part in words.split(","))):
        name, equals, values = word.partition("=")
        if not equals:
            raise InputError(f"Cells are chosen by name=value, such as graph=ring,agents=10, not by {word!r}.")
        if name not in Cell._fields:
            raise unknown("name of a cell's value", name, Cell._fields)
        wanted = [_value(name, value) for value in values.split("/")]
        found = [cell for cell in found if getattr(cell, name) in wanted]
    if not found:
        raise InputError(f"No cell of the paper has {words}{f' in table {table}' if table else ''}.")
    return found


def _value(name: str, text: str) -> Any:
    kinds: dict[str, Callable[[str], Any]] = {"agents": int, "alpha_d": float, "epsilon": float}
    known = sorted({getattr(cell, name) for cell in published()})
    try:
        value = kinds.get(name, str)(text)
    except ValueError:
        value = None
    if value not in known:
        raise unknown(f"{name} of the paper", text, [f"{v:g}" if isinstance(v, float) else str(v) for v in known])
    return value
