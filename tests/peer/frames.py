"""Small frames that several tests send, store and damage."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from dpdl.peer.frame import Frame, FrameHead, Slot, make_frame, payload_of
from dpdl.peer.keys import SigningKey

RUN = "5e" * 32


SLOT = Slot(0, 3, 1)


def a_head(slot: Slot = SLOT, **other: object) -> FrameHead:
    """The head of a frame from ann to bob: two rows of three float32 numbers."""
    head = FrameHead(
        run=RUN,
        view=slot.view,
        round=slot.round,
        step=slot.step,
        channel="model",
        source="ann",
        target="bob",
        dtype="float32",
        shape=(2, 3),
    )
    return replace(head, **other)


def some_rows(seed: int = 0, count: int = 2, width: int = 3) -> Tensor:
    """Normal numbers."""
    draw = torch.Generator().manual_seed(seed)
    return torch.randn(count, width, generator=draw)


def a_frame(key: SigningKey, head: FrameHead | None = None, seed: int = 0) -> Frame:
    """A frame of random rows."""
    head = head or a_head()
    return make_frame(head, payload_of(some_rows(seed, *head.shape)), key)
