"""Observers at the exit: a meter of bytes, and a gate that stops undeclared channels."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from dpdl.errors import InputError, PrivacyRefused
from dpdl.net.messages import Leaving
from dpdl.privacy.releases import Release
from dpdl.transport import OF_THE_RUN


class Meter:
    """Counts, at the exit, the bytes that leave every agent."""

    def __init__(self, agents: int) -> None:
        self.bytes = torch.zeros(agents, dtype=torch.int64)

    def __call__(self, leaving: Leaving) -> None:
        """Observe one exchange."""
        messages = torch.bincount(leaving.edges[:, 0], minlength=len(self.bytes))
        self.bytes += messages * (leaving.bytes // max(1, len(leaving.edges)))


class Gate:
    """Lets only declared channels through: what was not declared was not accounted for."""

    def __init__(self, releases: Sequence[Release]) -> None:
        self._channels = {release.channel for release in releases}
        for channel in self._channels:
            if channel.startswith(OF_THE_RUN):
                raise InputError(
                    f"The algorithm declares the channel {channel!r}; names that begin with "
                    f"{OF_THE_RUN!r} are those of the run itself."
                )

    def __call__(self, leaving: Leaving) -> None:
        """Stop a message before it leaves."""
        if leaving.channel not in self._channels:
            raise PrivacyRefused(
                f"The algorithm tried to send on channel {leaving.channel!r}, which it has not "
                f"declared; declared: {', '.join(sorted(self._channels))}."
            )
