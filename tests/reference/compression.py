"""Signs with error feedback, entry by entry."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from tests.reference.ngm import Pairs


@dataclass
class Feedback:
    """What askers receive: the self-answer as it is, all others as signs times a size per parameter tensor."""

    sizes: tuple[int, ...]
    error: Pairs = field(default_factory=dict)

    def signs(self, row: Tensor) -> Tensor:
        out, start = [], 0
        for size in self.sizes:
            entries = [float(value) for value in row[start : start + size]]
            mean = float(np.float32(sum(abs(value) for value in entries) / size))
            out += [mean if value >= 0 else -mean for value in entries]
            start += size
        return torch.tensor(out, dtype=row.dtype)

    def __call__(self, answers: Pairs) -> Pairs:
        received = {}
        for (i, j), g in answers.items():
            if i == j:
                received[i, j] = g
                continue
            wanted = g + self.error.get((i, j), torch.zeros_like(g))
            received[i, j] = self.signs(wanted)
            self.error[i, j] = wanted - received[i, j]
        return received
