"""What agents answer about their records, to themselves and to their neighbours."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from dpdl.errors import InputError
from dpdl.parallel import each
from dpdl.privacy.clip import Clipped
from dpdl.privacy.mechanism import Mechanism
from dpdl.privacy.noise import Randomness
from dpdl.privacy.pair_noise import summing_to_zero
from dpdl.rows import first_equal
from dpdl.types import Batch, Model, Sent, Visits


class Answers(NamedTuple):
    """What the agents hosted here computed for some visits, or all, of one round."""

    private: Tensor  # (visits, D) clipped and perturbed: may leave
    own: Tensor  # (self-loops, D) clipped, not perturbed, at the agents' own models: must not leave
    about: list[Clipped]  # per visit, diagnostics
    visits: Visits  # what was answered

    def __repr__(self) -> str:
        return f"Answers({len(self.visits.host)} visits, {self.private.shape[1]:,} entries each)"


class ClipFacts(NamedTuple):
    """What an algorithm may know about the clipping."""

    clip_norm: float  # C
    sensitivity: float | None  # how far one record moves an answer; None: unbounded


@final
@dataclass(frozen=True)
class PrivateGradient:
    """Clipped, then perturbed gradients of many (model, data owner) pairs.

    Every answer has an independent stream of noise, named by round and edge. The answers of one
    agent in one round share its batch: they are one joint release, not several sampled ones.
    """

    model: Model
    mechanism: Mechanism
    randomness: Randomness
    factors: np.ndarray | None = None  # on sigma of host j's answer to asker i, [i, j]
    validate: Callable[[Tensor], float] | None = None  # score on public records

    def __post_init__(self) -> None:
        """Refuse factors that take more noise from some answers than they give to others."""
        if self.factors is None:
            return
        precision = (1 / self.factors**2).mean(axis=0)
        if not bool((precision <= 1 + 1e-9).all()):
            raise InputError(
                "noise factors must keep, for every host, the sum of 1 / factor^2 at or below "
                "the number of its answers."
            )

    def __repr__(self) -> str:
        sigma = f"sigma {self.noise_multiplier:.4g}"
        return f"PrivateGradient({self.model}, {self.mechanism.clip}, {sigma}, {self.randomness})"

    @property
    def noise_multiplier(self) -> float:
        """Sigma."""
        return self.mechanism.noise_multiplier

    @property
    def batch_size(self) -> int:
        """B, expected and public."""
        return self.mechanism.batch_size

    @property
    def clip(self) -> ClipFacts:
        """C, and how far one record moves an answer."""
        return ClipFacts(self.mechanism.clip.clip_norm, self.mechanism.sensitivity)

    @property
    def std(self) -> float:
        """Standard deviation of the noise on every entry of an answer."""
        return self.mechanism.std

    def own(
        self,
        x: Tensor,
        batches: Sequence[Batch],
        selves: Visits,
        t: int,
        purpose: str = "noise",
    ) -> Answers:
        """What the agents ask of themselves (`net.selves`): `private` has one row per agent."""
        return self.answers(Sent(x, selves.host), batches, selves, t, purpose)

    def answers(
        self,
        models: Sent,
        batches: Sequence[Batch],
        visits: Visits,
        t: int,
        purpose: str = "noise",
    ) -> Answers:
        """Answer every visit in round `t`.

        A round that asks the same visit twice must name two purposes: each has noise of its own.
        """
        return self.asked(models, batches, visits, t, purpose).answers(
            torch.arange(len(visits.host))
        )

    def perturbed(self, rows: Tensor, agents: Tensor, t: int, purpose: str) -> Tensor:
        """Rows, one per agent, each with the noise of an answer that the agent gives itself."""
        out = torch.empty_like(rows)

        def perturb(row: int) -> None:
            i = int(agents[row])
            if self.std:
                self.randomness.perturb(
                    rows[row], self.std, purpose, t, i, i, into=out[row]
                )
            else:
                out[row] = rows[row]

        each(perturb, range(len(rows)))
        return out

    def paired(
        self, rows: Tensor, visits: Visits, factor: float | np.ndarray, t: int
    ) -> Tensor:
        """The rows of the agents hosted here, with the noise of their links.

        On every link one end adds what the other subtracts. The deviation is `factor` times that of
        an agent's own noise: a number, or one for every link, [i, j]. Both ends draw it from one
        key; nothing is sent. The rows must be perturbed, and have nothing else added to them:
        secure noise refuses others.
        """
        if not self.std * np.max(factor):
            return rows
        c = np.asarray(factor)
        out = rows.clone()
        links: dict[int, list[tuple[int, int]]] = {}
        for (i, j), row in zip(
            visits.edges.tolist(), visits.host.tolist(), strict=True
        ):
            if i != j and (c if c.ndim == 0 else c[i, j]):
                links.setdefault(row, []).append((i, j))

        def perturb(row: int) -> None:
            for i, j in links[row]:
                size = float(c if c.ndim == 0 else c[i, j]) * self.std
                std = size if j < i else -size
                ends = min(i, j), max(i, j)
                self.randomness.pair(
                    out[row], std, self.std, "link", t, *ends, into=out[row]
                )

        each(perturb, links)
        return out

    def shared(
        self,
        rows: Tensor,
        agents: Tensor,
        secrets: npt.NDArray[np.bool_],
        factor: float,
        t: int,
    ) -> Tensor:
        """The rows of `agents`, with the noise of all their pairs that have a secret, by [i, j].

        As `paired`; by fewer draws where all have secrets and the randomness is `pooled`.
        """
        complete = secrets.sum() == len(secrets) * (len(secrets) - 1)
        if complete and getattr(self.randomness, "pooled", False):
            std = factor * self.std
            return summing_to_zero(self.randomness, rows, agents, len(secrets), std, t)
        host, other = torch.from_numpy(secrets[agents.numpy()]).nonzero().T
        visits = Visits(torch.stack([other, agents[host]], dim=1), host)
        return self.paired(rows, visits, factor, t)

    def asked(
        self,
        models: Sent,
        batches: Sequence[Batch],
        visits: Visits,
        t: int,
        purpose: str = "noise",
    ) -> Asked:
        """The same, to be answered some visits after the others."""
        return Asked(self, models, batches, visits, (purpose, t))


@final
class Asked:
    """The visits of one round, each to be answered once.

    Agents whose models are equal are answered by one gradient, which is kept until the last of them
    has its answer. Equal models on the same batch have the same gradient, so this is exact. On a
    complete graph with equal weights all models coincide: N gradients do the work of N^2.
    """

    def __init__(
        self,
        grad: PrivateGradient,
        models: Sent,
        batches: Sequence[Batch],
        visits: Visits,
        stream: tuple[str, int],
    ) -> None:
        """`stream` has purpose and round: together with an edge they name the noise."""
        self.visits = visits
        self._grad = grad
        self._rows = models.rows
        self._batches = batches
        self._stream = stream
        first = first_equal(models.rows)
        at, hosts = models.at.tolist(), visits.host.tolist()
        # Model and batch of every visit.
        self._pieces = [(first[m], host) for m, host in zip(at, hosts, strict=True)]
        self._left = Counter(self._pieces)
        self._kept: dict[tuple[int, int], Clipped] = {}
        self._about: dict[int, Clipped] = {}
        self._memory = np.empty(0, models.rows.numpy().dtype)
        self._lent: weakref.ref[np.ndarray] | None = None

    @property
    def about(self) -> list[Clipped]:
        """Per visit, diagnostics; all must have been answered."""
        return [self._about[k] for k in range(len(self._pieces))]

    def answers(self, numbers: Tensor) -> Answers:
        """Answer the visits with these numbers."""
        visits = Visits(self.visits.edges[numbers], self.visits.host[numbers])
        number, edges = numbers.tolist(), visits.edges.tolist()
        assert self._about.keys().isdisjoint(number), (
            "another answer to the same visit would be another release"
        )
        work: dict[tuple[int, int], list[int]] = {}
        for k, n in enumerate(number):
            work.setdefault(self._pieces[n], []).append(k)
        loops = [k for k, (i, j) in enumerate(edges) if i == j]
        selves = {k: row for row, k in enumerate(loops)}
        private = self._room(len(edges))
        own = self._rows.new_empty(len(selves), self._rows.shape[1])
        into = private.unbind(0)

        def answer(piece: tuple[int, int]) -> None:
            result = self._gradient(piece, len(work[piece]))
            about = result._replace(gradient=result.gradient.new_empty(0))
            for k in work[piece]:
                self._about[number[k]] = about
                if k in selves:
                    own[selves[k]] = result.gradient
                    length = float(result.gradient.norm())
                    self._about[number[k]] = about._replace(length=length)
                self._perturb(result.gradient, edges[k], into[k])

        each(answer, work)
        if len(self._about) == len(self._pieces):  # nothing is left to answer
            self._memory = np.empty(0, self._memory.dtype)
        return Answers(private, own, [self._about[n] for n in number], visits)

    def _room(self, rows: int) -> Tensor:
        """Memory for so many answers: that of the answers before, unless somebody still holds them.

        A large block of fresh memory costs more than what is then done with it.
        """
        size = rows * self._rows.shape[1]
        held = self._lent is not None and self._lent() is not None
        if held or size > len(self._memory):
            self._memory = np.empty(size, self._memory.dtype)
        lent = self._memory[:size]  # alive as long as a tensor or a view of it is
        self._lent = weakref.ref(lent)
        return torch.from_numpy(lent).view(rows, self._rows.shape[1])

    def _gradient(self, piece: tuple[int, int], uses: int) -> Clipped:
        """The gradient of a model on a batch: made at its first use, forgotten after its last."""
        result = self._kept.pop(piece, None)
        if result is None:
            # A copy starts at an aligned address; alignment can change the last bits.
            result = self._grad.mechanism.gradient(
                self._grad.model, self._rows[piece[0]].clone(), self._batches[piece[1]]
            )
        self._left[piece] -= uses
        if self._left[piece]:
            self._kept[piece] = result
        return result

    def _perturb(self, gradient: Tensor, edge: list[int], into: Tensor) -> None:
        (i, j), std, factors = edge, self._grad.std, self._grad.factors
        if std:
            factor = 1.0 if factors is None else float(factors[i, j])
            self._grad.randomness.perturb(
                gradient, factor * std, *self._stream, i, j, into=into
            )
        else:
            into.copy_(gradient)
