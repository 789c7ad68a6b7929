"""What is known about an epsilon: a number, that nothing bounds it, or nothing at all."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

from dpdl.errors import InputError
from dpdl.records import Json, number

TEXT = "unbounded"


@final
@dataclass(frozen=True)
class Epsilon:
    """A number of at least 0; infinity: unbounded; None: nobody computed it.

    JSON has the number, the text `unbounded`, or null.
    """

    value: float | None

    def __post_init__(self) -> None:
        if self.value is not None and not self.value >= 0:
            raise InputError(f"epsilon must be a number from 0 on, not {self.value}.")

    @property
    def known(self) -> bool:
        """Whether it was computed."""
        return self.value is not None

    @property
    def finite(self) -> float | None:
        """The number, if it is one."""
        return self.value if self.bounded else None

    @property
    def bounded(self) -> bool:
        """Whether it is a number."""
        return self.value is not None and math.isfinite(self.value)

    @property
    def unbounded(self) -> bool:
        """Whether it is known that nothing is proven."""
        return self.value == math.inf

    def __str__(self) -> str:
        return format(self, "")

    def __format__(self, spec: str) -> str:
        """The number by `spec`, four digits by default; otherwise a text."""
        if self.value is None:
            return "unknown"
        return format(self.value, spec or ".4g") if self.bounded else TEXT

    def to_json(self) -> Json:
        """A number, `unbounded` or null."""
        return TEXT if self.unbounded else self.value

    @classmethod
    def from_json(cls, content: Json, where: str = "") -> Epsilon:
        """What `to_json` wrote."""
        if content is None:
            return UNKNOWN
        if content == TEXT:
            return UNBOUNDED
        return cls(number(content, where or "epsilon"))


UNBOUNDED = Epsilon(math.inf)
UNKNOWN = Epsilon(None)
