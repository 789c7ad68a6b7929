"""The edges that touch the agents hosted here, the verbs that move rows on them, and the one exit.

An algorithm is written once, for "the agents hosted here", and does not know where the others are. All processes
share one canonical edge order, so rows need no headers, and every sum runs over neighbours in ascending order, so
the result is the same, bit for bit, on every placement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from torch import Tensor

from dpdl.errors import InputError
from dpdl.graph import Graph
from dpdl.parallel import each
from dpdl.transport import Alone, Transport
from dpdl.types import Sent, Visits


@dataclass(frozen=True)
class Leaving:
    """Rows on their way out of agents hosted here: `rows[at[k]]` goes from `edges[k, 0]` to `edges[k, 1]`."""

    channel: str
    edges: Tensor  # (messages, 2) agent numbers (source, target); never a self-loop
    rows: Tensor
    at: Tensor  # (messages,)

    @property
    def bytes(self) -> int:
        """What all these messages weigh, headers not counted."""
        return len(self.edges) * self.rows[0].numel() * self.rows.element_size()


Observer = Callable[[Leaving], None]


def blocks(agents: int, processes: int) -> Tensor:
    """Placement of the agents on processes: equal consecutive blocks."""
    if processes > agents:
        raise InputError(f"{processes} processes cannot share {agents} agents: at most one process per agent.")
    return torch.arange(agents) * processes // agents


@final
class Net:
    """What the agents hosted here see of the graph.

    `agents` are their numbers, `N` is the number of all agents. `i`, `w` and `own` belong to the asks: row of the
    asking agent, weight w_ij, and position of the self-loop of every agent. `visits` are the edges they answer, and
    `selves` those that stay at home.
    """

    def __init__(self, graph: Graph, transport: Transport | None = None, observers: Sequence[Observer] = ()) -> None:
        self.graph = graph
        self.transport: Transport = transport or Alone()
        self.observers = tuple(observers)
        self.N = len(graph)
        place = blocks(self.N, self.transport.size)
        here = place == self.transport.rank
        edges = torch.from_numpy(np.array(graph.edges))
        asks, visits = edges[here[edges[:, 0]]], edges[here[edges[:, 1]]]
        row = here.cumsum(0) - 1
        self.agents = here.nonzero().flatten()
        self.i = row[asks[:, 0]]
        weights = torch.from_numpy(np.array(graph.W))
        self.w = weights[asks[:, 0], asks[:, 1]]
        self.own = (asks[:, 0] == asks[:, 1]).nonzero().flatten()
        self.visits = Visits(visits, row[visits[:, 1]])
        self.selves = Visits(torch.stack([self.agents, self.agents], dim=1), torch.arange(len(self.agents)))
        self._asks = asks
        self._w_visits = weights[visits[:, 1], visits[:, 0]]
        self._routes(place, here)

    def _routes(self, place: Tensor, here: Tensor) -> None:
        """Who of the others needs which rows, for `send` (agents) and for `reply` (edges)."""
        asks, visits = self._asks, self.visits.edges
        self._place = place
        self._senders = visits[:, 0].unique()  # agents whose rows are read here, ascending
        self._at = torch.searchsorted(self._senders, visits[:, 0].contiguous())
        self._local = torch.searchsorted(self._senders, self.agents)
        others = [r for r in range(self.transport.size) if r != self.transport.rank]
        self._readers = {r: self.i[place[asks[:, 1]] == r].unique() for r in others}
        self._from = {r: (place[self._senders] == r).nonzero().flatten() for r in others}
        self._asks_to = {r: (place[asks[:, 1]] == r).nonzero().flatten() for r in others}
        self._visits_from = {r: (place[visits[:, 0]] == r).nonzero().flatten() for r in others}
        self._asks_here = here[asks[:, 1]].nonzero().flatten()
        self._visits_here = here[visits[:, 0]].nonzero().flatten()
        self._ask_leaves = (asks[:, 0] != asks[:, 1]).nonzero().flatten()
        self._visit_leaves = (visits[:, 0] != visits[:, 1]).nonzero().flatten()

    def on(self, graph: Graph) -> Net:
        """The same agents, transport and observers on another graph: rows then move on its edges only.

        For graphs that change from round to round. All processes must ask for the same one.
        """
        if len(graph) != self.N:
            raise InputError(f"Another graph must have the same {self.N} agents, not {len(graph)}.")
        return Net(graph, self.transport, self.observers)

    # ------------------------------------------------------------------ verbs
    def send(self, channel: str, x: Tensor) -> Sent:
        """Every agent's row to all its neighbours: (agents, D) -> what the agents hosted here received."""
        leaving = Leaving(channel, self._asks[self._ask_leaves], x, self.i[self._ask_leaves])
        got = self._exit(leaving, self._readers, {r: len(k) for r, k in self._from.items()})
        if self.transport.size == 1:
            return Sent(x, self._at)
        rows = x.new_empty(len(self._senders), *x.shape[1:])
        rows[self._local] = x
        for r, part in got.items():
            rows[self._from[r]] = part
        return Sent(rows, self._at)

    def reply(self, channel: str, answers: Tensor) -> Tensor:
        """Every visit answered to its asker: (visits, D) -> (asks, D)."""
        leaving = Leaving(channel, self.visits.edges[self._visit_leaves].flip(1), answers, self._visit_leaves)
        got = self._exit(leaving, self._visits_from, {r: len(k) for r, k in self._asks_to.items()})
        if self.transport.size == 1:
            return answers  # asks and visits are the same edges, in the same order
        rows = answers.new_empty(len(self._asks), *answers.shape[1:])
        rows[self._asks_here] = answers[self._visits_here]
        for r, part in got.items():
            rows[self._asks_to[r]] = part
        return rows

    def sum(self, rows: Tensor, weight: Tensor) -> Tensor:
        """For every agent i, sum over j in N_i of weight_ij rows_ij: (asks, D) -> (agents, D)."""
        return self._fold(rows, torch.arange(len(rows)), weight, self.i)

    def average(self, sent: Sent) -> Tensor:
        """For every agent i, sum over j in N_i of w_ij rows_j: what it received -> (agents, D)."""
        return self._fold(sent.rows, sent.at, self._w_visits, self.visits.host)

    def average_answers(self, answers: Tensor) -> Tensor:
        """For every agent i, sum over j in N_i of w_ij answers_ji: what it answered to others -> (agents, D)."""
        return self._fold(answers, torch.arange(len(answers)), self._w_visits, self.visits.host)

    def mix(self, channel: str, x: Tensor) -> Tensor:
        """One step of gossip, W x: send and average."""
        return self.average(self.send(channel, x))

    # ------------------------------------- the experimenter's view of all agents
    def collect(self, rows: Tensor) -> Tensor | None:
        """The rows of all agents in agent order, on process 0 (None elsewhere).

        This is an instrument of the experimenter, not a message of an agent; it does not pass the exit.
        """
        if self.transport.size == 1:
            return rows
        if self.transport.rank:
            self.transport.swap({0: rows}, {}, rows)
            return None
        counts = {r: int((self._place == r).sum()) for r in range(1, self.transport.size)}
        got = self.transport.swap({}, counts, rows)
        return torch.cat([rows, *(got[r] for r in sorted(got))])

    def share(self, number: int) -> int:
        """The number that process 0 has, known to all."""
        others = range(1, self.transport.size)
        word = torch.tensor([number])
        if self.transport.rank:
            return int(self.transport.swap({}, {0: 1}, word)[0])
        self.transport.swap(dict.fromkeys(others, word), {}, word)
        return number

    def agree(self, wish: bool) -> bool:
        """What process 0 wishes, known to all."""
        return bool(self.share(int(wish)))

    # -------------------------------------------------------------- the one exit
    def _exit(self, leaving: Leaving, picks: dict[int, Tensor], expect: dict[int, int]) -> dict[int, Tensor]:
        """Everything that leaves an agent passes here, whether or not it leaves this process."""
        for observe in self.observers:
            observe(leaving)
        out = {r: leaving.rows[k] for r, k in picks.items() if len(k)}
        return self.transport.swap(out, {r: k for r, k in expect.items() if k}, leaving.rows)

    def _fold(self, rows: Tensor, at: Tensor, weight: Tensor, into: Tensor) -> Tensor:
        """out[a] = sum over k with into[k] = a of weight[k] rows[at[k]], k ascending."""
        out = rows.new_zeros(len(self.agents), *rows.shape[1:])
        order = torch.argsort(into, stable=True)
        groups = order.split(torch.bincount(into, minlength=len(self.agents)).tolist())

        def fold(a: int) -> None:
            for k in groups[a].tolist():
                out[a].add_(rows[int(at[k])], alpha=float(weight[k]))

        each(fold, range(len(self.agents)))
        return out
