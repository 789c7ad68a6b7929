"""What the demonstration found: `story.json`, which `dpdl demo --json` prints too.

DemoFacts       everything
DemoPart      a run, what it is worth, what is claimed and proven, and what was rebuilt from it
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import final

from dpdl.folder import names
from dpdl.folder.attack_facts import CaseScores, TrivialScores
from dpdl.folder.files import read_record, write_json
from dpdl.privacy.epsilons import Epsilons
from dpdl.records import Record, absent


@final
@dataclass(frozen=True)
class DemoFile(Record):
    """`demo.json`, the first file of a demonstration: the folder holds one, of this version."""

    FORMAT = 1

    version: str


@final
@dataclass(frozen=True, kw_only=True)
class DemoPart(Record):
    """One run, and what an attack rebuilt from messages of single records in one round of it."""

    name: str
    title: str  # how it is protected, in two or three words
    run: str  # its folder
    algorithm: str
    model: str
    rounds: int
    accuracy: float  # test accuracy, mean over agents
    sigma: float
    delta: float
    epsilon: Epsilons
    certified: float | None = absent()  # epsilon from below, by an audit
    confidence: float | None = absent()  # of that
    attack: CaseScores
    seconds: float  # of the training


@final
@dataclass(frozen=True, kw_only=True)
class DemoFacts(Record):
    """The parts in the order of the story; a control is in the picture, and not in the table."""

    FORMAT = 1

    dataset: str
    graph: str
    agents: int
    parts: tuple[DemoPart, ...]
    control: DemoPart | None
    trivial: tuple[TrivialScores, ...]  # pictures that need no attack
    out: str
    picture: str | None = absent()  # None: matplotlib is not installed
    page: str
    notes: tuple[str, ...] = ()  # what a reader should know about this telling

    @classmethod
    def read(cls, folder: Path) -> DemoFacts:
        """Those of a folder."""
        return read_record(cls, folder / names.STORY)

    def write(self, folder: Path) -> None:
        """Keep them in the folder of the demonstration."""
        write_json(folder / names.STORY, self.to_json())
