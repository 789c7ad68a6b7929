"""Graphs from files: edge lists and matrices.

An edge list has one edge per line, `i j` or `i j w`, agents numbered from 0. A matrix has one line
per agent. The numbers stand apart by spaces or commas, and `#` starts a comment. Some extensions
decide: `.edges` is an edge list, `.adj` and `.npy` are matrices. In any other file two or three
numbers per line are an edge list, unless they form a symmetric square of numbers from 0 to 1, which
is the matrix of a very small graph.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dpdl.errors import InputError, reason
from dpdl.foreign import check_file, read_text
from dpdl.graph.check import MAX_AGENTS, Matrix, Pattern, as_matrix
from dpdl.graph.matrix import Graph
from dpdl.graph.weights import check_rule, weigh
from dpdl.text import shown


class Line(NamedTuple):
    """The numbers of one line of a text file, and where it stands."""

    number: int
    values: list[float]


def from_file(
    path: str | Path,
    agents: int | None = None,
    weights: str = "metropolis",
    seed: int = 0,
) -> Graph:
    """The graph of an edge list or matrix file.

    With weights "given" the numbers of the file become W; a self-weight that is missing or 0
    becomes what is left of 1. With any other rule the file only says who talks to whom. `agents`
    must agree with the file.
    """
    check_rule(weights)
    path = Path(path)
    try:
        A = _read(path, weighted=weights == "given")
        if agents is not None and agents != len(A):
            raise InputError(f"It holds {len(A)} agents, but agents = {agents}.")
        W = (
            _with_self_weights(A)
            if weights == "given"
            else weigh(_pattern(A), weights, seed)
        )
        return Graph(W, path.name)
    except InputError as error:
        raise InputError(f"Graph file {str(path)!r}: {error}") from None


def _read(path: Path, weighted: bool) -> Matrix:
    suffix = path.suffix.lower()
    if suffix == ".npy":
        A = _load(path)
        return _checked(A, [f"Row {i}" for i in range(len(A))])
    lines = _lines(path)
    if _is_edge_list(suffix, lines):
        return _edge_list(lines, weighted)
    return _checked(_matrix(lines), [f"Line {line.number}" for line in lines])


def _load(path: Path) -> Matrix:
    try:
        # Mapped, so that a header that lies about the size is found before memory is taken.
        check_file(path)
        loaded = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError as error:
        raise InputError(f"It cannot be read ({reason(error)}).") from None
    except Exception:  # numpy raises almost anything
        raise InputError("It is not a NumPy file that holds one plain array.") from None
    if not isinstance(loaded, np.ndarray) or loaded.size > MAX_AGENTS**2:
        raise InputError(f"It must hold one matrix of at most {MAX_AGENTS} agents.")
    return as_matrix(loaded)


def _lines(path: Path) -> list[Line]:
    try:
        text = read_text(path)
    except OSError as error:
        raise InputError(f"It cannot be read ({reason(error)}).") from None
    except ValueError as error:
        raise InputError(f"It cannot be read ({error}).") from None
    lines = []
    for number, line in enumerate(text.splitlines(), start=1):
        content = line.split("#")[0].strip()
        if content:
            cells = re.split(r"\s*,\s*|\s+", content)
            lines.append(Line(number, [_number(cell, number) for cell in cells]))
    if not lines:
        raise InputError("It holds no numbers.")
    return lines


def _number(cell: str, line: int) -> float:
    try:
        value = float(cell)
    except ValueError:
        raise InputError(
            f"Line {line} holds {shown(cell)}, which is not a number (comments start with #)."
        ) from None
    if not np.isfinite(value) or value < 0:
        raise InputError(
            f"Line {line} holds {shown(value)}, but only finite numbers of at least 0 are allowed."
        )
    return value


def _is_edge_list(suffix: str, lines: list[Line]) -> bool:
    if suffix in (".edges", ".adj"):
        return suffix == ".edges"
    columns = {len(line.values) for line in lines}
    if not columns <= {2, 3}:
        return False
    if columns != {len(lines)}:
        return True
    square = np.array([line.values for line in lines])
    return bool((square != square.T).any() or (square > 1).any())


def _matrix(lines: list[Line]) -> Matrix:
    N = len(lines)
    for line in lines:
        if len(line.values) != N:
            raise InputError(
                f"Line {line.number} has length {len(line.values)}, but a matrix of {N} lines "
                f"needs {N} numbers in each (an edge list needs two or three)."
            )
    return as_matrix([line.values for line in lines])


def _edge_list(lines: list[Line], weighted: bool) -> Matrix:
    allowed = (3,) if weighted else (2, 3)
    seen: dict[tuple[int, int], tuple[float, int]] = {}
    for line in lines:
        if len(line.values) not in allowed:
            form = (
                "'i j w', because weights are 'given'"
                if weighted
                else "'i j' or 'i j w'"
            )
            raise InputError(
                f"Line {line.number} has length {len(line.values)}, but an edge is {form}."
            )
        i, j = sorted(_agent(value, line.number) for value in line.values[:2])
        w = line.values[2] if len(line.values) == 3 else 1.0
        if w == 0:
            raise InputError(
                f"Line {line.number} gives edge {i} {j} the weight 0: leave the edge out instead."
            )
        before, where = seen.setdefault((i, j), (w, line.number))
        if before != w:
            raise InputError(
                f"Line {line.number} gives edge {i} {j} the weight {w:.12g}, but line {where} "
                f"says {before:.12g}."
            )
    if min(seen)[0] > 0:
        raise InputError(
            f"Agent 0 has no edge: agents are numbered from 0, but the lowest is {min(seen)[0]}."
        )
    A = np.zeros((1 + max(j for _, j in seen),) * 2)
    for (i, j), (w, _) in seen.items():
        A[i, j] = A[j, i] = w
    return A


def _agent(value: float, line: int) -> int:
    if value != int(value) or value >= MAX_AGENTS:
        raise InputError(
            f"Line {line} names agent {value:.12g}, but in an edge list agents are whole "
            f"numbers from 0 to {MAX_AGENTS - 1} (a matrix of two or three agents should be "
            "named PATH.adj)."
        )
    return int(value)


def _checked(A: Matrix, rows: list[str]) -> Matrix:
    """A, refused unless it is non-negative and i talks to j exactly when j talks to i."""
    if (A < 0).any():
        i, j = np.argwhere(A < 0)[0]
        raise InputError(
            f"{rows[i]} holds {A[i, j]:.12g}, but weights must not be negative."
        )
    one_way = (A > 0) & (A.T == 0)
    if one_way.any():
        i, j = np.argwhere(one_way)[0]
        raise InputError(
            f"{rows[i]} has an edge from agent {i} to agent {j}, but {rows[j].lower()} has "
            f"none from {j} to {i}."
        )
    return A


def _pattern(A: Matrix) -> Pattern:
    return (A > 0) & ~np.eye(len(A), dtype=np.bool_)


def _with_self_weights(A: Matrix) -> Matrix:
    own = np.diagonal(A)
    left = 1.0 - (A.sum(axis=1) - own)
    if ((own == 0) & (left <= 0)).any():
        i = int(np.argmax((own == 0) & (left <= 0)))
        raise InputError(
            f"The edges of agent {i} already weigh {1.0 - left[i]:.12g}: "
            f"less than 1 is needed to leave agent {i} a weight for itself."
        )
    W = A.copy()
    np.fill_diagonal(W, np.where(own == 0, left, own))
    return W
