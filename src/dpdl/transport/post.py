"""Addresses for the messages of one process, in the order in which all processes exchange them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

from torch import Tensor

from dpdl.transport.base import Address, Transport

OF_THE_RUN = "~"
"""How the channels of the run itself begin; an algorithm that declares such a one is refused."""
CONTROL = f"{OF_THE_RUN}control"
"""The channel of whole numbers and digests."""
COLLECT = f"{OF_THE_RUN}collect"
"""The channel on which an experimenter collects rows, where there is one."""


@final
class Post:
    """A transport that numbers the exchanges of each round, so that callers name a channel only."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._round = 0
        self._number = 0
        self.rank = transport.rank
        self.size = transport.size
        self.apart = transport.apart

    def begin(self, round: int) -> None:
        """The exchanges that follow belong to this round, from number 0."""
        if round != self._round:
            self._round, self._number = round, 0

    def swap(
        self,
        channel: str,
        out: Mapping[int, Tensor],
        expect: Mapping[int, int],
        like: Tensor,
    ) -> dict[int, Tensor]:
        """The next exchange, as `Transport.swap` has it."""
        address = Address(self._round, channel, self._number)
        self._number += 1
        return self._transport.swap(address, out, expect, like)
