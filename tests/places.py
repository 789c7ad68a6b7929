"""Several processes played by threads, each with its post."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from dpdl.transport import Alone, Post, Transport
from dpdl.transport.threads import run_threads

A = TypeVar("A")


def alone() -> Post:
    """One process that hosts everybody."""
    return Post(Alone())


def on_threads(size: int, work: Callable[[Post], A], apart: bool = False) -> list[A]:
    """What every rank's `work` gave."""
    found: dict[int, A] = {}

    def one(transport: Transport) -> None:
        found[transport.rank] = work(Post(transport))

    run_threads(size, one, apart)
    return [found[rank] for rank in range(size)]
