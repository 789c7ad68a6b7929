"""How far calibration by cosine leads, setting by setting.

A lead is in points of accuracy: the mean over the seeds that both algorithms have. It counts as
sure where it has one sign in all of at least three seeds and is at least half a point.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import final

from dpdl.folder.calibration_study import SORTED, CosineLine, StudyLine, StudySetting
from dpdl.theory.noisy_cosine import seen_cosine, signal_to_noise

Study = Mapping[StudySetting, Mapping[str, StudyLine]]
OURS = "dpdl-sound"
SEEDS = 3
"""With fewer, no lead is sure."""
SURE = 0.5
"""Points that a sure lead has at least."""
LEARNED = 0.3
"""Where no algorithm got so far, nothing was learned, and the setting says nothing."""


@final
@dataclass(frozen=True)
class Lead:
    """Points by which one algorithm is ahead of another in a setting."""

    setting: StudySetting
    points: tuple[float, ...]  # by seed

    @property
    def mean(self) -> float:
        """Over the seeds."""
        return fmean(self.points)

    @property
    def sure(self) -> int:
        """1: ahead; -1: behind; 0: nobody can say."""
        one_way = min(self.points) > 0 or max(self.points) < 0
        if len(self.points) < SEEDS or not one_way or abs(self.mean) < SURE:
            return 0
        return 1 if self.mean > 0 else -1


def learned(lines: Mapping[str, StudyLine]) -> bool:
    """Whether some algorithm is better than guessing by far, in seed 0."""
    return max(line.seeds[0].test for line in lines.values()) >= LEARNED


def alike(one: StudyLine, other: StudyLine) -> bool:
    """Whether each has tried the step that is best for the other."""
    return str(one.step) in other.held_out and str(other.step) in one.held_out


def leads(
    study: Study, other: str, ours: str = OURS, average: bool = False
) -> list[Lead]:
    """In all settings where both were tuned alike and in which something was learned."""
    found = []
    for setting, lines in study.items():
        both = {ours, other} <= lines.keys()
        if both and alike(lines[ours], lines[other]) and learned(lines):
            pairs = zip(lines[ours].seeds, lines[other].seeds, strict=False)
            found.append(
                Lead(
                    setting,
                    tuple(
                        100 * (a.average - b.average if average else a.test - b.test)
                        for a, b in pairs
                    ),
                )
            )
    return found


def points(value: float) -> str:
    """With a sign; what rounds to 0 is +0.0."""
    return f"{round(value, 1) + 0.0:+.1f}"


def spread(found: Sequence[Lead]) -> str:
    """The least and the largest lead."""
    means = [one.mean for one in found]
    return f"{points(min(means))} to {points(max(means))}"


def same_step(lines: Mapping[str, StudyLine], other: str) -> bool:
    """Whether both chose the same step, in units of their lengths."""
    return lines[OURS].step == lines[other].step


def departure(lines: Mapping[str, StudyLine]) -> float:
    """How far the coefficients of neighbours are from 1/2: mean size over the seeds."""
    seeds = lines[OURS].seeds
    return fmean(abs((one.coefficient or 0.5) - 0.5) for one in seeds)


def named(alpha_d: float) -> str:
    """How records are divided."""
    return "sorted" if alpha_d == SORTED else f"{alpha_d:g}"


def noise(epsilon: float | None) -> str:
    """How much noise there is."""
    return "no noise" if epsilon is None else f"{epsilon:g}"


def ratio(line: CosineLine) -> float:
    """Signal to noise of the answers; the clip norm of the study is 1."""
    return signal_to_noise(line.clean_square, line.sigma / line.batch, line.size)


def predicted(line: CosineLine) -> float:
    """The mean cosine that theory expects in this round."""
    s = ratio(line)
    return seen_cosine(line.clean_cosine, s, s, line.size).mean
