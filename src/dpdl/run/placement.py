"""Which processes share the agents."""

from __future__ import annotations

from collections.abc import Callable

from dpdl.errors import InputError, unknown
from dpdl.transport import Alone, Transport
from dpdl.transport.gloo import gloo
from dpdl.transport.threads import run_threads


def place(placement: str, work: Callable[[Transport], None]) -> None:
    """Run `work` in every process of the placement: `alone`, `threads:K`, or `gloo` under torchrun."""
    name, _, count = placement.partition(":")
    match name:
        case "alone" if not count:
            work(Alone())
        case "threads":
            if not count.isascii() or not count.isdigit() or int(count) < 1:
                raise InputError(f"Placement {placement!r} must be threads:K with K a whole number of at least 1.")
            run_threads(int(count), work)
        case "gloo" if not count:
            with gloo() as transport:
                work(transport)
        case _:
            raise unknown("placement", placement, ["alone", "gloo", "threads:K"])
