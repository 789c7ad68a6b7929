"""What a search writes: `tune.json`, `trials.jsonl` and `result.json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import final

from dpdl import __version__
from dpdl.bounds import whole_in
from dpdl.errors import InputError
from dpdl.experiment.experiment import from_mapping
from dpdl.options import Value
from dpdl.privacy.epsilon import UNKNOWN, Epsilon
from dpdl.records import Record, absent, others
from dpdl.studies.schedule import Schedule
from dpdl.studies.search import Search
from dpdl.studies.study_cards import of_search
from dpdl.text import shown


# ------------------------------------------------------------------ tune.json
@final
@dataclass(frozen=True, kw_only=True)
class SearchTerms(Record):
    """What is searched; a later request for the folder must not differ."""

    for_budget: bool = False
    search: str
    over: Mapping[str, tuple[int | float, int | float, bool]]  # low, high, by factors
    work: float | None = absent()  # of a search for a budget
    trials: int | None = absent()  # of a grid; other searches may get more of them
    experiment: Mapping[str, Value] = others()

    def resolved(self) -> SearchTerms:
        """The same with the defaults of the experiment filled in.

        A request that names a default is the same as one that does not.
        """
        options = from_mapping(self.experiment).resolved().as_dict()
        return replace(self, experiment=options)


def terms_of(s: Search) -> SearchTerms:
    """What a request fixes for its folder."""
    return SearchTerms(
        for_budget=s.work is not None,
        search=s.search,
        over={name: (one.low, one.high, one.log) for name, one in s.ranges.items()},
        work=s.work,
        trials=s.trials if s.search == "grid" else None,
        experiment=s.experiment.as_dict(),
    )


@final
@dataclass(frozen=True)
class SearchFile(Record):
    """`tune.json`: what is searched, and the schedules that trials draw from."""

    FORMAT = 1

    version: str
    asked: SearchTerms
    plan: tuple[Schedule, ...] | None = absent()  # of a search for a budget


def file_of(s: Search) -> SearchFile:
    """`tune.json` of a search whose schedules are known."""
    return SearchFile(__version__, terms_of(s), _plan(s))


def _plan(s: Search) -> tuple[Schedule, ...] | None:
    return None if s.work is None else s.plan


# ------------------------------------------------------------------ trials.jsonl
@final
@dataclass(frozen=True)
class Trial(Record):
    """One trial: its options, and its scores so far."""

    trial: int
    values: Mapping[str, Value]
    scores: Mapping[str, float | None]  # round -> score; None: it diverged
    epsilon: Epsilon = UNKNOWN  # of the rounds so far
    epsilon_all_rounds: Epsilon = UNKNOWN  # if it goes on to the end
    error: str | None = None

    def __post_init__(self) -> None:
        for rounds in self.scores:
            if whole_in(rounds) is None:
                raise InputError(f"scores must be by rounds, not by {shown(rounds)}.")

    def scored(self, rounds: int) -> bool:
        """Whether the trial was compared after so many rounds."""
        return str(rounds) in self.scores

    def score(self, rounds: int) -> float | None:
        """The score after so many rounds; None: it diverged, or did not get there."""
        return self.scores.get(str(rounds))

    def with_score(self, rounds: int, score: float | None) -> Trial:
        """The same trial with one more score."""
        return replace(self, scores={**self.scores, str(rounds): score})

    @property
    def rounds(self) -> int:
        """After how many rounds it was last compared; 0: never."""
        return max(map(int, self.scores), default=0)


# ------------------------------------------------------------------ result.json
@final
@dataclass(frozen=True)
class TrialResult(Record):
    """One trial of a finished search, with its last score."""

    trial: int
    values: Mapping[str, Value]
    epsilon: Epsilon
    epsilon_all_rounds: Epsilon
    error: str | None
    rounds: int
    score: float | None


def result_of(trial: Trial) -> TrialResult:
    """What `result.json` says of a trial."""
    return TrialResult(
        trial.trial,
        trial.values,
        trial.epsilon,
        trial.epsilon_all_rounds,
        trial.error,
        trial.rounds,
        trial.score(trial.rounds),
    )


@final
@dataclass(frozen=True)
class Composed(Record):
    """What all trials together give away of a record that they trained on."""

    epsilon: Epsilon
    delta: float


@final
@dataclass(frozen=True)
class SearchResult(Record):
    """`result.json`: the best trial, all trials best first, and the cost of tuning."""

    best: Mapping[str, Value]
    score: float
    algorithm: str
    trials: tuple[TrialResult, ...]
    search: str
    threat: str
    warning: str
    composed: Composed | None  # None: nothing is proven for all trials together
    out: str
    plan: tuple[Schedule, ...] | None = absent()  # of a search for a budget
    score_name: str | None = absent()  # None: `accuracy`

    def _repr_html_(self) -> str:
        return of_search(self)
