"""The edges of the agents hosted here, the verbs that move rows on them, and the one exit.

An algorithm is written once, for "the agents hosted here", and does not know where the others are.
All processes share one canonical edge order, so rows need no headers, and every sum runs over
neighbours in ascending order, so the result is the same, bit for bit, on every placement.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import final
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from dpdl.errors import InputError
from dpdl.graph import Graph
from dpdl.net.messages import Codec, Leaving, Observer
from dpdl.rows import Groups, grouped, weighted_sums
from dpdl.transport import Alone, Post, Transport
from dpdl.types import Sent, Visits

ENTRIES = 4_000_000
"""Entries of the answers to one part of a net: 16 MB of float32.

Measured with LeNet on two cores, 8 to 32 MB make no difference. Smaller parts need more exchanges;
larger ones do not stay in the processor's cache until they are used.
"""


@dataclass
class Exit:
    """Where everything that leaves an agent passes, whether or not it leaves this process."""

    post: Post
    observers: tuple[Observer, ...]
    codec: Codec | None = None  # of replies, while a round is compressed

    def __call__(
        self, leaving: Leaving, picks: Mapping[int, Tensor], expect: Mapping[int, int]
    ) -> dict[int, Tensor]:
        """Show rows to the observers, then swap those that other processes need."""
        for observe in self.observers:
            observe(leaving)
        out = {r: leaving.rows[k] for r, k in picks.items() if len(k)}
        wanted = {r: count for r, count in expect.items() if count}
        return self.post.swap(leaving.channel, out, wanted, leaving.rows)


_EXITS: WeakKeyDictionary[Net, Exit] = WeakKeyDictionary()
"""The exit of each net, kept outside of it: no attribute of a net leads to the transport.

