"""What a person sees while noise is calibrated, which can take seconds."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext

from dpdl.experiment.experiment import Experiment
from dpdl.planning.noise_rule import rule_of


def calibrating(e: Experiment, shown: bool) -> AbstractContextManager[object]:
    """A line on standard error as long as the accountant looks for the noise, if that is asked for.

    Only on a terminal, and only of process 0.
    """
    first = os.environ.get("RANK", "0") == "0"
    if not shown or not first or rule_of(e) != "accountant":
        return nullcontext()
    from dpdl.terminal import Console

    console = Console(stderr=True)
    if not console.is_terminal or console.is_jupyter:
        return nullcontext()
    text = f"calibrating the noise for epsilon = {e.epsilon:g} in {e.rounds} rounds"
    return console.status(text)
