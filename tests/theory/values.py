"""Values that the theorem is applied to: easy fractions, the paper's own, and any."""

from __future__ import annotations

import math
from dataclasses import replace

from hypothesis import strategies as st

from dpdl.theory import (
    Letters,
)

# 1 - beta = 1/2, sqrt(rho) = 1/2: everything below is a fraction.
SMALL = Letters(
    eta=0.1, beta=0.5, rho=0.25, L=0.25, N=4, T=100, C=1.0, sigma=2.0, d=10, w_min=0.25, B=5, alpha=2.0,
    xi=2.0, kappa=1.0, gap=2.0, epsilon=0.5,
)  # fmt: skip


# The paper's MNIST and CIFAR-10 settings on its three graphs.
RHO = {
    "complete": 0.0,
    "bipartite": 4 / 9,
    "ring": ((1 + 2 * math.cos(2 * math.pi / 10)) / 3) ** 2,
}


MNIST = replace(SMALL, eta=0.005, beta=0.7, N=10, L=1.0)


CIFAR = replace(MNIST, eta=0.03)


positive = st.floats(1e-3, 10)


any_setting = st.builds(
    Letters, eta=st.floats(1e-4, 1), beta=st.just(0.0) | st.floats(0.01, 0.95),
    rho=st.just(0.0) | st.floats(0.01, 0.99), L=positive, N=st.integers(1, 50), T=st.integers(1, 1000),
    C=positive, sigma=st.floats(0, 5), d=st.integers(1, 10**6), w_min=st.floats(0.01, 1),
    B=st.integers(1, 500), alpha=st.floats(0, 3), xi=positive, kappa=positive, gap=positive, epsilon=positive,
)  # fmt: skip