This keeps an algorithm from sending past the exit by mistake. Python cannot keep out code that is
hostile: it may import this module, or walk the stack.
"""


def positions(where: Tensor) -> Tensor:
    """The positions at which a condition holds, ascending."""
    return where.nonzero().flatten()


def blocks(agents: int, processes: int) -> Tensor:
    """Placement of the agents on processes: equal consecutive blocks."""
    if processes > agents:
        raise InputError(
            f"{processes} processes cannot share {agents} agents: at most one process per agent."
        )
    return torch.arange(agents) * processes // agents


def divided(sizes: Sequence[int], most: int) -> list[int]:
    """The part of every agent: consecutive agents share one of up to `most` edges, or one agent."""
    found, part, filled = [], 0, 0
    for size in sizes:
        if filled and filled + size > most:
            part, filled = part + 1, 0
        filled += size
        found.append(part)
    return found


@final
class Part:
    """A net in which only some agents ask, here and elsewhere.

    `agents` are the numbers of those hosted here, `rows` their rows among all agents hosted here,
    `N` is the number of all agents. `i`, `w` and `own` belong to what they ask: row of the asking
    agent among those of the part, weight w_ij, and position of the self-loop of every agent.
    `visits` are what any agent hosted here answers, and `numbers` their numbers among the visits of
    the whole net.
    """

    def __init__(self, net: Net, rows: slice, asks: Tensor, numbers: Tensor) -> None:
        self._net = net
        self.N = net.N
        self.rows = rows
        self.agents = net.agents[rows]
        self.i = torch.searchsorted(self.agents, asks[:, 0].contiguous())
        self.w = torch.from_numpy(net.graph.W[tuple(asks.T.numpy())])
        self.own = positions(asks[:, 0] == asks[:, 1])
        self.numbers = numbers
        self.visits = Visits(net.visits.edges[numbers], net.visits.host[numbers])
        self._routes(net.place[asks[:, 1]], net.place[self.visits.edges[:, 0]])

    def _routes(self, asked: Tensor, asking: Tensor) -> None:
        """Which answers go where, by the processes that are asked and that ask."""
        here, size = self._net.rank, self._net.processes
        self._asks_of = {r: positions(asked == r) for r in range(size)}
        self._visits_of = {r: positions(asking == r) for r in range(size)}
        self._asks_here = self._asks_of.pop(here)
        self._visits_here = self._visits_of.pop(here)
        edges = self.visits.edges
        self._leaves = positions(edges[:, 0] != edges[:, 1])
        self._links = edges[self._leaves].flip(1)

    @cached_property
    def _by_agent(self) -> Groups:
        return grouped(self.i, len(self.agents))

    def reply(self, channel: str, answers: Tensor) -> Tensor:
        """Every visit answered to its asker: (visits, D) -> (asks, D)."""
        codec = _EXITS[self._net].codec
        if codec is None:
            return self._reply(channel, answers)
        sent = codec.encode(answers, self.visits, self.numbers)
        got = codec.decode(self._reply(channel, sent), answers)
        edges = self.visits.edges
        got[self.own] = answers[edges[:, 0] == edges[:, 1]]
        return got

    def _reply(self, channel: str, answers: Tensor) -> Tensor:
        leaving = Leaving(channel, self._links, answers, self._leaves)
        counts = {r: len(k) for r, k in self._asks_of.items()}
        got = _EXITS[self._net](leaving, self._visits_of, counts)
        if self._net.processes == 1:
            return answers  # asks and visits are the same edges, in the same order
        rows = answers.new_empty(len(self.i), *answers.shape[1:])
        rows[self._asks_here] = answers[self._visits_here]
        for r, part in got.items():
            rows[self._asks_of[r]] = part
        return rows

    def sum(self, rows: Tensor, weight: Tensor) -> Tensor:
        """For every agent i, sum over j in N_i of weight_ij rows_ij: (asks, D) -> (agents, D)."""
        return weighted_sums(rows, torch.arange(len(rows)), weight, self._by_agent)


@final
class EncodedReplies:
    """A context in which the replies of a net are encoded.

    It is a class and not a generator, whose frame would hold the exit.
    """

    def __init__(self, net: Net, codec: Codec) -> None:
        self._net = net
        self._codec = codec

    def __enter__(self) -> None:
        _EXITS[self._net].codec = self._codec

    def __exit__(self, *_: object) -> None:
        _EXITS[self._net].codec = None


@final
class Net:
    """What the agents hosted here see of the graph, and the verbs by which they exchange rows.

    `agents` are their numbers, `N` is the number of all agents. `i`, `w` and `own` belong to the
    asks: row of the asking agent, weight w_ij, and position of the self-loop of every agent.
    `visits` are the edges they answer, counted by `numbers`, and `selves` those that stay at home.
    `place` is the process that hosts each agent. Whoever has a net can send by its verbs only, and
    they all end at one exit.
    """

    def __init__(
        self,
        graph: Graph,
        transport: Transport | Post | None = None,
        observers: Sequence[Observer] = (),
        entries: int = ENTRIES,
    ) -> None:
        """`entries` limits the memory of one part, see `by_part`."""
        post = transport if isinstance(transport, Post) else Post(transport or Alone())
        self._connect(graph, Exit(post, tuple(observers)), entries)

    def _connect(self, graph: Graph, exit_: Exit, entries: int) -> None:
        _EXITS[self] = exit_
        self.graph = graph
        self.rank, self.processes = exit_.post.rank, exit_.post.size
        self._entries = entries
        self.N = len(graph)
        self.place = blocks(self.N, self.processes)
        here = self.place == self.rank
        edges = torch.from_numpy(np.array(graph.edges))
        visits = edges[here[edges[:, 1]]]
        self.agents = positions(here)
        hosts = torch.searchsorted(self.agents, visits[:, 1].contiguous())
        self.visits = Visits(visits, hosts)
        loops = torch.stack([self.agents, self.agents], dim=1)
        self.selves = Visits(loops, torch.arange(len(self.agents)))
        self._asks = edges[here[edges[:, 0]]]
        everybody = slice(0, len(self.agents))
        self._whole = Part(self, everybody, self._asks, torch.arange(len(visits)))
        self.i, self.w, self.own = self._whole.i, self._whole.w, self._whole.own
        self.numbers = self._whole.numbers
        self._parts: dict[int, tuple[Part, ...]] = {}
        self._routes()

    def _routes(self) -> None:
        """Who of the others needs which agents' rows, for `send`."""
        asks, visits = self._asks, self.visits.edges
        # The agents whose rows are read here, ascending.
        self._senders = visits[:, 0].unique()
        self._at = torch.searchsorted(self._senders, visits[:, 0].contiguous())
        self._local = torch.searchsorted(self._senders, self.agents)
        others = [r for r in range(self.processes) if r != self.rank]
        asked, sending = self.place[asks[:, 1]], self.place[self._senders]
        self._readers = {r: self.i[asked == r].unique() for r in others}
        self._from = {r: positions(sending == r) for r in others}
        self._leaves = positions(asks[:, 0] != asks[:, 1])

    @cached_property
    def _w_visits(self) -> Tensor:
        i, j = self.visits.edges.T.numpy()
        return torch.from_numpy(self.graph.W[j, i])

    @cached_property
    def _by_host(self) -> Groups:
        return grouped(self.visits.host, len(self.agents))

    def on(self, graph: Graph) -> Net:
        """The same agents, transport and observers on another graph.

        For graphs that change from round to round. All processes must use the same one.
        """
        if len(graph) != self.N:
            raise InputError(
                f"Another graph must have the same {self.N} agents, not {len(graph)}."
            )
        other = object.__new__(Net)
        other._connect(graph, _EXITS[self], self._entries)
        return other

    def replies_as(self, codec: Codec) -> AbstractContextManager[None]:
        """A context in which replies leave in another form, on parts of the net as well."""
        return EncodedReplies(self, codec)

    # ------------------------------------------------------------------ verbs
    def send(self, channel: str, x: Tensor) -> Sent:
        """Every agent's row to all its neighbours: (agents, D) -> what was received here."""
        leaving = Leaving(channel, self._asks[self._leaves], x, self.i[self._leaves])
        counts = {r: len(k) for r, k in self._from.items()}
        got = _EXITS[self](leaving, self._readers, counts)
        if self.processes == 1:
            return Sent(x, self._at)
        rows = x.new_empty(len(self._senders), *x.shape[1:])
        rows[self._local] = x
        for r, part in got.items():
            rows[self._from[r]] = part
        return Sent(rows, self._at)

    def reply(self, channel: str, answers: Tensor) -> Tensor:
        """Every visit answered to its asker: (visits, D) -> (asks, D)."""
        return self._whole.reply(channel, answers)

    def sum(self, rows: Tensor, weight: Tensor) -> Tensor:
        """For every agent i, sum over j in N_i of weight_ij rows_ij: (asks, D) -> (agents, D)."""
        return self._whole.sum(rows, weight)

    def average(self, sent: Sent) -> Tensor:
        """For every agent i, sum over j in N_i of w_ij rows_j: received rows -> (agents, D)."""
        return weighted_sums(sent.rows, sent.at, self._w_visits, self._by_host)

    def average_answers(self, answers: Tensor) -> Tensor:
        """For every agent i, sum over j in N_i of w_ij answers_ji: (visits, D) -> (agents, D)."""
        return weighted_sums(
            answers, torch.arange(len(answers)), self._w_visits, self._by_host
        )

    def mix(self, channel: str, x: Tensor) -> Tensor:
        """One step of gossip, W x: send and average."""
        return self.average(self.send(channel, x))

    # -------------------------------------------------- some agents after the others
    def by_part(
        self, width: int, work: Callable[[Part], Mapping[str, Tensor]]
    ) -> dict[str, Tensor]:
        """What `work` finds for the agents of every part, put together: name -> (agents, ...).

        For work with a row of `width` entries for every edge: at a time there are only those of one
        part. All processes go through the same parts, so `work` may exchange rows.
        """
        if width not in self._parts:
            self._parts[width] = self._divide(max(1, self._entries // max(1, width)))
        parts = self._parts[width]
        if len(parts) == 1:
            return dict(work(parts[0]))
        found: dict[str, Tensor] = {}
        for part in parts:
            for name, rows in work(part).items():
                if name not in found:
                    found[name] = rows.new_empty(len(self.agents), *rows.shape[1:])
                found[name][part.rows] = rows
        return found

    def _divide(self, most: int) -> tuple[Part, ...]:
        """Parts in which the agents of each process have at most `most` edges, or are one agent.

        Each process has agents in the first part, in the second, and so on while there are any: if
        parts were one process after the other, most would wait.
        """
        sizes = torch.from_numpy(np.array(self.graph.sizes))
        of_process = [
            divided(sizes[self.place == r].tolist(), most)
            for r in range(self.processes)
        ]
        part = torch.cat([torch.tensor(parts) for parts in of_process])
        count = int(part.max()) + 1
        if count == 1:
            return (self._whole,)

        def by_part(of: Tensor) -> tuple[Tensor, ...]:
            members = of.bincount(minlength=count).tolist()
            found: tuple[Tensor, ...] = of.argsort(stable=True).split(members)
            return found

        asks = by_part(part[self._asks[:, 0]])
        visits = by_part(part[self.visits.edges[:, 0]])
        agents = by_part(part[self.agents])
        starts = np.cumsum([0, *map(len, agents)]).tolist()
        return tuple(
            Part(self, slice(starts[k], starts[k + 1]), self._asks[asks[k]], visits[k])
            for k in range(count)
        )
