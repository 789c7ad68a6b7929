"""The checkpoints of a run folder.

One file for all agents, or one of every process for the agents it hosts.

`state.safetensors` has all agents. A run whose processes must not tell each other their agents'
state writes `state-R.safetensors` in process R instead. Process 0 writes last: its file says that
all others have theirs. They keep the one before as `state-R.before.safetensors`, for the case that
process 0 did not get so far.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import torch

from dpdl.errors import InputError
from dpdl.folder import names
from dpdl.folder.checkpoint import Checkpoint, Label, digest, label, restore, store


class States:
    """The checkpoints in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save(self, checkpoint: Checkpoint) -> None:
        """Replace the checkpoint of all agents."""
        store(self._folder / names.STATE, checkpoint)

    def save_part(self, rank: int, checkpoint: Checkpoint) -> None:
        """Replace the checkpoint of a process; the one before stays beside it."""
        path = self._folder / names.state_of(rank)
        if path.exists() and label(path).round != checkpoint.round:
            path.replace(self._folder / names.state_of(rank, before=True))
        store(path, checkpoint)

    def last(self) -> int:
        """The last round that was saved for all agents, as process 0 knows it; 0: none was."""
        own = (names.state_of(0), names.state_of(0, before=True))
        found = self._existing([names.STATE, *own])
        return max((label(path).round for path in found), default=0)

    def has(self, round: int, agents: Sequence[int]) -> bool:
        """Whether the state of some agents after a round is here; after round 0 it is known to all.

        Two saved rounds of a process say that process 0 had saved the first of them: it cannot be
        at round 0.
        """
        if round == 0:
            return len({found.round for found in self._labels().values()}) < 2
        return self._covers(round, agents)

    def load(self, round: int, agents: Sequence[int]) -> Checkpoint:
        """The state of some agents after a round; a damaged file is refused."""
        parts = [restore(path) for path in self._of(round, agents)]
        if not self._covers(round, agents):
            raise InputError(
                f"Run {str(self._folder)!r} has no checkpoint of round {round} for all "
                "its agents."
            )
        known: dict[int, tuple[Checkpoint, int]] = {}
        for part in parts:
            numbers = range(len(part.totals)) if part.agents is None else part.agents
            known |= {agent: (part, row) for row, agent in enumerate(numbers)}
        rows = [known[agent] for agent in agents]
        tensors = parts[0].state.keys()
        return Checkpoint(
            round,
            max(part.seconds for part in parts),
            {
                name: torch.stack([part.state[name][row] for part, row in rows])
                for name in tensors
            },
            torch.stack([part.totals[row] for part, row in rows]),
            tuple(agents),
        )

    def common(self, round: int) -> str:
        """The hash of the checkpoint that all processes read; empty when each has its own."""
        path = self._folder / names.STATE
        return digest(path) if path.exists() and label(path).round == round else ""

    def _covers(self, round: int, agents: Iterable[int]) -> bool:
        found = [part for part in self._labels().values() if part.round == round]
        if any(part.agents is None for part in found):
            return True
        return set(agents) <= {agent for part in found for agent in part.agents or ()}

    def _of(self, round: int, agents: Sequence[int]) -> list[Path]:
        """The files to read.

        That of all agents, or one that has all of these, or those that have some of them.
        """
        found = {
            path: part for path, part in self._labels().items() if part.round == round
        }
        for path, part in found.items():
            if part.agents is None or set(agents) <= part.agents:
                return [path]
        return [
            path for path, part in found.items() if set(agents) & (part.agents or set())
        ]

    def _labels(self) -> dict[Path, Label]:
        parts = sorted(self._folder.glob(names.STATES))
        whole = self._existing([names.STATE])
        return {path: label(path) for path in [*whole, *parts]}

    def _existing(self, wanted: Iterable[str]) -> list[Path]:
        paths = [self._folder / name for name in wanted]
        return [path for path in paths if path.exists()]
