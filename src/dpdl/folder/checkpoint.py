"""The state of a run on disk.

One safetensors file, written atomically, that carries its own hash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors.torch import save
from torch import Tensor

from dpdl.errors import InputError, reason
from dpdl.folder.files import write
from dpdl.folder.tensors import read_facts, read_tensors


class Checkpoint(NamedTuple):
    """The state of all agents, or of some, after a round."""

    round: int
    seconds: float  # spent so far
    state: Mapping[str, Tensor]  # name -> (agents, ...)
    totals: Tensor  # (agents, 2) int64: bytes sent, broken gradients
    agents: tuple[int, ...] | None = (
        None  # their numbers, one per row; None: all agents, in order
    )

    def __repr__(self) -> str:
        return (
            f"Checkpoint(round {self.round}, {', '.join(self.state)} of "
            f"{len(self.totals)} agents)"
        )


class Label(NamedTuple):
    """What a checkpoint says of itself before it is read."""

    round: int
    agents: frozenset[int] | None  # None: all


def store(path: Path, checkpoint: Checkpoint) -> None:
    """Replace the checkpoint at `path`."""
    tensors = {f"state.{name}": t.contiguous() for name, t in checkpoint.state.items()}
    tensors["totals"] = checkpoint.totals
    facts = {"round": str(checkpoint.round), "seconds": repr(checkpoint.seconds)}
    if checkpoint.agents is not None:
        facts["agents"] = " ".join(map(str, checkpoint.agents))
    write(path, save(tensors, {**facts, "sha256": _digest(tensors, facts)}))


def restore(path: Path) -> Checkpoint:
    """Read a checkpoint; a torn or altered one is refused."""
    try:
        found = read_tensors(path)
        facts, tensors = dict(found.facts), dict(found.tensors)
        expected = facts.pop("sha256")
        round, seconds = int(facts["round"]), float(facts["seconds"])
        agents = tuple(map(int, facts["agents"].split())) if "agents" in facts else None
    except (KeyError, ValueError, OSError) as failure:
        raise InputError(
            f"Checkpoint {str(path)!r} cannot be read: {reason(failure)}."
        ) from failure
    if _digest(tensors, facts) != expected:
        raise InputError(
            f"Checkpoint {str(path)!r} is damaged: its content does not have the hash "
            "it was saved with."
        )
    totals = tensors.pop("totals", torch.zeros(0))
    if totals.ndim != 2 or totals.shape[1] != 2:
        raise InputError(f"Checkpoint {str(path)!r} is damaged: it has no totals.")
    return Checkpoint(
        round,
        seconds,
        {name.removeprefix("state."): t for name, t in tensors.items()},
        totals,
        agents,
    )


def label(path: Path) -> Label:
    """What a checkpoint is of, without its rows."""
    try:
        facts = read_facts(path)
        agents = (
            frozenset(map(int, facts["agents"].split())) if "agents" in facts else None
        )
        return Label(int(facts["round"]), agents)
    except (KeyError, ValueError, OSError) as failure:
        raise InputError(
            f"Checkpoint {str(path)!r} cannot be read: {reason(failure)}."
        ) from failure


def digest(path: Path) -> str:
    """The hash that a checkpoint was saved with."""
    try:
        return str(read_facts(path).get("sha256"))
    except (ValueError, OSError) as failure:
        raise InputError(
            f"Checkpoint {str(path)!r} cannot be read: {reason(failure)}."
        ) from failure


def _digest(tensors: Mapping[str, Tensor], facts: Mapping[str, str]) -> str:
    sha = hashlib.sha256()
    for name, value in sorted(facts.items()):
        sha.update(f"{name}={value};".encode())
    for name, t in sorted(tensors.items()):
        sha.update(f"{name}:{t.dtype}:{tuple(t.shape)};".encode())
        sha.update(t.reshape(-1).contiguous().view(torch.uint8).numpy().data)
    return sha.hexdigest()
