"""How good the models of all agents are, and records that have it under the name of the score.

A record has a field `score`; its JSON has `accuracy`, or whatever the score is called:

    {"round": 4, "accuracy": {"mean": 0.9, "worst": 0.8, "best": 1.0, "average_model": 0.9}}
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, final

from dpdl.errors import InputError
from dpdl.records import Json, JsonObject, Record, absent

FIELD = "score"
NAME = "name"
STATISTICS = ("mean", "worst", "best", "average_model")


def label_of(name: str) -> str:
    """The name of a score, for people."""
    return name.replace("_", " ")


def in_percent(name: str) -> bool:
    """Whether people read the score of this name in percent."""
    return name.endswith("accuracy")


def show_score(name: str, value: float, decimals: int = 2) -> str:
    """A value of the score of this name, for people."""
    return f"{value:.{decimals}%}" if in_percent(name) else f"{value:.4g}"


@final
@dataclass(frozen=True)
class AgentScores(Record):
    """The scores of all agents' models on the test records."""

    name: str  # of the score, such as `accuracy`
    mean: float
    worst: float  # of the agent that is worst off
    best: float
    average_model: float  # the score of the mean of all models
    agents: tuple[float, ...] | None = (
        absent()
    )  # one by one, rounded; older runs lack it

    @property
    def label(self) -> str:
        """The name, for people."""
        return label_of(self.name)

    @property
    def percent(self) -> bool:
        """Whether people read it in percent."""
        return in_percent(self.name)

    def show(self, value: float, decimals: int = 2) -> str:
        """A value of this score, for people."""
        return show_score(self.name, value, decimals)


@dataclass(frozen=True)
class AsInFile(Record):
    """A record whose values can also be read by their keys in the file."""

    def __getitem__(self, name: str) -> Any:
        """As in the file: `summary["accuracy"]["mean"]`."""
        return self.to_json()[name]

    def __contains__(self, name: object) -> bool:
        """Whether the file has a value under this key."""
        return name in self.to_json()


@dataclass(frozen=True)
class Scored(AsInFile):
    """A record with a field `score: AgentScores`, which JSON has under the name of the score."""

    def to_json(self) -> JsonObject:
        """As `json.dumps` takes it."""
        return _under_its_name(super().to_json())

    @classmethod
    def from_json(cls, content: Json, where: str = "") -> Self:
        """The record that was written; `where` says in errors what is read."""
        if isinstance(content, dict):
            content = _as_a_field(content, where)
        return super().from_json(content, where)


def _under_its_name(content: JsonObject) -> JsonObject:
    found: JsonObject = {}
    for name, value in content.items():
        if name == FIELD and isinstance(value, dict):
            statistics = {one: value[one] for one in value if one != NAME}
            found[str(value[NAME])] = statistics
        else:
            found[name] = value
    return found


def _as_a_field(content: JsonObject, where: str) -> JsonObject:
    for name, value in content.items():
        if isinstance(value, dict) and set(STATISTICS) <= set(value):
            rest = {one: other for one, other in content.items() if one != name}
            return {**rest, FIELD: {**value, NAME: name}}
    statistics = ", ".join(STATISTICS)
    raise InputError(
        f"{where or 'A record'} has no score of the agents ({statistics})."
    )
