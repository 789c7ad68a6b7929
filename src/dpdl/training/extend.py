"""More rounds for a run: the mechanism stays, and the cost is stated beforehand."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

from dpdl import __version__
from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.folder.ledger import LEDGER, check_rounds, going_on
from dpdl.folder.ledger_content import read
from dpdl.folder.run_facts import RunFacts
from dpdl.folder.states import States
from dpdl.planning.plan import Plan
from dpdl.planning.statement import listening
from dpdl.privacy.threats import threat
from dpdl.training.centre import counted, rounds_beside


def extended(run_dir: Path, e: Experiment, rounds: int) -> Experiment:
    """The same experiment with another number of rounds and the noise of the first ones.

    A rule that computes sigma from the number of rounds is not applied again: what has left cannot
    be made noisier.
    """
    path = run_dir / LEDGER
    if not path.exists():
        raise InputError(
            f"Run {str(run_dir)!r} has no ledger here, which says what has left: it cannot be "
            "extended."
        )
    content = read(path)
    check_rounds(run_dir, content, rounds)
    _check_average(e, rounds, States(run_dir).last())
    return replace(e, rounds=rounds, sigma=content.header.sigma or e.sigma)


def pinned(run_dir: Path, e: Experiment, facts: RunFacts) -> Experiment:
    """The experiment with the sigma of its ledger, if another version of dpdl computed it."""
    path = run_dir / LEDGER
    if facts.version == __version__ or e.sigma is not None or not path.exists():
        return e
    return replace(e, sigma=read(path).header.sigma or None)


def price(p: Plan, run_dir: Path) -> str:
    """What an extension costs against the threat that was asked for: one sentence."""
    content = going_on(run_dir / LEDGER, p.public)
    if content is None:
        return "Nothing has left yet."
    done, e = States(run_dir).last(), p.experiment
    before = content.charged(done)
    # A centre is with the first state that is saved; without one it leaves again.
    centres, repeatable = content.centre_lines, p.randomness.repeatable
    stated = counted(p.stated, centres + (not done), repeatable)
    end = e.rounds
    if p.allowance:
        affordable = rounds_beside(stated, p.allowance)
        end = min(end, done + max(0, affordable - before))
    # As it was stated before: a proof may depend on how many rounds were planned.
    left = counted(p.stated, centres, repeatable)
    planned = replace(left.privacy, rounds=content.rounds or left.privacy.rounds)
    now = replace(left, privacy=planned).epsilon(content.charged())
    then = stated.epsilon(before + end - done)
    return (
        f"From round {content.last} to round {end} with sigma = {p.privacy.sigma:.4g}: "
        f"epsilon goes from {now} to {then}, delta = {e.delta:g}, against "
        f"{listening(threat(e.threat), p.algorithm.coalitions_anywhere)}."
    )


def _check_average(e: Experiment, rounds: int, done: int) -> None:
    """Refuse an end whose averaged rounds begin among those whose models are gone."""

    def first(end: int) -> int:
        return end - math.floor(e.average * end) + 1

    if (
        not e.average
        or first(rounds) > done
        or first(rounds) == first(e.rounds)
        or rounds == e.rounds
    ):
        return
    raise InputError(
        f"average = {e.average:g} of {rounds} rounds begins with round {first(rounds)}, whose "
        "models are gone: the run "
        f"stands at round {done}; give it more rounds."
    )
