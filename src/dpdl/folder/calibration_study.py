"""What `experiments/cross_gradients.py` measured, as it is kept in results/study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, final

from dpdl.errors import InputError
from dpdl.foreign import parse_json, read_text
from dpdl.records import Record

R = TypeVar("R", bound=Record)
SORTED = 0.0
"""The alpha_d that stands for records sorted by label."""


@final
@dataclass(frozen=True)
class StudySetting(Record):
    """What the algorithms that are compared have in common."""

    task: str  # data set and model
    graph: str
    agents: int
    alpha_d: float  # SORTED: as few classes per agent as there can be
    batch: int
    epsilon: float | None  # None: no noise, but clipped all the same
    rounds: int


@final
@dataclass(frozen=True)
class StudySeed(Record):
    """One run at the step that was chosen; scores are shares of right answers."""

    seed: int
    test: float  # mean of the agents
    average: float  # of the average of their models
    sigma: float | None  # None: the run has diverged, and its scores are 0
    epsilon: float | None  # proven against an eavesdropper; None: no noise
    cosine: float | None  # of neighbours, mean over evaluated rounds
    coefficient: float | None


@final
@dataclass(frozen=True)
class StudyLine(Record):
    """An algorithm in a setting: what its step was chosen by, and how it did."""

    setting: StudySetting
    algorithm: str
    step: int  # the power of two, in units of the length of a step
    held_out: Mapping[str, float]  # score on held-out records, by power; -1: diverged
    seeds: tuple[StudySeed, ...]


@final
@dataclass(frozen=True)
class CosineLine(Record):
    """Cosines of neighbours with and without noise, in one round: means over agents."""

    task: str
    alpha_d: float
    batch: int
    sigma: float
    size: int  # number of parameters
    round: int
    clean_cosine: float
    clean_coefficient: float
    clean_square: float  # mean squared length of a neighbour's answer without noise
    noisy_cosine: float
    noisy_coefficient: float
    noisy_square: float


def study_lines(path: Path) -> dict[StudySetting, dict[str, StudyLine]]:
    """All settings, each with its algorithms; of several lines the last one counts."""
    found: dict[StudySetting, dict[str, StudyLine]] = {}
    for line in _lines(path, StudyLine):
        found.setdefault(line.setting, {})[line.algorithm] = line
    return found


def cosine_lines(path: Path) -> list[CosineLine]:
    """All lines, in their order."""
    return _lines(path, CosineLine)


def _lines(path: Path, kind: type[R]) -> list[R]:
    try:
        texts = read_text(path).splitlines()
    except OSError as failure:
        raise InputError(f"File {str(path)!r} cannot be read: {failure}.") from None
    found = []
    for number, text in enumerate(texts, 1):
        where = f"{path}:{number}"
        try:
            found.append(kind.from_json(parse_json(text), where))
        except ValueError as failure:
            raise InputError(f"{where} is damaged: {failure}.") from None
    return found
