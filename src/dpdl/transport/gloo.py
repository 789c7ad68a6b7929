"""Real processes on a trusted cluster: torch.distributed, point to point, started by `torchrun`.

Gloo has neither encryption nor identity: use it inside one trusted cluster only. Its messages have
no headers, so each is announced by a small one with its address, type and shape.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, final

import torch
import torch.distributed as dist
from torch import Tensor

from dpdl.errors import InputError
from dpdl.transport.base import Address, PeerLost, Used, WrongMessage

TIMEOUT = timedelta(minutes=5)
ROWS, HEADER = 0, 1
"""Tags."""
WORDS = 10
"""Numbers of a header: two of the address, one of the type, one of the dimensions, and sizes."""
TYPES = (
    torch.float32,
    torch.float64,
    torch.uint8,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.int32,
    torch.bool,
)


@final
class Gloo:
    """This process as one rank of a torch.distributed group."""

    def __init__(self, rank: int, size: int) -> None:
        self.rank = rank
        self.size = size
        self.apart = size > 1
        self._used = Used(rank)

    def swap(
        self,
        address: Address,
        out: Mapping[int, Tensor],
        expect: Mapping[int, int],
        like: Tensor,
    ) -> dict[int, Tensor]:
        """Everything is announced and sent at once; rows are received once they are expected.

        Gloo ends the process when more bytes arrive than there is room for.
        """
        self._used.add(address)
        if not out and not expect:
            return {}
        given = [(r, rows.contiguous()) for r, rows in out.items()]
        headers = {r: torch.empty(WORDS, dtype=torch.int64) for r in expect}
        sending = _start(
            [
                *((r, _sent(header(address, rows), r, HEADER)) for r, rows in given),
                *((r, _sent(rows, r, ROWS)) for r, rows in given),
            ]
        )
        _wait(
            _start([(r, _received(words, r, HEADER)) for r, words in headers.items()])
        )
        got = {r: like.new_empty(k, *like.shape[1:]) for r, k in expect.items()}
        for r, words in headers.items():
            _check_header(r, words, header(address, got[r]), address)
        _wait(_start([(r, _received(rows, r, ROWS)) for r, rows in got.items()]))
        _wait(sending)
        return got


def header(address: Address, rows: Tensor) -> Tensor:
    """The message that announces rows: their address, type and shape."""
    name = hashlib.blake2b(repr(tuple(address)).encode(), digest_size=16).digest()
    halves = [int.from_bytes(name[k : k + 8], "little", signed=True) for k in (0, 8)]
    sizes = [*rows.shape, *[0] * (WORDS - 4 - rows.dim())]
    return torch.tensor([*halves, TYPES.index(rows.dtype), rows.dim(), *sizes])


def _check_header(r: int, found: Tensor, wanted: Tensor, address: Address) -> None:
    if found.equal(wanted):
        return
    if not found[:2].equal(wanted[:2]):
        raise WrongMessage(r, f"sent another message where {address} was expected")
    shapes = [tuple(words[4 : 4 + int(words[3])].tolist()) for words in (found, wanted)]
    kinds = [_kind(words) for words in (found, wanted)]
    raise WrongMessage(
        r,
        f"sent rows of shape {shapes[0]} and type {kinds[0]} where {shapes[1]} and {kinds[1]} "
        f"were expected ({address})",
    )


def _kind(words: Tensor) -> str:
    return str(TYPES[int(words[2])]).removeprefix("torch.")


def _sent(rows: Tensor, r: int, tag: int) -> dist.P2POp:
    return dist.P2POp(dist.isend, rows, r, tag=tag)


def _received(rows: Tensor, r: int, tag: int) -> dist.P2POp:
    return dist.P2POp(dist.irecv, rows, r, tag=tag)


def _start(operations: list[tuple[int, dist.P2POp]]) -> list[tuple[int, Any]]:
    if not operations:
        return []
    try:
        works = dist.batch_isend_irecv([operation for _, operation in operations])
    except RuntimeError:
        raise PeerLost(operations[0][0]) from None
    return [(r, work) for (r, _), work in zip(operations, works, strict=True)]


def _wait(works: list[tuple[int, Any]]) -> None:
    for r, work in works:
        try:
            work.wait()
        except RuntimeError:
            raise PeerLost(r) from None


@contextmanager
def gloo() -> Iterator[Gloo]:
    """The group that `torchrun` prepared for this process."""
    names = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    if any(name not in os.environ for name in names):
        raise InputError(
            "Placement 'gloo' works under torchrun only; "
            "start it as: torchrun --nproc-per-node 2 -m dpdl run ... --placement gloo."
        )
    dist.init_process_group("gloo", timeout=TIMEOUT)
    try:
        yield Gloo(dist.get_rank(), dist.get_world_size())
    finally:
        dist.destroy_process_group()
