"""What an adversary saw on the wire, and what everybody knows. Attacks read nothing else."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, final

import numpy as np
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from dpdl.errors import InputError
from dpdl.folder import names
from dpdl.tasks import models
from dpdl.tasks.task import Task

FORMAT = 1
HOW = "record one with: dpdl run ... --record ROUNDS [--record-batches SIZES]"

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
        try:
            self.facts: dict[str, Any] = json.loads(
                (folder / names.PUBLIC_FACTS).read_text("utf-8")
            )
            index = json.loads((folder / names.RECORDED_ROUNDS).read_text("utf-8"))
            self.files: list[str] = index["files"]
            self.rounds: list[int] = index[
                "rounds"
            ]  # those that were asked for; their neighbours are there too
            self.batches: list[int] = index["batches"]
        except OSError:
            raise InputError(
                f"Run {str(folder.parent)!r} has no recording; {HOW}."
            ) from None
        except (ValueError, KeyError) as failure:
            raise InputError(
                f"The recording in {str(folder)!r} is damaged: {failure}."
            ) from failure
        if self.facts.get("format") != FORMAT:
            raise InputError(
                f"The recording in {str(folder)!r} was written by another version of "
                "dpdl."
            )

    @property
    def options(self) -> dict[str, Any]:
        """The experiment's options, without the seed."""
        options: dict[str, Any] = self.facts["experiment"]
        return options

    @cached_property
    def W(self) -> np.ndarray:  # noqa: N802, the paper's letter
        """The weights of the graph."""
        return np.array(self.facts["W"])

    @cached_property
    def task(self) -> Task:
        """The model's architecture; its initial parameters are not the run's."""
        built = self.module or models.build(
            self.options["model"], self.shape, self.facts["classes"], 0
        )
        return Task(built)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one record."""
        return tuple(self.facts["shape"])

    def neighbours(self, agent: int) -> list[int]:
        """Those an agent has links to."""
        return [j for j in np.flatnonzero(self.W[agent]).tolist() if j != agent]

    def _sizes(self) -> dict[int, list[int | None]]:
        """Recorded rounds, and the sizes of the batches in them (None: the run's own)."""
        found: dict[int, list[int | None]] = {}
        for name in self.files:
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
        edges = self._tensors(t)[f"{channel}.edges"].tolist()
        return max(Counter(map(tuple, edges)).values(), default=0)

    def messages(
        self, t: int, batch: int | None = None, later: bool = False, number: int = -1
    ) -> Messages:
        """All that was recorded of a round.

        Of what an agent sends several times to another, it is the one with that number: by
        default the last.
        """
        tensors = self._tensors(t, batch, later)
        found: dict[str, dict[tuple[int, int], Tensor]] = {}
        for channel in sorted({key.rsplit(".", 1)[0] for key in tensors}):
            edges, rows, at = (
                tensors[f"{channel}.{part}"] for part in ("edges", "rows", "at")
            )
            sent: dict[tuple[int, int], list[Tensor]] = {}
            for (source, target), k in zip(edges.tolist(), at.tolist(), strict=True):
                sent.setdefault((source, target), []).append(rows[k])
            found[channel] = {edge: said[number] for edge, said in sent.items()}
        return found

    def _tensors(
        self, t: int, batch: int | None = None, later: bool = False
    ) -> dict[str, Tensor]:
        name = names.recorded_round(t, batch, later)
        if name not in self.files:
            raise InputError(self._missing(t, batch))
        try:
            with safe_open(self.folder / name, "pt") as file:
                return {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        except (SafetensorError, OSError) as failure:
            raise InputError(
                f"The recording {str(self.folder / name)!r} cannot be read: {failure}."
            ) from failure

    def _missing(self, t: int, batch: int | None) -> str:
        rounds = self._sizes()
        if t not in rounds:
            known = ", ".join(map(str, self.rounds)) or "none"
            return f"Round {t} was not recorded; recorded are {known}; {HOW}."
        sizes = sorted(size for size in rounds[t] if size is not None)
        own = f"the run's own ({self.options['batch']})" if None in rounds[t] else ""
        known = ", ".join([*map(str, sizes), *([own] if own else [])])
        asked = self.options["batch"] if batch is None else batch
        return (
            f"Round {t} was not recorded with batches of {asked}; recorded are "
            f"{known}; {HOW}."
        )
