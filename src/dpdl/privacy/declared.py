"""How many records an agent declares: a public constant that rate, noise and epsilon depend on.

The true number is as private as the records: adding one changes it. If the sampling rate were B
over the true number, one more record would change the rate of all the others, and a mean gradient
could move by up to 2 q C instead of q C. So an agent declares a number, not above the true one, and
nothing else is computed from how many records there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from dpdl.bounds import check_size
from dpdl.errors import InputError
from dpdl.text import shown

EXACT = "exact"


def rounded(records: int) -> int:
    """The number cut to two digits: 5,999 is declared as 5,900. What is cut off stays private."""
    unit = int(10 ** max(0, len(str(records)) - 2))
    return records // unit * unit


def declared(text: str | None, records: Sequence[int]) -> list[int]:
    """What every agent declares: its number cut to two digits, the exact one, or the given one."""
    if text is None:
        return [rounded(count) for count in records]
    if text == EXACT:
        return list(records)
    given = parse(text, len(records))
    for agent, (number, count) in enumerate(zip(given, records, strict=True)):
        if number > count:
            raise InputError(
                f"records must not be above what an agent has; {number} are declared for agent "
                f"{agent}, which has fewer."
            )
    return given


def parse(text: str, agents: int) -> list[int]:
    """One number for all agents, or one for each, separated by commas."""
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(
            f"records must be {EXACT!r}, or whole numbers separated by commas, not "
            f"{shown(text)}."
        ) from None
    if len(numbers) not in (1, agents) or min(numbers) < 1:
        raise InputError(
            f"records must be one number of at least 1, or one for each of {agents} agents, "
            f"not {shown(text)}."
        )
    for number in numbers:
        check_size("records", number)
    return numbers if len(numbers) == agents else numbers * agents


def check_few(declared: Sequence[int], records: Sequence[int]) -> None:
    """Refuse a number so small that the bound on the largest batch would not hold.

    That bound counts on an agent having at most `most_records` of what it declares.
    """
    for agent, (number, count) in enumerate(zip(declared, records, strict=True)):
        most = most_records(number)
        if count > most:
            raise InputError(
                f"The bound of this algorithm counts on at most {most} records where {number} are "
                f"declared, and agent {agent} has more; declare a number nearer to the true one."
            )


def most_records(declared: int) -> int:
    """The most records that an agent which declares so many may have: a tenth more, rounded up.

    A number that was cut to two digits is never further from the true one.
    """
    return -(-11 * declared // 10)


@lru_cache(maxsize=1024)
def largest_batch(rate: float, declared: int, failure: float) -> int:
    """The size that a Poisson batch of an agent exceeds with probability `failure` at most.

    The agent declares so many records, each of which takes part at this rate. One more than it has
    is counted: the record whose presence is in question.
    """
    from scipy.special import bdtrc

    most = most_records(declared)
    if rate >= 1:
        return most + 1
    low, high = 0, most  # P(more than high) = 0
    while low < high:
        middle = (low + high) // 2
        rare_enough = bdtrc(middle, most, rate) <= failure
        low, high = (low, middle) if rare_enough else (middle + 1, high)
    return low + 1
