"""What the paper published: two kinds of tables, and six figures."""

from dpdl.paper.numbers import (
    ATTACKED_EPSILON,
    ATTACKED_ROUNDS,
    FIGURES,
    attacks,
    names,
    tables,
)

__all__ = [
    "ATTACKED_EPSILON",
    "ATTACKED_ROUNDS",
    "FIGURES",
    "attacks",
    "names",
    "tables",
]
