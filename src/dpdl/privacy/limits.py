"""Numbers beyond which nothing is claimed; apart from their users, which are slower to import."""

from __future__ import annotations

from dpdl.options import Check

SMALLEST_DELTA = 1e-30
"""Below this delta nothing is claimed for secure mode.

What `dpdl.privacy.grid` neglects must be much smaller, and a cipher with keys of 256 bits is
trusted to 2^-128.
"""
DELTA = Check(
    lambda v: SMALLEST_DELTA <= v < 1, f"at least {SMALLEST_DELTA:g} and below 1"
)
