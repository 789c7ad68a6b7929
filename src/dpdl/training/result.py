"""What a run gives back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import Tensor, nn

from dpdl.folder.metrics import Metrics
from dpdl.folder.summary import Summary, Timing
from dpdl.planning.brief import what
from dpdl.planning.plan import Plan
from dpdl.training import brief, card
from dpdl.training.plot import plot

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Result:
    """What a finished run gives back."""

    summary: Summary
    metrics: list[Metrics]
    models: Tensor  # (N, D), one row per agent
    plan: Plan
    timing: Timing
    stopped: str | None = None  # why the run ended early: an agent's budget was spent

    def __repr__(self) -> str:
        return brief.of_result(self)

    def _repr_html_(self) -> str:
        return card.of_result(self)

    def plot(self) -> Figure:
        """Score, loss and epsilon over the rounds; needs matplotlib. No epsilon covers the loss."""
        return plot(self.metrics, what(self.plan, self.summary.rounds))

    def module(self, agent: int | None = None) -> nn.Module:
        """The trained module of an agent, or the average of all, in evaluation mode.

        It takes inputs as training saw them, scaled; `dpdl.load` gives one that scales them itself.
        """
        row = self.models.mean(dim=0) if agent is None else self.models[agent]
        return self.plan.task.module(row).eval()


@dataclass(frozen=True)
class Paused:
    """What a run gives back that was asked to pause before its end; its state is saved."""

    round: int
