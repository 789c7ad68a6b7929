"""How to attack: a method, and how much work it may take. Wrong ones are refused without torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from dpdl.bounds import count
from dpdl.errors import unknown

if TYPE_CHECKING:
    from dpdl.attacks.inverting import Settings

AUTO = "auto"
DEFAULTS = {
    "peel": (300, 16),
    "inverting": (1000, 4),
    "dlg": (300, 4),
    "idlg": (300, 4),
    "unscatter": (150, 4),
}
"""Iterations and restarts. Peeling gains more from other starts than from more steps."""


def check_method(method: str) -> None:
    """Refuse what is neither a method nor `auto`."""
    if method != AUTO and method not in DEFAULTS:
        raise unknown("method", method, [AUTO, *DEFAULTS])


@final
@dataclass(frozen=True)
class Effort:
    """How to attack; None: the default of the method."""

    method: str = "auto"
    iterations: int | None = None
    restarts: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_method(self.method)
        for name in ("iterations", "restarts"):
            value = getattr(self, name)
            if value is not None:
                count(name, value)
        count("seed", self.seed, least=0)

    def settings(self, method: str) -> Settings:
        """For one of the methods."""
        from dpdl.attacks.inverting import Settings

        iterations, restarts = DEFAULTS[method]
        return Settings(
            self.iterations or iterations, self.restarts or restarts, seed=self.seed
        )
