"""Ending a run before its last round: by a rule of the experiment, or by a callback.

The rule `stop_after_stalled = K` looks at the mean training loss of evaluated rounds, and ends the
run when the lowest one is K evaluations old. It is a function of the metrics alone, so a run that
was interrupted and resumed ends after the same round. Test records are not looked at: whoever
chooses the end by them cannot report their score as a test.

Privacy: training losses are computed without noise, and callbacks may look at anything. So when
such a run ends depends on private records in a way that no epsilon covers; the privacy statement
says so. Noise is calibrated for all planned rounds, and epsilon is computed for those that were
made.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from dpdl.errors import InputError
from dpdl.folder.metrics import Metrics

Callback = Callable[[int, Metrics | None], None]
"""Called after every round with its number and, when it was evaluated, its metrics."""


class Stop(Exception):
    """Raised by a callback to end the run after the round that it was called with.

    The run ends as one that has made all its rounds: evaluated, saved and summed up. Its message
    says why.
    """


def stalled(metrics: Sequence[Metrics], patience: int | None) -> str | None:
    """Why a run with these metrics ends now; None: it goes on."""
    if patience is None:
        return None
    losses = [_loss(one) for one in metrics]
    if len(losses) <= patience:
        return None
    lowest = losses.index(min(losses))
    if len(losses) - 1 - lowest < patience:
        return None
    return (
        f"the training loss has not fallen below that of round {metrics[lowest].round} "
        f"in {patience} evaluations"
    )


def _loss(metrics: Metrics) -> float:
    """A round without a loss, because all batches were empty, is no improvement."""
    mean = metrics.train_loss.mean
    return math.inf if mean is None else mean


def called(watch: object, callbacks: object) -> list[Callback]:
    """All that is called after a round; what cannot be is refused before the first one."""
    if not isinstance(callbacks, Iterable):
        raise InputError("callbacks must be a list of functions; one alone is watch.")
    found = [*callbacks] if watch is None else [watch, *callbacks]
    for one in found:
        if not callable(one):
            kind = type(one).__name__
            raise InputError(f"A callback must be a function, not of type {kind}.")
    return found


def together(*callbacks: Callback) -> Callback:
    """All of them in order, every time; the first wish to stop is passed on afterwards."""

    def heard(t: int, metrics: Metrics | None) -> None:
        wishes = []
        for one in callbacks:
            try:
                one(t, metrics)
            except Stop as wish:
                wishes.append(wish)
        if wishes:
            raise wishes[0]

    return heard
