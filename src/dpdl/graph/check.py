"""Checks of mixing matrices and numbers of agents; every error names the row or the edge."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpdl.errors import InputError

TOLERANCE = 1e-9
"""How far a given matrix may be from symmetric and from row sums of 1."""

MAX_AGENTS = 10_000
"""W is dense: 10,000 agents take 0.8 GB, and ten times as many would exhaust any machine."""

Matrix = npt.NDArray[np.float64]
Pattern = npt.NDArray[np.bool_]


def agents_count(agents: object, smallest: int, name: str) -> int:
    """`agents` as an int, refused unless it is a whole number from `smallest` to `MAX_AGENTS`."""
    if isinstance(agents, bool) or not isinstance(agents, int | np.integer):
        raise InputError(
            f"The number of agents must be a whole number, not {agents!r}."
        )
    if not smallest <= agents <= MAX_AGENTS:
        alone = " (one agent alone is 'complete')" if agents == 1 else ""
        raise InputError(
            f"Graph {name!r} needs {smallest} to {MAX_AGENTS} agents, but agents = {agents}{alone}."
        )
    return int(agents)


def as_matrix(W: object) -> Matrix:
    """`W` as a new, square, finite float64 matrix."""
    try:
        given = np.asarray(W)
        matrix = (
            np.array(given, dtype=np.float64) if given.dtype.kind in "biuf" else None
        )
    except (TypeError, ValueError):
        matrix = None
    if matrix is None:
        raise InputError(
            "W must be a square matrix of real numbers, one row per agent."
        )
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        raise InputError(
            f"W must be a square matrix, one row per agent, but its shape is {matrix.shape}."
        )
    if not np.isfinite(matrix).all():
        i, j = np.argwhere(~np.isfinite(matrix))[0]
        raise InputError(
            f"W must hold finite numbers, but w[{i},{j}] = {matrix[i, j]}."
        )
    return matrix


def check_weights(W: Matrix) -> None:
    """Refuse W unless it is non-negative, symmetric, doubly stochastic, with w_ii > 0."""
    if (W < 0).any():
        i, j = np.argwhere(W < 0)[0]
        raise InputError(f"W must not be negative, but w[{i},{j}] = {W[i, j]:.12g}.")
    if (np.abs(W - W.T) > TOLERANCE).any():
        i, j = np.argwhere(np.abs(W - W.T) > TOLERANCE)[0]
        raise InputError(
            f"W is not symmetric: w[{i},{j}] = {W[i, j]:.12g} but w[{j},{i}] = {W[j, i]:.12g}."
        )
    sums = W.sum(axis=1)
    if (np.abs(sums - 1) > TOLERANCE).any():
        i = int(np.argmax(np.abs(sums - 1) > TOLERANCE))
        raise InputError(f"Row {i} of W sums to {sums[i]:.12g}, not 1.")
    if (np.diagonal(W) <= 0).any():
        i = int(np.argmin(np.diagonal(W)))
        raise InputError(
            f"Agent {i} must keep a positive weight for itself, but w[{i},{i}] = 0."
        )


def reachable(pattern: Pattern) -> Pattern:
    """Which agents a message of agent 0 can reach along the edges of `pattern`."""
    reached = np.zeros(len(pattern), dtype=np.bool_)
    reached[0] = True
    fresh = reached
    while fresh.any():
        fresh = pattern[fresh].any(axis=0) & ~reached
        reached = reached | fresh
    return reached


def check_connected(pattern: Pattern) -> None:
    """Refuse a pattern in which some agent cannot be reached from agent 0."""
    lost = np.flatnonzero(~reachable(pattern)).tolist()
    if not lost:
        return
    shown = ", ".join(map(str, lost[:5])) + (
        f" and {len(lost) - 5} more" if len(lost) > 5 else ""
    )
    word = "agent" if len(lost) == 1 else "agents"
    raise InputError(
        f"The graph is not connected: {word} {shown} cannot be reached from agent 0."
    )
