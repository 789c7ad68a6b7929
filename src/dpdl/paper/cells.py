"""The cells of the paper's tables and figures, by name and by selection."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, TypeVar

from dpdl.errors import InputError, unknown
from dpdl.paper.numbers import FIGURES, PublishedAccuracy, names, tables
from dpdl.records import Record

DPDL = "dpdl"


class Cell(NamedTuple):
    """One number of a table of accuracies."""

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

    @property
    def of_dpdl(self) -> Cell:
        """DPDL's cell in the same place."""
        return self._replace(algorithm=DPDL)


@dataclass(frozen=True)
class CellRecord(Record):
    """A record about one cell, whose values come first."""

    dataset: str
    graph: str
    agents: int
    alpha_d: float
    epsilon: float
    algorithm: str

    @property
    def cell(self) -> Cell:
        """What it is about."""
        place = (self.dataset, self.graph, self.agents, self.alpha_d, self.epsilon)
        return Cell(*place, self.algorithm)


class AttackedPlace(NamedTuple):
    """Where the paper attacked: twelve numbers of a table of attacks."""

    dataset: str
    graph: str
    agents: int

    @property
    def name(self) -> str:
        """For files."""
        return f"{self.dataset}-{self.graph}-{self.agents}"


class Published(NamedTuple):
    """What the paper reports for a cell, in percent."""

    accuracy: float
    spread: float
    table: str


@cache
def published() -> dict[Cell, Published]:
    """All cells, the most informative ones first."""
    found = {
        _cell_of(one): Published(one.accuracy, one.spread, one.table)
        for one in tables().accuracy
    }
    return dict(sorted(found.items(), key=lambda item: _rank(item[0])))


def _cell_of(one: PublishedAccuracy) -> Cell:
    place = (one.dataset, one.graph, one.agents, one.alpha_d, one.epsilon)
    return Cell(*place, one.algorithm)


def _rank(cell: Cell) -> tuple[bool, float, int, bool, str, float, str]:
    """MNIST before CIFAR-10, strong heterogeneity before weak, few agents before many.

    Then DPDL before the others.
    """
    return (
        cell.dataset != "mnist",
        cell.alpha_d,
        cell.agents,
        cell.algorithm != DPDL,
        cell.graph,
        cell.epsilon,
        cell.algorithm,
    )


def algorithms_of_paper() -> list[str]:
    """DPDL, then the others by name."""
    found = {cell.algorithm for cell in published()}
    return sorted(found, key=lambda name: (name != DPDL, name))


def names_of_tables() -> list[str]:
    """The tables of accuracies."""
    return sorted({entry.table for entry in published().values()})


def names_of_attacks() -> list[str]:
    """The tables of attacks."""
    return sorted({cell.table for cell in tables().attack})


def select(
    name: str | None, text: str = "", beyond: Iterable[str] = (), *, named: bool = True
) -> list[Cell]:
    """The cells of a table or figure that fit a text such as `graph=ring/complete,agents=10`.

    Without a name, the cells of all tables. Algorithms `beyond` the paper are included where the
    text names an algorithm, or, if they need not be `named`, always.
    """
    if name is not None and name not in (*names_of_tables(), *FIGURES):
        raise unknown("table", name, names(), "or status")
    beyond = list(beyond)
    found = [
        cell
        for cell, entry in published().items()
        if name in (None, entry.table) or is_shown(cell, name)
    ]
    more = _beyond(found, beyond) if "algorithm=" in text or not named else []
    every = [*published(), *_beyond(published(), beyond)]
    return _fitting([*found, *more], text, every, name)


def claim(cell: Cell) -> Published:
    """What the paper reports for a cell.

    For an algorithm that the paper does not have: what it reports for DPDL in the same place.
    """
    return published().get(cell) or published()[cell.of_dpdl]


def _beyond(cells: Iterable[Cell], algorithms: Sequence[str]) -> list[Cell]:
    of_dpdl = [cell for cell in cells if cell.algorithm == DPDL]
    return [cell._replace(algorithm=name) for name in algorithms for cell in of_dpdl]


def is_shown(cell: Cell, figure: str | None) -> bool:
    """Whether a figure of that name has a line for a cell."""
    if figure not in FIGURES:
        return False
    return FIGURES[figure] == (cell.dataset, cell.graph, cell.alpha_d)


def places(table: str | None = None, text: str = "") -> list[AttackedPlace]:
    """Where the paper attacked, as far as it fits a text such as `graph=ring,agents=10/20`.

    Without a table, the places of all tables.
    """
    if table is not None and table not in names_of_attacks():
        raise unknown("table", table, names(), "or status")
    every = {
        AttackedPlace(one.dataset, one.graph, one.agents): one.table
        for one in tables().attack
    }
    ordered = sorted(
        every, key=lambda place: (place.dataset != "mnist", place.agents, place.graph)
    )
    found = [place for place in ordered if table in (None, every[place])]
    return _fitting(found, text, ordered, table)


# ------------------------------------------------------------------ selections
Chosen = TypeVar("Chosen", Cell, AttackedPlace)
Value = str | int | float


def _fitting(
    found: list[Chosen], text: str, every: Sequence[Chosen], name: str | None
) -> list[Chosen]:
    """Those of `found` that fit the text; a value must be that of one of `every`."""
    fields = every[0]._fields
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, equals, values = part.partition("=")
        if not equals:
            raise InputError(
                "Cells are chosen by name=value, such as graph=ring,agents=10, not by "
                f"{part!r}."
            )
        if key not in fields:
            raise unknown("name of a cell's value", key, fields)
        known = sorted({getattr(cell, key) for cell in every})
        wanted = [_value(key, value, known) for value in values.split("/")]
        found = [cell for cell in found if getattr(cell, key) in wanted]
    if not found:
        where = f" in {name}" if name else ""
        raise InputError(f"No cell of the paper has {text}{where}.")
    return found


def _value(name: str, text: str, known: Sequence[Value]) -> Value:
    kind = type(known[0])
    try:
        value = kind(text)
    except ValueError:
        value = None
    if value is None or value not in known:
        raise unknown(f"{name} of the paper", text, [_shown(one) for one in known])
    return value


def _shown(value: Value) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
