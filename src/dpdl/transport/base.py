"""The seam: one method that swaps rows with other processes, and the transport of those who have none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, final

from torch import Tensor

from dpdl.errors import RunFailed


class PeerLost(RunFailed):
    """Another process of this run has gone away."""

    def __init__(self, rank: int) -> None:
        super().__init__(f"Process {rank} of this run has gone away.")
        self.rank = rank


class Transport(Protocol):
    """Moves rows between the `size` processes of a run; this one is number `rank`."""

    @property
    def rank(self) -> int:
        """The number of this process."""
        ...

    @property
    def size(self) -> int:
        """How many processes there are."""
        ...

    @property
    def apart(self) -> bool:
        """Whether what is swapped crosses a link, to a process that may belong to somebody else."""
        ...

    def swap(self, out: Mapping[int, Tensor], expect: Mapping[int, int], like: Tensor) -> dict[int, Tensor]:
        """Give `out[r]` to each process r and return what `expect` says: `expect[r]` rows from each process r.

        `like` is a tensor whose rows have the shape and type of those expected. Raises `PeerLost`.
        """
        ...


@final
class Alone:
    """One process hosts everybody: there is nobody to swap with."""

    rank = 0
    size = 1
    apart = False

    def swap(self, out: Mapping[int, Tensor], expect: Mapping[int, int], like: Tensor) -> dict[int, Tensor]:
        """Nothing to give, nothing to get."""
        if out or expect:
            raise PeerLost(min({*out, *expect}))
        return {}
