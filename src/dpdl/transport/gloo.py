"""Real processes on a trusted cluster: torch.distributed, point to point, started by `torchrun`.

Gloo has neither encryption nor identity: use it inside one trusted cluster only.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import final

import torch.distributed as dist
from torch import Tensor

from dpdl.errors import InputError
from dpdl.transport.base import PeerLost

TIMEOUT = timedelta(minutes=5)


@final
class Gloo:
    """This process as one rank of a torch.distributed group."""

    def __init__(self, rank: int, size: int) -> None:
        self.rank = rank
        self.size = size
        self.apart = size > 1

    def swap(self, out: Mapping[int, Tensor], expect: Mapping[int, int], like: Tensor) -> dict[int, Tensor]:
        """All sends and receives of one exchange are under way at once."""
        got = {r: like.new_empty(k, *like.shape[1:]) for r, k in expect.items()}
        pending = [(r, dist.P2POp(dist.isend, rows.contiguous(), r)) for r, rows in out.items()]
        pending += [(r, dist.P2POp(dist.irecv, rows, r)) for r, rows in got.items()]
        if not pending:
            return got
        try:
            works = dist.batch_isend_irecv([operation for _, operation in pending])
        except RuntimeError:
            raise PeerLost(pending[0][0]) from None
        for (r, _), work in zip(pending, works, strict=True):
            try:
                work.wait()
            except RuntimeError:
                raise PeerLost(r) from None
        return got


@contextmanager
def gloo() -> Iterator[Gloo]:
    """The group that `torchrun` prepared for this process."""
    missing = [name for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT") if name not in os.environ]
    if missing:
        raise InputError(
            "Placement 'gloo' works under torchrun only; "
            "start it as: torchrun --nproc-per-node 2 -m dpdl run ... --placement gloo."
        )
    dist.init_process_group("gloo", timeout=TIMEOUT)
    try:
        yield Gloo(dist.get_rank(), dist.get_world_size())
    finally:
        dist.destroy_process_group()
