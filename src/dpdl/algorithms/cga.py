"""CGA: cross-gradients, combined by a small quadratic problem so that they do not conflict.

Esfandiari, Tan, Jiang, Balu, Herron, Hegde, Sarkar, "Cross-Gradient Aggregation for Decentralized
Learning from Non-IID Data", 2021.

Round t, agent i, with x = x^i_{t-1}, m = m^i_{t-1} and g_ddot^{ij} as in DPDL (clipped and
perturbed at j):

    g   = w_ii g_ddot^{ii},   rows of M: m_j = w_ij g_ddot^{ij},  j in N_i without i
    v   = argmin  1/2 v' (M M' + 1e-12 diag(M M')) v + (M g)' v    over  v_j >= margin
    g~  = g + M' v
    m  <- beta m + g~,   x <- sum_{j in N_i} w_ij x^j - eta m

With margin 0 this is the dual of projecting g on {z : M z >= 0}: a small step against g~ raises no
neighbour's loss to first order, g~ is no longer than g, and <g, g~> = ||g~||^2. When no two
gradients conflict, g~ = g: the neighbours' are left out. A margin adds at least that share of every
neighbour's gradient.

DP-CGA is CGA with clipped and perturbed gradients, which the DPDL paper compares with. The
self-gradient is perturbed as the others are, so all that leaves agent j is computed from its |N_j|
Gaussian releases of the round.

What we do differently: the ridge is relative to the length of every row, so that the direction
scales with the gradients; public code adds 1e-12 whatever their length. The margin of 0.5 is public
code's too, and so is one problem per parameter tensor, which is off by default.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from dpdl.algorithms.base import (
    Info,
    State,
    Stepped,
    batch_info,
    momentum_option,
)
from dpdl.algorithms.disclosure import CrossGradients
from dpdl.errors import InputError, RunFailed
from dpdl.options import AT_LEAST_ZERO, Range, option
from dpdl.parallel import each
from dpdl.privacy.releases import Release

if TYPE_CHECKING:
    import numpy.typing as npt
    from torch import Tensor

    from dpdl.graph import Graph
    from dpdl.net import Net, Part
    from dpdl.privacy.gradient import PrivateGradient
    from dpdl.types import Batch

    Vector = npt.NDArray[np.float64]

RIDGE = 1e-12
"""Of the problem with rows of unit length: equal rows share a multiplier."""
SWEEPS = 100
SHORT = 1e-200
"""Shorter rows, relative to the direction's length, count as zero.

