"""What leaves agents, and in which form."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from dpdl.types import Visits


@dataclass(frozen=True)
class Leaving:
    """Rows on their way out: `rows[at[k]]` goes from agent `edges[k, 0]` to `edges[k, 1]`."""

    channel: str
    edges: Tensor  # (messages, 2) agent numbers (source, target); never a self-loop
    rows: Tensor
    at: Tensor  # (messages,)

    @property
    def bytes(self) -> int:
        """What all these messages weigh, headers not counted."""
        entries = math.prod(self.rows.shape[1:])
        return len(self.edges) * entries * self.rows.element_size()


Observer = Callable[[Leaving], None]


class Codec(Protocol):
    """Another form in which replies leave. An agent's answer to itself is never encoded."""

    def encode(self, answers: Tensor, visits: Visits, numbers: Tensor) -> Tensor:
        """What is sent in place of the answers to visits: (visits, ...).

        `numbers` are those of the visits among all of the net.
        """
        ...

    def decode(self, got: Tensor, like: Tensor) -> Tensor:
        """The answers that received rows stand for, in the width and number type of `like`."""
        ...
