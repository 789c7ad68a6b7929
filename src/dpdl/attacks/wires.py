"""What a recorded file holds of every channel, checked before anybody indexes with it.

A file has three tensors for a channel `c`: `c.edges`, the (source, target) of every message;
`c.rows`, what was sent; and `c.at`, which of the rows each message was.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from dpdl.text import shown


class Wire(NamedTuple):
    """The messages of one channel."""

    edges: Tensor  # (messages, 2), source and target
    rows: Tensor  # (rows, D)
    at: Tensor  # (messages,), rows

    def __repr__(self) -> str:
        return f"Wire({len(self.at)} messages, {len(self.rows)} rows)"


def wires(tensors: Mapping[str, Tensor], agents: int) -> dict[str, Wire]:
    """The channels in a file, in the order of their names; a ValueError says what is wrong."""
    found = {}
    for channel in sorted({name.rsplit(".", 1)[0] for name in tensors}):
        found[channel] = _wire(tensors, channel, agents)
    return found


def _wire(tensors: Mapping[str, Tensor], channel: str, agents: int) -> Wire:
    names = [f"{channel}.{part}" for part in Wire._fields]
    missing = [name for name in names if name not in tensors]
    if missing:
        raise ValueError(f"it has no tensor {shown(missing[0])}")
    wire = Wire(*(tensors[name] for name in names))
    if not _fits(wire, agents):
        raise ValueError(f"the tensors of {shown(channel)} do not fit together")
    return wire


def _fits(wire: Wire, agents: int) -> bool:
    """Whether every message is of two agents that there are, and one of the rows."""
    edges, rows, at = wire
    shaped = edges.shape == (len(at), 2) if at.dim() == 1 else False
    whole = edges.dtype == at.dtype == torch.int64
    if not shaped or not whole or rows.dim() != 2 or not rows.is_floating_point():
        return False
    return _within(edges, agents) and _within(at, len(rows))


def _within(numbers: Tensor, most: int) -> bool:
    return bool(((numbers >= 0) & (numbers < most)).all())
