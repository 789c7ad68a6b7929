"""Who talks to whom in each named graph: symmetric boolean matrices without self-loops."""

from __future__ import annotations

import numpy as np

from dpdl.errors import InputError
from dpdl.graph.check import Pattern, reachable
from dpdl.keys import generator

MAX_DRAWS = 200


def circulant(N: int, offsets: list[int]) -> Pattern:
    """Agent i talks to i ± k (mod N) for every k in `offsets`."""
    apart = np.subtract.outer(np.arange(N), np.arange(N)) % N
    wanted = {k % N for k in offsets} | {-k % N for k in offsets}
    return np.isin(apart, sorted(wanted - {0}))


def ring(N: int) -> Pattern:
    """Agent i talks to i - 1 and i + 1, the last to the first."""
    return circulant(N, [1])


def path(N: int) -> Pattern:
    """A ring without the edge from the last agent to the first."""
    return np.asarray(np.eye(N, k=1) + np.eye(N, k=-1), dtype=np.bool_)


def complete(N: int) -> Pattern:
    """Everybody talks to everybody."""
    return ~np.eye(N, dtype=np.bool_)


def star(N: int) -> Pattern:
    """Everybody talks to agent 0 and to nobody else."""
    return _between(np.arange(N) == 0)


def bipartite(N: int) -> Pattern:
    """Every even agent talks to every odd agent."""
    if N % 2:
        raise InputError(
            f"Graph 'bipartite' has two halves of equal size, but agents = {N} is odd: "
            f"use {N - 1} or {N + 1} agents, or 'bipartite-hub'."
        )
    return _between(np.arange(N) % 2 == 0)


def bipartite_hub(N: int) -> Pattern:
    """Agents 0 and 1 talk to all others, and no others talk to each other."""
    return _between(np.arange(N) < 2)


def hypercube(N: int) -> Pattern:
    """Two agents talk when the binary digits of their numbers differ in one place."""
    if N & (N - 1):
        low = 1 << (N.bit_length() - 1)
        raise InputError(
            f"Graph 'hypercube' needs a power of two, but agents = {N}: use {low} or "
            f"{2 * low} agents."
        )
    differ = np.bitwise_xor.outer(np.arange(N), np.arange(N))
    return np.asarray((differ > 0) & (differ & (differ - 1) == 0))


def exponential(N: int) -> Pattern:
    """Agent i talks to i ± 2^k (mod N) for every 2^k < N."""
    return circulant(N, [1 << k for k in range((N - 1).bit_length())])


def torus(rows: int, columns: int) -> Pattern:
    """A grid whose borders are joined; agent `r * columns + c` sits in row r and column c."""
    same_row, same_column = np.eye(rows), np.eye(columns)
    return np.asarray(
        np.kron(ring(rows), same_column) + np.kron(same_row, ring(columns)),
        dtype=np.bool_,
    )


def torus_sides(N: int) -> tuple[int, int]:
    """The most square rows x columns with at least 2 of each."""
    for rows in range(int(N**0.5), 1, -1):
        if N % rows == 0:
            return rows, N // rows
    raise InputError(
        "Graph 'torus' needs rows x columns agents with at least 2 of each, but "
        f"agents = {N} is prime: use {N - 1} or {N + 1} agents, or 'ring'."
    )


def erdos_renyi(N: int, p: float, seed: int) -> Pattern:
    """Every pair talks with probability p; drawn from the seed until the graph is connected."""
    for draw in range(MAX_DRAWS):
        upper = np.triu(generator(seed, "graph-edges", draw).random((N, N)) < p, 1)
        pattern = upper | upper.T
        if reachable(pattern).all():
            return pattern
    raise InputError(
        f"Graph 'erdos-renyi:{p}' with {N} agents was not connected in {MAX_DRAWS} draws: "
        f"use a probability above ln(N)/N = {np.log(N) / N:.2g}."
    )


def _between(inside: Pattern) -> Pattern:
    return np.not_equal.outer(inside, inside)
