"""Sign compression of cross-gradients with error feedback, for any algorithm that sends them.

As in CompCGA (Esfandiari et al., "Cross-Gradient Aggregation", 2021), after Karimireddy, Rebjock,
Stich, Jaggi, "Error Feedback Fixes SignSGD and other Gradient Compression Schemes", 2019. At agent
j, for the answer g to neighbour i:

    p = g + e_ij
    q = mean |p| sign(p), for every parameter tensor
    e_ij <- p - q

D bits and one float32 per tensor leave. So the sum of all q is the sum of all g up to the last
e_ij. An agent's answer to itself never leaves, and is exact; the public code compresses it as well.
A zero counts as positive, since a bit has two values.

Privacy. e and q are computed from perturbed answers alone, so that an eavesdropper, who now sees
less, learns no more. Where an algorithm mixes received answers with an un-noised gradient
(Algorithm 1), its bound against an eavesdropper takes what was received as known and fixed,
whatever it is; it still holds. Bounds against those who hear less count on Gaussian noise in what
they did not hear. A sign has no such noise, so `Overheard` gives them the eavesdropper's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np

from dpdl.algorithms.base import Algorithm, Info, LinkNoise, State
from dpdl.algorithms.disclosure import Disclosure, Setting
from dpdl.errors import InputError
from dpdl.parallel import each
from dpdl.privacy.accounting import Effect
from dpdl.privacy.releases import Release
from dpdl.privacy.threats import EAVESDROPPER, Threat

if TYPE_CHECKING:
    import numpy.typing as npt
    from torch import Tensor

    from dpdl.graph import Graph
    from dpdl.net import Net
    from dpdl.privacy.gradient import PrivateGradient
    from dpdl.types import Batch, Visits

    Bytes = npt.NDArray[np.uint8]

ERROR = "error"
"""The key under which the state holds what compression left out."""


@final
@dataclass(frozen=True)
class Compressed(Algorithm):
    """An algorithm whose replies leave as signs.

    Its state has an error row for every neighbour: (agents, slots, D).
    """

    algorithm: Algorithm

    answers_neighbours = True

    def __post_init__(self) -> None:
        """Only replies are compressed, so there must be some."""
        if not self.algorithm.compressible:
            kind = type(self.algorithm).__name__
            raise InputError(
                f"compress 'sign' is for algorithms that send cross-gradients; {kind} sends none."
            )

    def check(self, graph: Graph) -> None:
        """What the algorithm itself refuses, and noise that differs between edges."""
        self.algorithm.check(graph)
        if self.algorithm.noise_factors(graph) is not None:
            raise InputError(
                "compress 'sign' needs the same noise on all edges: leave noise_split out, or "
                "compress."
            )

    @property
    def needs_shared_seed(self) -> str | None:
        """As without compression."""
        return self.algorithm.needs_shared_seed

    def link_noise(self, graph: Graph) -> LinkNoise | None:
        """As without compression."""
        return self.algorithm.link_noise(graph)

    def rejoined(self, x: Tensor) -> State:
        """As without compression."""
        return self.algorithm.rejoined(x)

    def conspirators(self, graph: Graph) -> tuple[int, ...]:
        """As without compression."""
        return self.algorithm.conspirators(graph)

    def imprecise(self, graph: Graph, bytes_each: int) -> str | None:
        """As without compression."""
        return self.algorithm.imprecise(graph, bytes_each)

    @property
    def unproven_because(self) -> str | None:
        """As without compression."""
        return self.algorithm.unproven_because

    @property
    def caveat(self) -> str | None:
        """As without compression."""
        return self.algorithm.caveat

    @property
    def public_records(self) -> int:
        """As without compression."""
        return self.algorithm.public_records

    @property
    def period(self) -> int:
        """As without compression."""
        return self.algorithm.period

    @property
    def theorem1_alpha(self) -> float | None:
        """As without compression."""
        return self.algorithm.theorem1_alpha

    @property
    def disclosure(self) -> Disclosure:
        """That of the algorithm against an eavesdropper, for every listener."""
        return Overheard(self.algorithm.disclosure)

    def init(self, x: Tensor) -> State:
        """The algorithm's; the first round, which knows the graph, adds the errors."""
        return self.algorithm.init(x)

    def round(
        self,
        state: State,
        batches: Sequence[Batch],
        net: Net,
        grad: PrivateGradient,
        t: int,
    ) -> tuple[State, Info]:
        """A round of the algorithm, with replies that leave as signs."""
        inner = {name: rows for name, rows in state.items() if name != ERROR}
        x = state["x"]
        size = (len(x), int(net.graph.degrees.max()), x.shape[1])
        error = state[ERROR] if ERROR in state else x.new_zeros(size)
        signs = Signs(error, grad.model.sizes, slots(net))
        with net.replies_as(signs):
            after, info = self.algorithm.round(inner, batches, net, grad, t)
        return {**after, ERROR: signs.error}, info

    def releases(self, grad: PrivateGradient) -> tuple[Release, ...]:
        """Those of the algorithm; sensitivity and noise are those before compression."""
        return tuple(
            replace(
                r, carries=f"signs and scales, with error feedback, of: {r.carries}"
            )
            if r.private
            else r
            for r in self.algorithm.releases(grad)
        )


