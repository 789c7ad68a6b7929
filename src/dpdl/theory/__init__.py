"""Theorem 2 and Corollary 1 of the DPDL paper: the formulas, and what they say in words."""

from dpdl.theory.explained import as_dict, notes, verdict
from dpdl.theory.formulas import (
    MEANING,
    TERMS,
    Bound,
    Condition,
    Corollary,
    Setting,
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
    "Setting",
    "StepSizes",
    "applies",
    "as_dict",
    "bound",
    "conditions",
    "corollary",
    "largest_smoothness",
    "notes",
    "step_sizes",
    "verdict",
]