Their multipliers would not be finite.
"""


@final
@dataclass(frozen=True)
class CGA(Stepped):
    """Cross-gradients, combined by a small quadratic problem of every agent."""

    momentum: float = momentum_option()
    margin: float = option(
        0.5,
        "least multiplier of a neighbour's gradient",
        check=AT_LEAST_ZERO,
        search=Range(0, 1),
    )
    qp: str = option(
        "vector",
        "one problem for the whole vector, or one per parameter tensor",
        names=("tensor", "vector"),
    )

    answers_neighbours = True
    compressible = True
    disclosure = CrossGradients()

    def check(self, graph: Graph) -> None:
        """A margin is about neighbours, so every agent must have one."""
        alone = np.flatnonzero(graph.degrees == 0)
        if self.margin > 0 and len(alone):
            raise InputError(
                f"margin must be 0 when an agent has no neighbour: agent {alone[0]} has none."
            )

    def init(self, x: Tensor) -> State:
        """Momenta start at zero."""
        return {"x": x, "m": x.new_zeros(x.shape)}

    def round(
        self,
        state: State,
        batches: Sequence[Batch],
        net: Net,
        grad: PrivateGradient,
        t: int,
    ) -> tuple[State, Info]:
        """Two exchanges: models, cross-gradients."""
        x = state["x"]
        models = net.send("model", x)
        asked = grad.asked(models, batches, net.visits, t)
        sizes = grad.model.sizes if self.qp == "tensor" else (x.shape[1],)

        def combined(part: Part) -> dict[str, Tensor]:
            g = part.reply("gradient", asked.answers(part.numbers).private)
            v = multipliers(g, part, sizes, self.margin)
            direction = x.new_empty(x[part.rows].shape)
            for k, (into, rows) in enumerate(
                zip(direction.split(sizes, 1), g.split(sizes, 1), strict=True)
            ):
                into.copy_(part.sum(rows, part.w * v[:, k]))
            return {"direction": direction, "multiplier": _mean_of_neighbours(v, part)}

        found = net.by_part(x.shape[1], combined)
        m = self.momentum * state["m"] + found.pop("direction") + self.weight_decay * x
        return {"x": net.average(models) - self.eta(t) * m, "m": m}, Info(
            {**batch_info(asked, net), **found}
        )

    def releases(self, grad: PrivateGradient) -> tuple[Release, ...]:
        """The two channels of a round; the momentum stays at home."""
        return (
            Release(
                "model",
                private=False,
                carries="x: mixed models and momenta of perturbed gradients",
            ),
            Release(
                "gradient",
                True,
                "perturbed cross-gradient",
                grad.clip.sensitivity,
                grad.noise_multiplier,
            ),
        )


def multipliers(g: Tensor, net: Part, sizes: tuple[int, ...], margin: float) -> Tensor:
    """The multipliers of w_ij g^{ij}, piece by piece: (asks, pieces), float64.

    That of an agent's own gradient is 1.
    """
    out = net.w.new_ones(len(g), len(sizes))

    def one(a: int) -> None:
        own = int(net.own[a])
        others = [k for k in (net.i == a).nonzero().flatten().tolist() if k != own]
        for piece, part in enumerate(g.split(sizes, 1)):
            rows = [float(net.w[k]) * part[k].double() for k in others]
            found = multipliers_of(rows, float(net.w[own]) * part[own].double(), margin)
            for k, value in zip(others, found.tolist(), strict=True):
                out[k, piece] = value

    each(one, range(len(net.agents)))
    return out


def multipliers_of(rows: Sequence[Tensor], g: Tensor, margin: float) -> Vector:
    """Argmin over v >= margin of 1/2 ||M' v + g||^2, with a ridge, for the rows of M: (rows,).

    Solved for y_j = v_j ||m_j|| and rows of unit length, so that no scale is too large or too
    small. A row that adds nothing to the direction has the margin as its multiplier. Scalar
    products are taken pair by pair: the bits of a matrix product depend on its shape.
    """
    v = np.full(len(rows), margin)
    (to, length), units = _unit(g), [_unit(row) for row in rows]
    scale = max(length, margin * max((long for _, long in units), default=0.0))
    some = [k for k, (_, long) in enumerate(units) if SHORT * scale < long < np.inf]
    if not some or scale == 0:
        return v
    gram = np.eye(len(some))
    for a, p in enumerate(some):
        for b, q in enumerate(some[:a]):
            gram[a, b] = gram[b, a] = float((units[p][0] * units[q][0]).sum())
    slope = np.array([float((units[k][0] * to).sum()) for k in some])
    lengths = np.array([units[k][1] for k in some]) / scale
    v[some] += (
        _above(gram, slope * (length / scale) + gram @ (margin * lengths)) / lengths
    )
    return v


def _unit(row: Tensor) -> tuple[Tensor, float]:
    """Unit vector and norm; scaled first so that squares cannot overflow."""
    largest = float(row.abs().max())
    if largest == 0:
        return row, 0.0
    row = row / largest
    length = float(row.norm())
    return row / length, largest * length


def _above(gram: Vector, slope: Vector) -> Vector:
    """Argmin over u >= 0 of 1/2 u' (gram + ridge) u + slope' u.

    `gram` is positive semidefinite with diagonal 1. With gram + ridge = A' A it is non-negative
    least squares, ||A u - b|| with A' b = -slope.
    """
    from scipy.optimize import nnls

    values, vectors = np.linalg.eigh(gram)
    root = np.sqrt(np.maximum(values, 0) + RIDGE)
    A = root[:, None] * vectors.T
    b = -(vectors.T @ slope) / root
    try:
        return _polished(gram, slope, np.asarray(nnls(A, b, maxiter=100 * len(b))[0]))
    except RuntimeError:
        raise RunFailed(
            f"CGA found no combination of {len(b)} neighbours' gradients in "
            f"{100 * len(b)} steps; "
            "choose another margin or seed."
        ) from None


def _polished(gram: Vector, slope: Vector, u: Vector) -> Vector:
    """Each entry in turn to its best value, until nothing moves: cancelling rows mislead `nnls`."""
    for _ in range(SWEEPS):
        before = u.copy()
        for k in range(len(u)):
            u[k] = max(0.0, u[k] - (gram[k] @ u + slope[k]))
        if np.abs(u - before).max() <= 1e-12:
            break
    return u


def _mean_of_neighbours(v: Tensor, net: Part) -> Tensor:
    """The mean multiplier of an agent's neighbours, NaN when it has none: (agents,)."""
    ones = net.w.new_ones(len(v))
    total = net.w.new_zeros(len(net.agents))
    for of_piece in v.unbind(1):
        total += net.sum(of_piece, ones) - 1  # without its own, which is 1
    return total / (v.shape[1] * (net.i.bincount() - 1))
