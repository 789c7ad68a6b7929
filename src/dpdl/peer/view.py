"""Who takes part: the members of a manifest, or those who are left after some were dropped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from dpdl.graph import Graph

FIRST = 0
"""The number of the view that all members of a manifest are in."""


@final
@dataclass(frozen=True)
class View:
    """Members by number, which is their agent's, and the graph between them."""

    number: int
    names: tuple[str, ...]
    graph: Graph
    start: int = 1  # its first round

    def rank(self, name: str) -> int:
        """The number of a member's agent in this view."""
        return self.names.index(name)

    def neighbours(self, name: str) -> tuple[str, ...]:
        """Whom a member exchanges frames with, in the order of their agents."""
        here = self.rank(name)
        around = self.graph.neighbours(here)
        return tuple(self.names[int(j)] for j in around if int(j) != here)
