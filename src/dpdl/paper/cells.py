"""The cells of the paper's tables and figures, by name and by selection."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NamedTuple, TypeVar

from dpdl.errors import InputError, unknown
from dpdl.paper import FIGURES, names, tables


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


class Place(NamedTuple):
    """Where the paper attacked: twelve numbers of a table of attacks."""

    dataset: str
    graph: str
    agents: int

    @property
    def name(self) -> str:
        """For files."""
        return f"{self.dataset}-{self.graph}-{self.agents}"


class Published(NamedTuple):
    """What the paper says, in percent."""

    accuracy: float
    spread: float
    table: str


@cache
def published() -> dict[Cell, Published]:
    """All cells, the most telling ones first."""
    found = {
        Cell(*(cell[name] for name in Cell._fields)): Published(
            cell["accuracy"], cell["spread"], cell["table"]
        )
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


def algorithms_of_paper() -> list[str]:
    """DPDL, then the others by name."""
    return sorted(
        {cell.algorithm for cell in published()},
        key=lambda name: (name != "dpdl", name),
    )


def names_of_tables() -> list[str]:
    """The tables of accuracies."""
    return sorted({entry.table for entry in published().values()})


def names_of_attacks() -> list[str]:
    """The tables of attacks."""
    return sorted({cell["table"] for cell in tables()["attack"]})


def select(
    name: str | None, words: str = "", beyond: Iterable[str] = (), *, named: bool = True
) -> list[Cell]:
    """The cells of a table or figure (None: of all tables) that fit words such as `graph=ring/complete,agents=10`.

    Algorithms `beyond` the paper are there for those who name one, or, if they need not be `named`, for all.
    """
    if name is not None and name not in (*names_of_tables(), *FIGURES):
        raise unknown("table", name, names(), "or status")
    found = [
        cell
        for cell, entry in published().items()
        if name in (None, entry.table) or is_shown(cell, name)
    ]
    more = _beyond(found, beyond) if "algorithm=" in words or not named else []
    return _fitting(
        [*found, *more], words, [*published(), *_beyond(published(), beyond)], name
    )


def claim(cell: Cell) -> Published:
    """What the paper says of a cell; of an algorithm that it does not have, what it says of DPDL in its place."""
    return published().get(cell) or published()[cell._replace(algorithm="dpdl")]


def _beyond(cells: Iterable[Cell], algorithms: Iterable[str]) -> list[Cell]:
    places = [cell for cell in cells if cell.algorithm == "dpdl"]
    return [cell._replace(algorithm=name) for name in algorithms for cell in places]


def is_shown(cell: Cell, figure: str | None) -> bool:
    """Whether a figure of that name has a line for a cell."""
    values = FIGURES.get(figure or "")
    return values is not None and all(
        getattr(cell, key) == value for key, value in values.items()
    )


def places(table: str | None = None, words: str = "") -> list[Place]:
    """Where the paper attacked, of a table (None: of all), that fits words such as `graph=ring,agents=10/20`."""
    if table is not None and table not in names_of_attacks():
        raise unknown("table", table, names(), "or status")
    every: dict[Place, str] = {
        Place(*(cell[f] for f in Place._fields)): cell["table"]
        for cell in tables()["attack"]
    }
    ordered = sorted(
        every, key=lambda place: (place.dataset != "mnist", place.agents, place.graph)
    )
    return _fitting(
        [place for place in ordered if table in (None, every[place])],
        words,
        ordered,
        table,
    )


# ------------------------------------------------------------------ words
C = TypeVar("C", Cell, Place)


def _fitting(
    found: list[C], words: str, every: Iterable[C], name: str | None
) -> list[C]:
    """Those of `found` that fit the words; a value must be that of one of `every`."""
    every = list(every)
    for word in filter(None, (part.strip() for part in words.split(","))):
        key, equals, values = word.partition("=")
        if not equals:
            raise InputError(
                f"Cells are chosen by name=value, such as graph=ring,agents=10, not by {word!r}."
            )
        if key not in every[0]._fields:
            raise unknown("name of a cell's value", key, every[0]._fields)
        known = sorted({getattr(cell, key) for cell in every})
        wanted = [_value(key, value, known) for value in values.split("/")]
        found = [cell for cell in found if getattr(cell, key) in wanted]
    if not found:
        raise InputError(
            f"No cell of the paper has {words}{f' in {name}' if name else ''}."
        )
    return found


def _value(name: str, text: str, known: list[Any]) -> Any:
    kinds: dict[str, Callable[[str], Any]] = {
        "agents": int,
        "alpha_d": float,
        "epsilon": float,
    }
    try:
        value = kinds.get(name, str)(text)
    except ValueError:
        value = None
    if value not in known:
        raise unknown(
            f"{name} of the paper",
            text,
            [f"{v:g}" if isinstance(v, float) else str(v) for v in known],
        )
    return value
