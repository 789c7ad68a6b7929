"""What `dpdl reproduce` shall measure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import final

from dpdl.bounds import check_size, count
from dpdl.errors import InputError, unknown
from dpdl.folder import names
from dpdl.studies.reproduce.recipes import AS_PUBLISHED, MODES

ALL = "all"


@final
@dataclass(frozen=True)
class ReproductionRequest:
    """Which cells, in which modes, with how many seeds, in how much time, and where."""

    table: str | None = None  # or a figure; None: all tables of accuracies
    cells: str = ""  # such as graph=ring/complete,agents=10
    modes: str | None = None  # names, separated by commas, or all
    seeds: int = 1
    minutes: float | None = None
    jobs: int | None = None
    out: Path = Path(names.RESULTS)
    runs: Path = Path(names.RUNS) / names.REPRODUCED

    def __post_init__(self) -> None:
        count("seeds", self.seeds)
        if self.minutes is not None:
            if not self.minutes > 0:
                raise InputError(f"minutes must be above 0, not {self.minutes:g}.")
            check_size("minutes", self.minutes)

    def chosen_modes(self, default: str = AS_PUBLISHED) -> list[str]:
        """The modes in a list; all of them for the name `all`."""
        given = default if self.modes is None else self.modes
        chosen = list(MODES) if given == ALL else given.split(",")
        for mode in chosen:
            if mode not in MODES:
                raise unknown("mode", mode, MODES, "or all")
        return chosen
