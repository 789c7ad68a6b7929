"""The seam between processes: one method that swaps rows, each message with an address."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol, final

from torch import Tensor

from dpdl.errors import RunFailed


class PeerLost(RunFailed):
    """Another process of this run has gone away."""

    def __init__(self, rank: int) -> None:
        super().__init__(f"Process {rank} of this run has gone away.")
        self.rank = rank


class WrongMessage(RunFailed):
    """Another process sent an unexpected message, or an address was used twice."""

    def __init__(self, rank: int, what: str) -> None:
        super().__init__(f"Process {rank} of this run {what}.")
        self.rank = rank


class Address(NamedTuple):
    """The identity of a message: no two messages from one process to another share it."""

    round: int
    channel: str
    number: int  # of the exchange within the round, on whatever channel

    def __str__(self) -> str:
        return f"round {self.round}, channel {self.channel!r}, number {self.number}"


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
        """Whether swapped rows cross a link, to a process that may have another owner."""
        ...

    def swap(
        self,
        address: Address,
        out: Mapping[int, Tensor],
        expect: Mapping[int, int],
        like: Tensor,
    ) -> dict[int, Tensor]:
        """Give `out[r]` to each process r and return `expect[r]` rows from each process r.

        All processes take part in an exchange under the same address. `like` is a tensor whose rows
        have the shape and type of those expected. A process that is late is waited for. Raises
        `PeerLost` when one is gone, and `WrongMessage` when one sent rows under another address, of
        another number, shape or type, or when the address was used before.
        """
        ...


@final
class Used:
    """The addresses of the last two rounds: no exchange may use one of them again."""

    def __init__(self, rank: int) -> None:
        self._rank = rank
        self._used: dict[int, set[Address]] = {}

    def add(self, address: Address) -> None:
        """Note an address; one that was used, or whose round is over, is refused."""
        latest = max(self._used, default=address.round)
        known = self._used.setdefault(address.round, set())
        if address in known or address.round < latest - 1:
            raise WrongMessage(self._rank, f"used an address twice: {address}")
        known.add(address)
        for old in [round for round in self._used if round < address.round - 1]:
            del self._used[old]


def check_rows(
    rank: int, expected: Address, found: Address, rows: Tensor, count: int, like: Tensor
) -> None:
    """Refuse rows of process `rank` that are not the expected ones."""
    if found != expected:
        raise WrongMessage(rank, f"sent {found} where {expected} was expected")
    shape, wanted = tuple(rows.shape), (count, *like.shape[1:])
    if shape != wanted or rows.dtype != like.dtype:
        kinds = [str(kind).removeprefix("torch.") for kind in (rows.dtype, like.dtype)]
        raise WrongMessage(
            rank,
            f"sent rows of shape {shape} and type {kinds[0]} where {wanted} and {kinds[1]} "
            f"were expected ({expected})",
        )


@final
class Alone:
    """One process hosts everybody: there is nobody to swap with."""

    rank = 0
    size = 1
    apart = False

    def __init__(self) -> None:
        self._used = Used(0)

    def swap(
        self,
        address: Address,
        out: Mapping[int, Tensor],
        expect: Mapping[int, int],
        like: Tensor,
    ) -> dict[int, Tensor]:
        """An empty exchange; nobody else is there."""
        self._used.add(address)
        if out or expect:
            raise PeerLost(min({*out, *expect}))
        return {}
