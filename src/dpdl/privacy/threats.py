"""Who listens.

- `eavesdropper`: sees every message on every link.
- `neighbours:K`: K neighbours of an agent that work together, know their own noise and see what
  they receive; one curious neighbour is `neighbours:1`. Where agents have
  noise in common (`concord`, `corn-dsgd`, `decor`), they are any K agents.
- `final-model`: sees models only, in every round. No protection by hidden intermediate models is
  claimed: training is not convex.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from dpdl.bounds import whole_in
from dpdl.errors import InputError, unknown
from dpdl.text import shown


@final
@dataclass(frozen=True)
class Threat:
    """A threat model; `neighbours` is the size of the coalition, and only set for one."""

    kind: str  # eavesdropper, neighbours, final-model
    neighbours: int = 0

    @property
    def key(self) -> str:
        """Its name in JSON."""
        if self.kind == "neighbours":
            return (
                "neighbour" if self.neighbours == 1 else f"neighbours:{self.neighbours}"
            )
        return self.kind.replace("-", "_")

    def __str__(self) -> str:
        return (
            f"neighbours:{self.neighbours}" if self.kind == "neighbours" else self.kind
        )


EAVESDROPPER = Threat("eavesdropper")
ONE_NEIGHBOUR = Threat("neighbours", 1)
FINAL_MODEL = Threat("final-model")
DEFAULT_THREATS = (EAVESDROPPER, ONE_NEIGHBOUR, FINAL_MODEL)
"""Those that every run reports an epsilon for."""


def threat(text: str) -> Threat:
    """The threat model that a text names."""
    kind, _, count = text.partition(":")
    if kind in ("eavesdropper", "final-model") and not count:
        return Threat(kind)
    if kind != "neighbours":
        raise unknown("threat", text, ["eavesdropper", "final-model", "neighbours:K"])
    known = whole_in(count)
    if not known:
        raise InputError(
            f"threat {shown(text)} must be neighbours:K with K a whole number of at least 1."
        )
    return Threat(kind, known)
