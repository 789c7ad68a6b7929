"""What the processes of a run tell each other in public."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import torch
from torch import Tensor

from dpdl.transport import CONTROL, Post

DIGEST = 32
"""Bytes of a digest, and of everything else that is compared."""


@final
class Control:
    """Where a run stands, as whole numbers and bytes: rounds, requests, names, public digests.

    It takes no row of numbers, so nothing that was computed from records passes here. All processes
    call a method together.
    """

    def __init__(self, post: Post) -> None:
        self._post = post

    def share(self, number: int) -> int:
        """The number that process 0 has, known to all."""
        return int(self._from_zero(torch.tensor([number])))

    def agree(self, choice: bool) -> bool:
        """The choice of process 0, known to all."""
        return bool(self.share(int(choice)))

    def name(self, text: str) -> str:
        """The text that process 0 has, known to all."""
        content = text.encode()
        size = self.share(len(content))
        found = self._from_zero(
            _bytes(content) if self._post.rank == 0 else _bytes(bytes(size))
        )
        return bytes(found.tolist()).decode()

    def gather(self, number: int) -> list[int]:
        """The numbers of all processes, on process 0; elsewhere nothing."""
        return [int(found) for found in self._to_zero(torch.tensor([int(number)]))]

    def digests(self, rows: Sequence[bytes]) -> list[list[bytes]]:
        """The digests of all processes, as many from each, on process 0; elsewhere nothing."""
        found = self._to_zero(_bytes(b"".join(rows)).view(-1, DIGEST))
        return [[bytes(row) for row in of_one.tolist()] for of_one in found]

    def share_digests(self, rows: Sequence[bytes]) -> list[bytes]:
        """The digests that process 0 has, known to all; all give as many."""
        found = self._from_zero(_bytes(b"".join(rows)).view(-1, DIGEST))
        return [bytes(row) for row in found.tolist()]

    def _to_zero(self, row: Tensor) -> list[Tensor]:
        here, others = self._post.rank, range(1, self._post.size)
        if here:
            self._post.swap(CONTROL, {0: row}, {}, row)
            return []
        got = self._post.swap(CONTROL, {}, dict.fromkeys(others, len(row)), row)
        return [row, *(got[r] for r in others)]

    def _from_zero(self, row: Tensor) -> Tensor:
        if self._post.rank:
            return self._post.swap(CONTROL, {}, {0: len(row)}, row)[0]
        self._post.swap(CONTROL, dict.fromkeys(range(1, self._post.size), row), {}, row)
        return row


def _bytes(content: bytes) -> Tensor:
    return (
        torch.frombuffer(bytearray(content), dtype=torch.uint8)
        if content
        else torch.zeros(0, dtype=torch.uint8)
    )
