"""What an adversary saw on the wire, and what everybody knows. Attacks read nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import final

import numpy as np
from torch import Tensor, nn

from dpdl.attacks.wires import Wire, wires
from dpdl.errors import InputError, reason
from dpdl.folder import names
from dpdl.folder.files import read_record
from dpdl.folder.recording_facts import (
    HOW,
    PublicFacts,
    RecordingIndex,
    refuse_unrecorded,
)
from dpdl.folder.tensors import read_tensors
from dpdl.tasks import models
from dpdl.tasks.task import Task

Messages = Mapping[str, Mapping[tuple[int, int], Tensor]]
"""Channel -> (source, target) -> row."""


@final
class Recording:
    """One recording.

    `module` stands in for the model's name when the run was given an object of its own.
    """

    def __init__(self, folder: Path, module: nn.Module | None = None) -> None:
        self.folder = folder
        self.module = module
        refuse_unrecorded(folder)
        self.facts = read_record(PublicFacts, folder / names.PUBLIC_FACTS)
        self.index = read_record(RecordingIndex, folder / names.RECORDED_ROUNDS)

    @property
    def rounds(self) -> tuple[int, ...]:
        """The rounds that were to be recorded; their neighbours are recorded, too."""
        return self.index.rounds

    @property
    def batches(self) -> tuple[int, ...]:
        """Sizes of batches that these rounds were played with besides the run's own."""
        return self.index.batches

    @cached_property
    def W(self) -> np.ndarray:  # noqa: N802, the paper's letter
        """The weights of the graph."""
        return np.array(self.facts.W)

    @cached_property
    def task(self) -> Task:
        """The model's architecture; its initial parameters are not the run's."""
        facts = self.facts
        built = self.module or models.build(facts.model, facts.shape, facts.classes, 0)
        return Task(built)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one record."""
        return self.facts.shape

    def neighbours(self, agent: int) -> list[int]:
        """Those an agent has links to."""
        return [j for j in np.flatnonzero(self.W[agent]).tolist() if j != agent]

    def chosen(self, agents: Sequence[int] | None) -> tuple[int, ...]:
        """The agents that are attacked, all if None; those that the run has not are refused."""
        everybody = range(len(self.W))
        found = tuple(everybody) if agents is None else tuple(agents)
        for agent in found:
            if agent not in everybody:
                raise InputError(
                    f"Agent {agent} cannot be attacked: the run has agents 0 to "
                    f"{len(self.W) - 1}."
                )
        return found

    def _sizes(self) -> dict[int, list[int | None]]:
        """Recorded rounds, and the sizes of the batches in them (None: the run's own)."""
        found: dict[int, list[int | None]] = {}
        for name in self.index.files:
            recorded = names.round_recorded_in(name)
            if recorded:
                t, size = recorded
                found.setdefault(t, []).append(size)
        return found

    def after(self, t: int, batch: int | None) -> Messages:
        """All that was recorded of the round after."""
        if batch is None:
            return self.messages(t + 1)
        return self.messages(t, batch, later=True)

    def repeats(self, t: int, channel: str) -> int:
        """How often every agent used a channel in a round of the run."""
        wire = self._wires(t).get(channel)
        edges = wire.edges.tolist() if wire else []
        return max(Counter(map(tuple, edges)).values(), default=0)

    def messages(
        self, t: int, batch: int | None = None, later: bool = False, number: int = -1
    ) -> Messages:
        """All that was recorded of a round.

        Of what an agent sends several times to another, it is the one with that number: by
        default the last.
        """
        found: dict[str, dict[tuple[int, int], Tensor]] = {}
        for channel, wire in self._wires(t, batch, later).items():
            sent: dict[tuple[int, int], list[Tensor]] = {}
            for (i, j), k in zip(wire.edges.tolist(), wire.at.tolist(), strict=True):
                sent.setdefault((i, j), []).append(wire.rows[k])
            found[channel] = {edge: several[number] for edge, several in sent.items()}
        return found

    def _wires(
        self, t: int, batch: int | None = None, later: bool = False
    ) -> Mapping[str, Wire]:
        name = names.recorded_round(t, batch, later)
        if name not in self.index.files:
            raise InputError(self._missing(t, batch))
        try:
            return wires(read_tensors(self.folder / name).tensors, len(self.W))
        except (ValueError, OSError) as failure:
            raise InputError(
                f"The recording {str(self.folder / name)!r} cannot be read: "
                f"{reason(failure)}."
            ) from failure

    def _missing(self, t: int, batch: int | None) -> str:
        rounds = self._sizes()
        if t not in rounds:
            known = ", ".join(map(str, self.rounds)) or "none"
            return f"Round {t} was not recorded; recorded are {known}; {HOW}."
        sizes = sorted(size for size in rounds[t] if size is not None)
        recorded = [str(size) for size in sizes]
        if None in rounds[t]:
            recorded.append(f"the run's own ({self.facts.batch})")
        missing = self.facts.batch if batch is None else batch
        return (
            f"Round {t} was not recorded with batches of {missing}; recorded are "
            f"{', '.join(recorded)}; {HOW}."
        )
