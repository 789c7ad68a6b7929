"""What is shown, read from the TOML files of the package."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import final

from dpdl.experiment.experiment import Experiment, from_mapping
from dpdl.foreign import parse_toml
from dpdl.records import JsonObject, Record

MNIST, DIGITS = "mnist", "digits"
STORY = "story"


@final
@dataclass(frozen=True)
class ScriptPart(Record):
    """One run of the story; its experiment is in the file of its name."""

    name: str
    title: str
    about: str  # what a person reads before it runs
    iterations: int  # of the attack on it
    restarts: int
    audited: bool = False  # certify a lower bound on epsilon
    control: bool = False  # shows that the attack works on its model


@final
@dataclass(frozen=True)
class AttackSettings(Record):
    """Which messages are attacked."""

    round: int
    agents: tuple[int, ...]  # whose records are rebuilt, one of each
    canaries: int  # of an audit


@final
@dataclass(frozen=True)
class Script(Record):
    """All parts in their order."""

    attack: AttackSettings
    part: tuple[ScriptPart, ...]


@final
@dataclass(frozen=True)
class Story:
    """A script and the experiment of every part, by name."""

    script: Script
    experiments: dict[str, Experiment]

    @property
    def dataset(self) -> str:
        """The data set of all parts."""
        return self.experiments[self.script.part[0].name].dataset


def story_of(dataset: str) -> Story:
    """The story on `mnist` or `digits`."""
    script = Script.from_json(_toml(dataset, STORY), f"{dataset}/{STORY}.toml")
    experiments = {
        part.name: from_mapping(_toml(dataset, part.name)).resolved()
        for part in script.part
    }
    return Story(script, experiments)


def _toml(dataset: str, name: str) -> JsonObject:
    file = files(__package__).joinpath(dataset, f"{name}.toml")
    return parse_toml(file.read_text("utf-8"))
