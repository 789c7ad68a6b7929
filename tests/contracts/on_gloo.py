"""Run under `torchrun`: every algorithm in several processes, compared bit by bit with one process."""

from __future__ import annotations

import sys

import torch

from dpdl import graph as graphs
from dpdl.algorithms import NAMES
from dpdl.transport import Post
from dpdl.transport.gloo import gloo
from tests.conftest import small_batch
from tests.contracts.play import play


def differing() -> list[str]:
    """The algorithms whose state is another one in several processes (known to process 0)."""
    graph = graphs.build("erdos-renyi:0.5", 5, "sinkhorn", 1)
    batches = [small_batch(3 + k, k) for k in range(5)]
    found: list[str] = []
    with gloo() as transport:
        post = Post(transport)
        for name in sorted(NAMES):
            alone = play(name, graph, batches, 3, sigma=1.0)
            for entries in (1, 10**9):  # agent by agent, and all at once
                shared = play(name, graph, batches, 3, post, sigma=1.0, entries=entries)
                if transport.rank == 0:
                    same = alone.keys() == shared.keys() and all(
                        torch.equal(alone[key], shared[key]) for key in alone
                    )
                    found.extend([] if same else [name])
        print(
            f"process {transport.rank} compared {len(NAMES)} algorithms; differing: {found}"
        )
    return found


if __name__ == "__main__":
    sys.exit(bool(differing()))
