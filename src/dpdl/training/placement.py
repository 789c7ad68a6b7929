"""Which processes share the agents."""

from __future__ import annotations

from collections.abc import Callable

from dpdl.errors import InputError, unknown
from dpdl.transport import Alone, Transport
from dpdl.transport.gloo import gloo
from dpdl.transport.threads import run_threads

Work = Callable[[Transport], None]
"""What one process of a run does."""
Placement = Callable[[Work], None]
"""Does the work in every process, and returns when all have ended."""


def placement_of(placement: str | Placement) -> Placement:
    """The placement of a name (`alone`, `threads:K`, `gloo` under torchrun), or the given one."""
    if not isinstance(placement, str):
        return placement
    name, _, count = placement.partition(":")
    match name:
        case "alone" if not count:
            return _alone
        case "threads":
            return _threads(placement, count)
        case "gloo" if not count:
            return _gloo
        case _:
            raise unknown("placement", placement, ["alone", "gloo", "threads:K"])


def _alone(work: Work) -> None:
    work(Alone())


def _threads(placement: str, count: str) -> Placement:
    if not count.isascii() or not count.isdigit() or int(count) < 1:
        raise InputError(
            f"Placement {placement!r} must be threads:K with K a whole number of at least 1."
        )
    return lambda work: run_threads(int(count), work)


def _gloo(work: Work) -> None:
    with gloo() as transport:
        work(transport)
