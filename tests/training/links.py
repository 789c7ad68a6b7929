"""What crosses between processes, written down, and who it was that sent it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import fields, replace

import torch
from torch import Tensor

from dpdl.algorithms import Algorithm, Info, State
from dpdl.net import Leaving
from dpdl.planning.plan import Plan
from dpdl.training.placement import Placement
from dpdl.transport import Address, Transport
from dpdl.transport.threads import run_threads

After = Callable[[State, Info], tuple[State, Info]]


class Links:
    """Listens on all links, and knows what passed the exit and what the models were."""

    def __init__(self) -> None:
        self.crossed: list[Tensor] = []
        self._known: set[bytes] = set()
        self._lock = threading.Lock()

    def heard(self, out: Mapping[int, Tensor]) -> None:
        """Something crosses."""
        with self._lock:
            self.crossed += [rows.detach().clone() for rows in out.values()]

    def allow(self, rows: Tensor) -> None:
        """Rows that may cross: released on a declared channel, or models."""
        with self._lock:
            self._known |= set(map(content, rows))

    def released(self, leaving: Leaving) -> None:
        """An observer behind the gate: what it sees was declared."""
        self.allow(leaving.rows)

    def bytes(self) -> bytes:
        """All that crossed."""
        return b"".join(map(content, self.crossed))

    def strangers(self) -> list[str]:
        """What crossed and was neither released, nor a model, nor a whole number or bytes."""
        return [
            f"{rows.dtype} {tuple(rows.shape)}"
            for rows in self.crossed
            if not self._allowed(rows)
        ]

    def _allowed(self, rows: Tensor) -> bool:
        whole = rows.dtype == torch.int64 and rows.shape == (1,)
        if rows.dtype == torch.uint8 or whole:
            return True
        return all(content(row) in self._known for row in rows)

    def models(self, p: Plan) -> Plan:
        """The same plan, with an algorithm whose models may cross after every round."""

        def after(state: State, info: Info) -> tuple[State, Info]:
            self.allow(state["x"])
            return state, info

        return with_rounds(p, after)


def with_rounds(p: Plan, after: After) -> Plan:
    """The same plan, with something done to what every round gives."""
    honest = p.algorithm

    def round(self, state, batches, net, grad, t):
        return after(*honest.round(state, batches, net, grad, t))

    return with_algorithm(p, altered(honest, round=round))


def altered(honest: Algorithm, **methods: Callable) -> Algorithm:
    """An algorithm of the same class but for some methods."""
    kind = type(honest)
    other = type(kind.__name__, (kind,), methods)
    return other(**{f.name: getattr(honest, f.name) for f in fields(honest)})


def with_algorithm(p: Plan, algorithm: Algorithm) -> Plan:
    privacy = replace(p.privacy, algorithm=algorithm)
    return replace(p, public=replace(p.public, privacy=privacy))


class Tapped:
    """A transport of processes that are apart, with somebody on the line."""

    apart = True

    def __init__(self, transport: Transport, links: Links) -> None:
        self.rank, self.size = transport.rank, transport.size
        self._transport, self._links = transport, links

    def swap(
        self,
        address: Address,
        out: Mapping[int, Tensor],
        expect: Mapping[int, int],
        like: Tensor,
    ) -> dict[int, Tensor]:
        self._links.heard(out)
        return self._transport.swap(address, out, expect, like)


def content(rows: Tensor) -> bytes:
    return rows.contiguous().numpy().tobytes()


def apart(processes: int, links: Links | None = None) -> Placement:
    """Threads that play processes which are apart, with somebody on the line."""
    heard = links or Links()
    return lambda work: run_threads(
        processes, lambda transport: work(Tapped(transport, heard))
    )
