"""Theorem 2 for people: a verdict, notes, and everything as JSON values."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from dpdl.theory.formulas import (
    Setting,
    applies,
    bound,
    conditions,
    corollary,
    first_constant,
    largest_smoothness,
    step_sizes,
)


def verdict(setting: Setting) -> str:
    """One sentence for a person who wants to know whether the theorem says anything here."""
    q, sizes = setting, step_sizes(setting)
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


def notes(setting: Setting) -> list[str]:
    """What must be known to read the numbers."""
    q, found = setting, bound(setting)
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


def _about_corollary(q: Setting) -> list[str]:
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


def as_dict(setting: Setting) -> dict[str, Any]:
    """Everything, as JSON values."""
    found, sizes, cor = bound(setting), step_sizes(setting), corollary(setting)
    return {
        "bound": found.total,
        "applies": applies(setting),
        "terms": found.terms,
        "conditions": [_plain(c) for c in conditions(setting)],
        "constants": found.constants,
        "step_sizes": {**_plain(sizes), "empty": sizes.empty},
        "largest_smoothness": largest_smoothness(setting),
        "corollary": _plain(cor) if cor else None,
        "verdict": verdict(setting),
        "notes": notes(setting),
        "inputs": _plain(setting),
    }


def _plain(record: Any) -> dict[str, Any]:
    return {f.name: getattr(record, f.name) for f in fields(record)}
