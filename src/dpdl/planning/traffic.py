"""How many bytes the rounds of an algorithm send: played, not guessed.

Every message of a round is sent through a real `Net` and counted at its exit. Batches are empty and
there is no noise, so no gradient is computed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import torch

from dpdl.errors import InputError
from dpdl.net import Gate, Meter, Net
from dpdl.planning.public_plan import PublicPlan
from dpdl.privacy.noise import Reproducible
from dpdl.types import Batch

PERIODS = 4
MOST_PLAYED = 20_000


def bytes_of_rounds(p: PublicPlan) -> Iterator[int]:
    """The bytes that all agents together send in round 1, 2, ...; it does not end."""
    meter = Meter(len(p.graph))
    net = Net(p.graph, observers=[Gate(p.releases), meter])
    silent = p.with_mechanism(p.mechanism.with_noise(0.0))
    grad = silent.gradient(Reproducible(0))
    nobody = torch.zeros(0, dtype=torch.int64)
    empty = Batch(p.task.initial.new_zeros(0, *p.form.shape), nobody, nobody)
    state = p.algorithm.init(p.task.initial.repeat(len(p.graph), 1))
    before = 0
    for t in itertools.count(1):
        state, _ = p.algorithm.round(state, [empty] * len(p.graph), net, grad, t)
        sent = int(meter.bytes.sum())
        yield sent - before
        before = sent


def most_rounds(p: PublicPlan, megabytes: float) -> int:
    """The most rounds in which all agents together send at most so many megabytes (10^6 bytes).

    Refused if it is not one.
    """
    limit, period = megabytes * 1e6, p.algorithm.period
    rounds = bytes_of_rounds(p)
    sent = list(itertools.islice(rounds, PERIODS * period))
    if sent[0] > limit:
        raise InputError(
            f"One round of {p.experiment.algorithm} sends {sent[0] / 1e6:.4g} MB, more than "
            "--bytes allows."
        )
    if not any(sent):
        raise InputError(
            f"{p.experiment.algorithm} sends nothing on this graph, so --bytes sets no limit "
            "to its rounds."
        )
    return rounds_within(limit, sent, rounds, period)


def rounds_within(
    limit: float, sent: Sequence[int], rounds: Iterator[int], period: int
) -> int:
    """The most rounds that send at most `limit` bytes.

    The first ones send `sent`, those after them `rounds`. The messages of rounds repeat after a
    period. If the periods in `sent` are alike, the rest is multiplied; else it is played.
    """
    regular = all(
        sent[k] == sent[k % period + period] for k in range(period, len(sent))
    )
    later = (
        itertools.cycle(sent[-period:])
        if regular
        else itertools.islice(rounds, MOST_PLAYED)
    )
    first = sum(sent)
    skipped = (
        max(0, int((limit - first) // max(1, sum(sent[-period:])))) if regular else 0
    )
    if skipped:  # whole periods at once
        return (
            len(sent)
            + skipped * period
            + _within(later, limit - first - skipped * sum(sent[-period:]))
        )
    return _within(itertools.chain(sent, later), limit)


def _within(rounds: Iterator[int], limit: float) -> int:
    """How many rounds, from the first, stay within the limit."""
    total = 0
    for count, sent in enumerate(rounds):
        total += sent
        if total > limit:
            return count
    raise InputError(
        f"--bytes allows more than {MOST_PLAYED:,} rounds; allow fewer bytes."
    )
