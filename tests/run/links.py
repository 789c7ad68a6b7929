"""What crosses between processes, written down, and who it was that sent it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

import pytest
import torch
from torch import Tensor

from dpdl.run.observe import Gate
from dpdl.transport import Transport
from dpdl.transport.threads import run_threads


class Links:
    """Listens on all links, and knows what passed the exit on a declared channel and what the models were."""

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

    def bytes(self) -> bytes:
        """All that crossed."""
        return b"".join(map(content, self.crossed))

    def strangers(self) -> list[str]:
        """What crossed and was neither released, nor a model, nor a public word: one whole number, or bytes."""
        return [f"{rows.dtype} {tuple(rows.shape)}" for rows in self.crossed if not self._allowed(rows)]

    def _allowed(self, rows: Tensor) -> bool:
        if rows.dtype == torch.uint8 or (rows.dtype == torch.int64 and rows.shape == (1,)):
            return True
        return all(content(row) in self._known for row in rows)

    def watch_exit_and_models(self, monkeypatch: pytest.MonkeyPatch, algorithm: type) -> None:
        """Every row that the gate lets through may cross, and so may the models after every round."""
        gate, play = Gate.__call__, algorithm.round

        def passed(of: Gate, leaving) -> None:
            gate(of, leaving)  # raises for a channel that was not declared
            self.allow(leaving.rows)

        def round(of, state, *rest):
            state, info = play(of, state, *rest)
            self.allow(state["x"])
            return state, info

        monkeypatch.setattr(Gate, "__call__", passed)
        monkeypatch.setattr(algorithm, "round", round)


class Tapped:
    """A transport of processes that are apart, with somebody on the line."""

    apart = True

    def __init__(self, transport: Transport, links: Links) -> None:
        self.rank, self.size = transport.rank, transport.size
        self._transport, self._links = transport, links

    def swap(self, out: Mapping[int, Tensor], expect: Mapping[int, int], like: Tensor) -> dict[int, Tensor]:
        self._links.heard(out)
        return self._transport.swap(out, expect, like)


def content(rows: Tensor) -> bytes:
    return rows.contiguous().numpy().tobytes()


def play_apart(monkeypatch: pytest.MonkeyPatch, processes: int, links: Links | None = None) -> Links:
    """From now on `dpdl.train` and `dpdl.resume` run in threads that play processes which are apart."""
    links = links or Links()

    def place(placement: str, work: Callable[[Transport], None]) -> None:
        run_threads(processes, lambda transport: work(Tapped(transport, links)))

    monkeypatch.setattr("dpdl.run.train.place", place)
    return links