@final
@dataclass(frozen=True)
class Overheard:
    """A disclosure in which every listener counts as an eavesdropper."""

    inner: Disclosure

    def exposure(self, graph: Graph, agent: int, threat: Threat) -> float:
        """What an eavesdropper learns, whoever listens."""
        return self.inner.exposure(graph, agent, EAVESDROPPER)

    @property
    def adaptive(self) -> bool:
        """As without compression."""
        return self.inner.adaptive

    @property
    def sized(self) -> bool:
        """As without compression."""
        return self.inner.sized

    def worse(self, graph: Graph, a: int, b: int, threat: Threat) -> bool:
        """As an eavesdropper sees them."""
        return self.inner.worse(graph, a, b, EAVESDROPPER)

    def effect(self, graph: Graph, agent: int, threat: Threat, at: Setting) -> Effect:
        """What an eavesdropper learns, whoever listens."""
        return self.inner.effect(graph, agent, EAVESDROPPER, at)

    def sigma(
        self, graph: Graph, agent: int, threat: Threat, at: Setting, effective: float
    ) -> float:
        """For an eavesdropper, whoever listens."""
        return self.inner.sigma(graph, agent, EAVESDROPPER, at, effective)

    def rounds(self, graph: Graph, agent: int, rounds: int) -> int:
        """As without compression."""
        return self.inner.rounds(graph, agent, rounds)

    def active(self, graph: Graph, agent: int, t: int) -> bool:
        """As without compression."""
        return self.inner.active(graph, agent, t)

    def proof(self, threat: Threat) -> str:
        """An eavesdropper learns no more from signs."""
        return "upper bound: as the eavesdropper without compression"


@final
class Signs:
    """The codec of one round, with a memory of errors."""

    def __init__(
        self,
        error: Tensor,
        sizes: tuple[int, ...],
        free: Mapping[int, tuple[int, int]],
    ) -> None:
        """`free` says where the error of a visit is kept; one memory serves one reply."""
        # (agents, slots, D); replies write what they left out.
        self.error = error.clone()
        self._sizes = sizes
        self._free = dict(free)

    def encode(self, answers: Tensor, visits: Visits, numbers: Tensor) -> Tensor:
        """Signs and scales of answers that leave; the others are not sent, and stay zero."""
        sent = answers.new_zeros(len(answers), width(self._sizes)).byte()
        leaves = (visits.edges[:, 0] != visits.edges[:, 1]).nonzero().flatten()
        of_visit = zip(leaves.tolist(), numbers[leaves].tolist(), strict=True)
        slot = {k: self._free.pop(number) for k, number in of_visit}

        def encode_one(k: int) -> None:
            p = answers[k] + self.error[slot[k]]
            sent[k].numpy()[:] = encode(p, self._sizes)
            self.error[slot[k]] = p - decode(sent[k], self._sizes, p)

        each(encode_one, slot)
        return sent

    def decode(self, got: Tensor, like: Tensor) -> Tensor:
        """The rows that received signs stand for."""
        out = like.new_empty(len(got), like.shape[1])

        def decode_one(k: int) -> None:
            out[k] = decode(got[k], self._sizes, out[k])

        each(decode_one, range(len(got)))
        return out


def slots(net: Net) -> dict[int, tuple[int, int]]:
    """Where the error of a visit is kept, by its number: (row of the host, number of the asker)."""
    found: dict[int, tuple[int, int]] = {}
    count = [0] * len(net.agents)
    for k, ((i, j), host) in enumerate(
        zip(net.visits.edges.tolist(), net.visits.host.tolist(), strict=True)
    ):
        if i != j:
            found[k] = host, count[host]
            count[host] += 1
    return found


def width(sizes: tuple[int, ...]) -> int:
    """The bytes of a message: a bit for every entry, four bytes for every parameter tensor."""
    return -(-sum(sizes) // 8) + 4 * len(sizes)


def encode(row: Tensor, sizes: tuple[int, ...]) -> Bytes:
    """A row as its signs and the mean absolute entry of each parameter tensor: (width,) bytes."""
    scales = np.array(
        [float(part.abs().mean()) if len(part) else 0.0 for part in row.split(sizes)],
        "<f4",
    )
    return np.concatenate([np.packbits(row.numpy() >= 0), scales.view(np.uint8)])


def decode(message: Tensor, sizes: tuple[int, ...], like: Tensor) -> Tensor:
    """The row of a message, in the number type of `like`: plus or minus the scale of its tensor."""
    data = message.numpy()
    bits, scales = np.split(data, [len(data) - 4 * len(sizes)])
    positive = np.unpackbits(bits, count=sum(sizes)).astype(bool)
    size = np.repeat(scales.copy().view("<f4"), sizes)
    return like.new_tensor(np.where(positive, size, -size))
