"""Labels of a batch, read off the gradient of the last layer's bias.

With cross-entropy that gradient is the mean over the batch of p - e_y, so the number of samples of
class c is B (mean p_c - gradient_c). The mean probability p_c is not seen; the adversary takes that
of its model on random images. For one sample the sign is enough: only the true class is negative
(iDLG).
"""

from __future__ import annotations

from collections import Counter

import torch
from torch import Tensor

from dpdl.attacks.inverting import Problem


def recovered(problem: Problem, batch: int, seed: int) -> Tensor | None:
    """The labels that fit best, ascending: (targets, batch); None without a last bias.

    Clipping shortens gradients: counts are guesses then.
    """
    bias = problem.last_bias
    if bias is None:
        return None
    if batch == 1:
        return bias.argmin(1, keepdim=True)
    found = [
        _rounded(batch * (_chance(problem.only(k), seed) - bias[k]), batch)
        for k in range(len(bias))
    ]
    return torch.stack(found)


def _chance(one: Problem, seed: int) -> Tensor:
    """Mean probabilities of the classes on random images."""
    draw = torch.Generator().manual_seed(seed)
    return one.probabilities(torch.randn(64, *one.shape, generator=draw))


def rate(found: Tensor, truth: Tensor) -> float:
    """Share of labels that were recovered, as multisets: order is not known."""
    right = 0
    for ours, theirs in zip(found.tolist(), truth.tolist(), strict=True):
        right += sum((Counter(ours) & Counter(theirs)).values())
    return right / truth.numel()


def _rounded(counts: Tensor, batch: int) -> Tensor:
    """Labels of a batch with about these counts: each goes to the class that misses most."""
    left, labels = counts.clone(), []
    for _ in range(batch):
        c = int(left.argmax())
        labels.append(c)
        left[c] -= 1
    return torch.tensor(sorted(labels))
