"""Sign compression of cross-gradients with error feedback, around any algorithm that exchanges them.

As in CompCGA (Esfandiari et al., "Cross-Gradient Aggregation", 2021), after Karimireddy, Rebjock, Stich, Jaggi, "Error
Feedback Fixes SignSGD and other Gradient Compression Schemes", 2019. At agent j, for the answer g to neighbour i:

    p = g + e_ij
    q = mean |p| sign(p), for every parameter tensor          (D bits and one float32 per tensor leave)
    e_ij <- p - q

so the sum of all q is the sum of all g up to the last e_ij. An agent's answer to itself never leaves, and is exact; the
public code compresses it as well. A zero counts as positive, since a bit has two values.

Privacy. e and q are computed from perturbed answers alone, so that an eavesdropper, who now sees less, learns no more.
Where an algorithm mixes received answers with an un-noised gradient (Algorithm 1), its bound against an eavesdropper
takes what was received as known and fixed, whatever it is; it still holds. Bounds against those who hear less count on
Gaussian noise in what they did not hear. A sign has no such noise, so `Overheard` gives them the eavesdropper's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast, final

import numpy as np

from dpdl.algorithms.algorithm1 import Algorithm1
from dpdl.algorithms.base import Algorithm, Info, State
from dpdl.algorithms.disclosure import CrossGradients, Disclosure, Effect, Setting
from dpdl.errors import InputError
from dpdl.parallel import each
from dpdl.privacy.releases import Release
from dpdl.privacy.threats import EAVESDROPPER, Threat

if TYPE_CHECKING:
    import numpy.typing as npt
    from torch import Tensor

    from dpdl.graph import Graph
    from dpdl.net import Net, Part
    from dpdl.privacy.mechanism import PrivateGradient
    from dpdl.types import Batch

    Bytes = npt.NDArray[np.uint8]

ERROR = "error"
"""The key under which the state holds what compression left out."""


@final
@dataclass(frozen=True)
class Compressed:
    """An algorithm whose replies leave as signs; its state has an error row for every neighbour: (agents, slots, D)."""

    algorithm: Algorithm

    def __post_init__(self) -> None:
        """Only replies are compressed, so there must be some."""
        if not isinstance(self.algorithm.disclosure, CrossGradients | Algorithm1):
            kind = type(self.algorithm).__name__
            raise InputError(f"compress 'sign' is for algorithms that send cross-gradients; {kind} sends none.")

    def check(self, graph: Graph) -> None:
        """What the algorithm itself refuses."""
        self.algorithm.check(graph)

    @property
    def disclosure(self) -> Disclosure:
        """That of the algorithm against an eavesdropper, for every listener."""
        return Overheard(self.algorithm.disclosure)

    def init(self, x: Tensor) -> State:
        """The algorithm's; the first round, which knows the graph, adds the errors."""
        return self.algorithm.init(x)

    def round(
        self, state: State, batches: Sequence[Batch], net: Net, grad: PrivateGradient, t: int
    ) -> tuple[State, Info]:
        """A round of the algorithm, on a net that compresses replies."""
        inner = {name: rows for name, rows in state.items() if name != ERROR}
        x = state["x"]
        slots = int(net.graph.degrees.max())
        error = state[ERROR] if ERROR in state else x.new_zeros(len(x), slots, x.shape[1])
        signs = Signs(net, error, grad.model.sizes)
        after, info = self.algorithm.round(inner, batches, cast("Net", signs), grad, t)
        return {**after, ERROR: signs.error}, info

    def releases(self, grad: PrivateGradient) -> tuple[Release, ...]:
        """Those of the algorithm; sensitivity and noise are those before compression."""
        return tuple(
            replace(r, carries=f"signs and scales, with error feedback, of: {r.carries}") if r.private else r
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

    def sigma(self, graph: Graph, agent: int, threat: Threat, at: Setting, effective: float) -> float:
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
    """A net whose replies leave as signs, also part by part; in everything else the net that it is given."""

    def __init__(self, net: Net, error: Tensor, sizes: tuple[int, ...]) -> None:
        self.error = error.clone()  # (agents, slots, D); every reply writes what it left out
        self._net = net
        self._sizes = sizes
        self._slots = slots(net)  # not yet used in this round: one memory of errors serves one reply

    def __getattr__(self, name: str) -> Any:
        """All that is not compressed."""
        return getattr(self._net, name)

    def by_part(self, width: int, work: Callable[[Part], Mapping[str, Tensor]]) -> dict[str, Tensor]:
        """As `Net.by_part`, with parts whose replies are signs."""
        return self._net.by_part(width, lambda part: work(cast("Part", SignedPart(part, self))))

    def reply(self, channel: str, answers: Tensor) -> Tensor:
        """As `Net.reply`, but what arrives from others is the decoded message."""
        return self.exchange(self._net, channel, answers)

    def exchange(self, net: Net | Part, channel: str, answers: Tensor) -> Tensor:
        """The reply of the net or of a part of it, as signs."""
        sent = answers.new_zeros(len(answers), width(self._sizes)).byte()
        edges = net.visits.edges
        leaves = (edges[:, 0] != edges[:, 1]).nonzero().flatten()
        slot = {
            k: self._slots.pop(number) for k, number in zip(leaves.tolist(), net.numbers[leaves].tolist(), strict=True)
        }

        def encode_one(k: int) -> None:
            p = answers[k] + self.error[slot[k]]
            sent[k].numpy()[:] = encode(p, self._sizes)
            self.error[slot[k]] = p - decode(sent[k], self._sizes, p)

        each(encode_one, slot)
        got = net.reply(channel, sent)
        out = answers.new_empty(len(got), answers.shape[1])

        def decode_one(k: int) -> None:
            out[k] = decode(got[k], self._sizes, out[k])

        each(decode_one, range(len(got)))
        out[net.own] = answers[edges[:, 0] == edges[:, 1]]
        return out


@final
class SignedPart:
    """A part of a net whose `reply` sends signs; in everything else the part that it is given."""

    def __init__(self, part: Part, signs: Signs) -> None:
        self._part = part
        self._signs = signs

    def __getattr__(self, name: str) -> Any:
        """All that is not compressed."""
        return getattr(self._part, name)

    def reply(self, channel: str, answers: Tensor) -> Tensor:
        """As `Part.reply`, but what arrives from others is the decoded message."""
        return self._signs.exchange(self._part, channel, answers)


def slots(net: Net) -> dict[int, tuple[int, int]]:
    """Where the error of a visit that leaves is kept, by its number: (row of the host, number of the asker)."""
    found: dict[int, tuple[int, int]] = {}
    count = [0] * len(net.agents)
    for k, ((i, j), host) in enumerate(zip(net.visits.edges.tolist(), net.visits.host.tolist(), strict=True)):
        if i != j:
            found[k] = host, count[host]
            count[host] += 1
    return found


def width(sizes: tuple[int, ...]) -> int:
    """The bytes of a message: a bit for every entry, four bytes for every parameter tensor."""
    return -(-sum(sizes) // 8) + 4 * len(sizes)


def encode(row: Tensor, sizes: tuple[int, ...]) -> Bytes:
    """A row as its signs and the mean size of the entries of every parameter tensor: (width,) bytes."""
    scales = np.array([float(part.abs().mean()) if len(part) else 0.0 for part in row.split(sizes)], "<f4")
    return np.concatenate([np.packbits(row.numpy() >= 0), scales.view(np.uint8)])


def decode(message: Tensor, sizes: tuple[int, ...], like: Tensor) -> Tensor:
    """The row that a message stands for, in the number type of `like`: plus or minus the scale of its tensor."""
    data = message.numpy()
    bits, scales = np.split(data, [len(data) - 4 * len(sizes)])
    positive = np.unpackbits(bits, count=sum(sizes)).astype(bool)
    size = np.repeat(scales.copy().view("<f4"), sizes)
    return like.new_tensor(np.where(positive, size, -size))
