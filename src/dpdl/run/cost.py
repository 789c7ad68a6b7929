"""How many bytes the rounds of an algorithm send: played, not guessed.

Every message of a round is sent through a real `Net` and counted at its exit. What is left out is what has no weight:
batches are empty and there is no noise, so no gradient is computed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

from dpdl.errors import InputError
from dpdl.net import Net
from dpdl.run.observe import Gate, Meter
from dpdl.run.plan import Plan
from dpdl.types import Batch

PERIODS = 4
MOST_PLAYED = 20_000


def bytes_of_rounds(p: Plan) -> Iterator[int]:
    """The bytes that all agents together send in round 1, 2, ...; it does not end."""
    meter = Meter(len(p.graph))
    net = Net(p.graph, observers=[Gate(p.algorithm.releases(p.grad)), meter])
    grad = replace(p.grad, noise_multiplier=0.0)
    empty = Batch(p.data.inputs(p.data.x[:0], p.task.initial.dtype), p.data.y[:0], p.data.y[:0])
    state = p.algorithm.init(p.task.initial.repeat(len(p.graph), 1))
    before = 0
    for t in itertools.count(1):
        state, _ = p.algorithm.round(state, [empty] * len(p.graph), net, grad, t)
        sent = int(meter.bytes.sum())
        yield sent - before
        before = sent


def most_rounds(p: Plan, megabytes: float) -> int:
    """The most rounds in which all agents together send at most so many megabytes (10^6 bytes); refused if not one.

    Rounds repeat after `local_steps`. If a few such periods send the same, the rest is multiplied; else it is played.
    """
    limit, period = megabytes * 1e6, p.experiment.local_steps
    rounds = bytes_of_rounds(p)
    sent = list(itertools.islice(rounds, PERIODS * period))
    if sent[0] > limit:
        raise InputError(
            f"One round of {p.experiment.algorithm} sends {sent[0] / 1e6:.4g} MB, more than --bytes allows."
        )
    if not any(sent):
        raise InputError(
            f"{p.experiment.algorithm} sends nothing on this graph, so --bytes sets no limit to its rounds."
        )
    regular = all(sent[k] == sent[k % period + period] for k in range(period, len(sent)))
    later = itertools.cycle(sent[-period:]) if regular else itertools.islice(rounds, MOST_PLAYED)
    first = sum(sent)
    skipped = max(0, int((limit - first) // max(1, sum(sent[-period:])))) if regular else 0
    if skipped:  # whole periods at once
        return len(sent) + skipped * period + _within(later, limit - first - skipped * sum(sent[-period:]))
    return _within(itertools.chain(sent, later), limit)


def _within(rounds: Iterator[int], limit: float) -> int:
    """How many rounds, from the first, stay within the limit."""
    total = 0
    for count, sent in enumerate(rounds):
        total += sent
        if total > limit:
            return count
    raise InputError(f"--bytes allows more than {MOST_PLAYED:,} rounds; allow fewer bytes.")
