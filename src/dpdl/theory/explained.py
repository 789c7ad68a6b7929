"""Theorem 2 for people: a verdict, notes, and a record of everything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import final

from dpdl.records import Record, absent, others
from dpdl.theory.formulas import (
    Condition,
    Corollary,
    Letters,
    StepSizes,
    applies,
    bound,
    conditions,
    corollary,
    first_constant,
    largest_smoothness,
    step_sizes,
)


def verdict(letters: Letters) -> str:
    """One sentence for a person who wants to know whether the theorem says anything here."""
    q, sizes = letters, step_sizes(letters)
    lowest, highest = f"{sizes.above:.4g}", f"{sizes.up_to:.4g} ({sizes.up_to_name})"
    if sizes.empty:
        return (
            f"No step size can satisfy the conditions on this graph: with L = {q.L:g} "
            f"it would have to be above {lowest} and at most {highest}."
        )
    if sizes.useless:
        return (
            f"No step size on this graph gives a bound: with L = {q.L:g} the three "
            f"conditions want it above {lowest} and at most {highest}, but C_1 > 0 "
            f"needs it above {sizes.positive_above:.4g}."
        )
    if not applies(q):
        return (
            f"Theorem 2 says nothing for step size {q.eta:g}: with L = {q.L:g} it "
            f"would have to be above {sizes.positive_above:.4g} (C_1 > 0) and at most "
            f"{highest}."
        )
    total = bound(q).total
    assert total is not None
    return (
        f"Theorem 2 applies: the mean squared gradient norm over {q.T} rounds is at "
        f"most {total:.4g}."
    )


def notes(letters: Letters) -> list[str]:
    """What must be known to read the numbers."""
    q, found = letters, bound(letters)
    words = []
    if found.total is None:
        words.append(
            f"C_1 = {first_constant(q):.4g} is not positive, and the bound divides by "
            "it: there is no bound."
        )
    elif not applies(q):
        words.append(
            "A condition does not hold: the bound is the value of a formula, not a "
            "guarantee."
        )
    if found.total is not None and q.sigma > 0:
        words.append(
            "noise_consensus has the factor C^2 sigma^2 d twice, as the theorem says; "
            "its proof has it once."
        )
    if found.total is not None and found.total > 2 * q.L * q.gap:
        words.append(
            "An L-smooth loss starts with a squared gradient norm of at most 2 L gap = "
            f"{2 * q.L * q.gap:.4g}: the bound does not even promise to stay below "
            "that."
        )
    if q.beta == 0:
        words.append(
            "C_2 divides by beta and does not exist for beta = 0; where it enters it "
            "is multiplied by beta^2."
        )
    return words + _about_corollary(q)


def _about_corollary(q: Letters) -> list[str]:
    found = corollary(q)
    if found is None:
        return ["Without an epsilon there is no corollary."]
    words = []
    if found.second is None:
        words.append(
            "The corollary's second requirement is undefined: its denominator is not "
            "positive."
        )
    elif found.required is not None and found.required >= found.positive_below:
        words.append(
            f"The corollary asks for {found.required} rounds or more, but with eta = N "
            f"epsilon / T the bound ends at {found.positive_below:.4g} rounds, where "
            "C_1 is no longer positive."
        )
    return words


@final
@dataclass(frozen=True, kw_only=True)
class ExplainedInputs(Record):
    """What the theorem was applied to: the letters, and where they come from if that is known."""

    run: str | None = absent()
    graph: str | None = absent()
    weights: str | None = absent()
    seed: int | None = absent()
    graph_sha256: str | None = absent()
    letters: Mapping[str, float | None] = others()


@final
@dataclass(frozen=True, kw_only=True)
class Explained(Record):
    """All that the theorem says; what `dpdl theory --json` prints."""

    bound: float | None
    applies: bool
    terms: Mapping[str, float | None]
    conditions: tuple[Condition, ...]
    constants: Mapping[str, float | None]
    step_sizes: StepSizes
    largest_smoothness: float | None
    corollary: Corollary | None
    verdict: str
    notes: tuple[str, ...]
    inputs: ExplainedInputs


def explain(letters: Letters) -> Explained:
    """Everything about these values."""
    found = bound(letters)
    return Explained(
        bound=found.total,
        applies=applies(letters),
        terms=found.terms,
        conditions=tuple(conditions(letters)),
        constants=found.constants,
        step_sizes=step_sizes(letters),
        largest_smoothness=largest_smoothness(letters),
        corollary=corollary(letters),
        verdict=verdict(letters),
        notes=tuple(notes(letters)),
        inputs=ExplainedInputs(letters=asdict(letters)),
    )
