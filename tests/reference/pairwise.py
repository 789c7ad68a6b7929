"""How well one agent can tell two inputs of another apart, by the explicit Gaussian of all that it knows and hears.

Plain loops; nothing is shared with `src`. The view is a list of linear forms of the agents' noisy values.
"""

from __future__ import annotations

import math

import numpy as np


def view(W: np.ndarray, steps: int, v: int) -> np.ndarray:
    """The linear forms: agent v's own value, and every message of its neighbours, played on unit vectors."""
    N = len(W)
    rho = sorted(abs(np.linalg.eigvals(W)))[-2] if N > 1 else 0.0
    gamma = 2 / (1 + math.sqrt(1 - rho**2))
    forms = [[1.0 if k == v else 0.0 for k in range(N)]]
    # column[t][w]: what agent w holds after t steps when only agent k started with 1.
    held = [[[1.0 if w == k else 0.0 for w in range(N)] for k in range(N)]]
    for t in range(1, steps):
        now = []
        for k in range(N):
            W_y = [sum(W[w, j] * held[t - 1][k][j] for j in range(N)) for w in range(N)]
            now.append(
                W_y
                if t == 1
                else [
                    gamma * W_y[w] + (1 - gamma) * held[t - 2][k][w] for w in range(N)
                ]
            )
        held.append(now)
    for t in range(steps):
        for w in range(N):
            if w != v and W[v, w] > 0:
                forms.append([held[t][k][w] for k in range(N)])
    return np.array(forms)


def advantage(forms: np.ndarray, u: int) -> float:
    """mu^2 of the best test whether input u moved by one: the squared signal-to-noise ratio of the best weighting.

    The view is N(shift, S) with S = forms forms', for noise of variance one on every input. The best weighting a
    maximises (a' shift)^2 / (a' S a). Directions without noise carry no shift, which is itself a value of the noise.
    """
    S = forms @ forms.T
    shift = forms[:, u]
    values, vectors = np.linalg.eigh(S)
    total = 0.0
    for value, a in zip(values, vectors.T, strict=True):
        if value > 1e-11:
            total += float(a @ shift) ** 2 / value
    return total
