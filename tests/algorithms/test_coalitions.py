"""The worst coalition anywhere, by trying them all."""

from __future__ import annotations

import numpy as np
import pytest

from dpdl.algorithms.coalitions import against_all


def test_every_agent_faces_the_worst_coalition_without_it() -> None:
    """Here a coalition knows of everybody else the sum of the numbers of its members."""
    everybody = set(range(5))

    def known(left: np.ndarray) -> np.ndarray:
        return np.full(len(left), float(sum(everybody - set(left.tolist()))))

    found = against_all(5, 2, known)
    assert found is not None
    assert found.tolist() == [3 + 4, 3 + 4, 3 + 4, 2 + 4, 2 + 3]
    assert against_all(5, 0, known).tolist() == [0] * 5  # type: ignore[union-attr]


@pytest.mark.parametrize(("agents", "k"), [(30, 5), (110, 2)])
def test_coalitions_that_are_too_many_or_too_large_are_not_tried(
    agents: int, k: int
) -> None:
    assert against_all(agents, k, lambda left: np.zeros(0)) is None
