"""Theorem 2 and Corollary 1 of the DPDL paper: the formulas, and what they say in words."""

from dpdl.theory.explained import Explained, explain, notes, verdict
from dpdl.theory.formulas import (
    MEANING,
    TERMS,
    Bound,
    Condition,
    Corollary,
    Letters,
    StepSizes,
    applies,
    bound,
    conditions,
    corollary,
    largest_smoothness,
    step_sizes,
)

__all__ = [
    "MEANING",
    "TERMS",
    "Bound",
    "Condition",
    "Corollary",
    "Explained",
    "Letters",
    "StepSizes",
    "applies",
    "bound",
    "conditions",
    "corollary",
    "explain",
    "largest_smoothness",
    "notes",
    "step_sizes",
    "verdict",
]
