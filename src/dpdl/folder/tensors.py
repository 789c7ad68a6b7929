"""Tensors in files that others may have written or damaged."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from safetensors import SafetensorError, safe_open
from torch import Tensor

from dpdl.foreign import check_file


class TensorFile(NamedTuple):
    """What a file of tensors holds."""

    facts: Mapping[str, str]
    tensors: Mapping[str, Tensor]

    def __repr__(self) -> str:
        return f"TensorFile({len(self.tensors)} tensors)"


def read_tensors(path: Path) -> TensorFile:
    """All of a file; an OSError or a ValueError if it cannot be read."""
    check_file(path)
    try:
        with safe_open(path, "pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return TensorFile(dict(file.metadata() or {}), tensors)
    except SafetensorError as failure:
        raise ValueError(str(failure)) from failure


def read_facts(path: Path) -> Mapping[str, str]:
    """What a file says of itself, without its tensors."""
    check_file(path)
    try:
        with safe_open(path, "pt") as file:
            return dict(file.metadata() or {})
    except SafetensorError as failure:
        raise ValueError(str(failure)) from failure
