"""The Gaussian mechanism on every edge: what an agent answers about its data, to itself and to its neighbours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
from torch import Tensor

from dpdl.parallel import each
from dpdl.privacy.clipping import Clip, Clipped
from dpdl.privacy.noise import Randomness
from dpdl.rows import first_equal
from dpdl.types import Batch, Model, Sent, Visits


class Answers(NamedTuple):
    """What the agents hosted here computed in one round."""

    private: Tensor  # (visits, D) clipped and perturbed: may leave
    own: Tensor  # (agents, D) clipped, not perturbed, at the agent's own model: must not leave
    about: list[Clipped]  # per visit, diagnostics
    visits: Visits  # what was answered


@final
@dataclass(frozen=True)
class PrivateGradient:
    """Clipped, then perturbed gradients of many (model, data owner) pairs.

    private = clipped + N(0, (sigma C / B)^2 I), with one independent stream per round and edge. With per-sample
    clipping, one record moves each answer by at most C / B, so sigma is the noise multiplier of one answer. The
    answers of one agent in one round share its batch: they are one joint release, not several sampled ones.
    """

    model: Model
    clip: Clip
    noise_multiplier: float  # sigma
    batch_size: int  # B, expected, public
    randomness: Randomness
    factors: np.ndarray | None = None  # (N, N): factor on sigma of host j's answer to asker i, [i, j]
    validate: Callable[[Tensor], float] | None = None  # accuracy of a row's model on public records

    @property
    def std(self) -> float:
        """Standard deviation of the noise on every entry of an answer."""
        return self.noise_multiplier * self.clip.clip_norm / self.batch_size

    def own(self, x: Tensor, batches: Sequence[Batch], selves: Visits, t: int, purpose: str = "noise") -> Answers:
        """Only what the agents ask of themselves (`net.selves`): `private` has one row per agent."""
        return self.answers(Sent(x, selves.host), batches, selves, t, purpose)

    def answers(
        self, models: Sent, batches: Sequence[Batch], visits: Visits, t: int, purpose: str = "noise"
    ) -> Answers:
        """Answer every visit in round `t`; agents whose models are equal are answered by one gradient.

        A round that asks the same visit twice must name two purposes: each has noise of its own.

        Equal models on the same batch have the same gradient, so computing it once is exact. On a complete graph
        with equal weights all models coincide and the work falls from N^2 gradients to N.
        """
        first = first_equal(models.rows)
        host, edges = visits.host.tolist(), visits.edges.tolist()
        work: dict[tuple[int, int], list[int]] = {}
        for k, at in enumerate(models.at.tolist()):
            work.setdefault((first[at], host[k]), []).append(k)
        private = models.rows.new_empty(len(host), models.rows.shape[1])
        own = models.rows.new_empty(len(batches), models.rows.shape[1])
        about: dict[int, Clipped] = {}

        def answer(piece: tuple[int, int]) -> None:
            # A copy starts at an aligned address whatever the row's number, and alignment can change last bits.
            row = models.rows[piece[0]].clone()
            result = self.clip(self.model, row, batches[piece[1]])
            for k in work[piece]:
                i, j = edges[k]
                if i == j:
                    own[piece[1]] = result.gradient
                private[k] = result.gradient
                if self.std:
                    factor = 1.0 if self.factors is None else float(self.factors[i, j])
                    self.randomness.perturb(private[k], factor * self.std, purpose, t, i, j)
                about[k] = result._replace(gradient=result.gradient.new_empty(0))

        each(answer, work)
        return Answers(private, own, [about[k] for k in range(len(host))], visits)
