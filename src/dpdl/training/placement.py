"""Which processes share the agents. A name is checked without torch, before anything is planned."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from dpdl.bounds import MOST, whole_in
from dpdl.errors import InputError, unknown
from dpdl.text import shown

if TYPE_CHECKING:
    from dpdl.transport import Transport

Work = Callable[["Transport"], None]
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
    from dpdl.transport import Alone

    work(Alone())


def _threads(placement: str, count: str) -> Placement:
    threads = whole_in(count)
    if not threads or threads > MOST["threads"]:
        raise InputError(
            f"Placement {shown(placement)} must be threads:K with K a whole number of at least 1 "
            f"and at most {MOST['threads']}."
        )

    def share(work: Work) -> None:
        from dpdl.transport.threads import run_threads

        run_threads(threads, work)

    return share


def _gloo(work: Work) -> None:
    from dpdl.transport.gloo import gloo

    with gloo() as transport:
        work(transport)
