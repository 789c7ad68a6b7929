"""One record replaced, as one record removed and another one added.

If a mechanism gives (e, d) for a record added or removed, then with S, S without the record
("between"), and S',

    P_S(A) <= exp(e) P_between(A) + d <= exp(2 e) P_S'(A) + exp(e) d + d,

so it gives (2 e, (1 + exp(e)) d) for a record replaced. This holds for any mechanism, also for an
adaptive one.
"""

from __future__ import annotations

import math
from collections.abc import Callable

LARGEST = 300.0  # exp of it is still a number


def epsilon(spent: Callable[[float], float], delta: float) -> float:
    """An epsilon for a record replaced, or infinity.

    `spent(e)` is the delta for a record added or removed. (1 + exp(e)) spent(e) may rise again
    where spent(e) has stopped falling. So the first e at which it is small enough is looked for
    from below, in steps of a tenth, and then narrowed; what is returned was tried.
    """

    def enough(e: float) -> bool:
        return (1 + math.exp(e)) * spent(e) <= delta

    if enough(0.0):
        return 0.0
    low, high = 0.0, 1e-4
    while not enough(high):
        low, high = high, high * 1.1
        if high > LARGEST:
            return math.inf
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return 2 * high
