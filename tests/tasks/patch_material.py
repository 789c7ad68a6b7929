"""Images for filters, and the tool that makes the filters."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import torch

TOOL = Path(__file__).parents[2] / "tools" / "patch_filters.py"


def pixels(count: int, *size: int) -> torch.Tensor:
    """Images with some contrast and some flat ground."""
    draw = torch.Generator().manual_seed(0)
    x = torch.randint(0, 256, (count, 3, *size), generator=draw, dtype=torch.uint8)
    x[:, :, : size[0] // 2] = x[:, :, :1, :1]
    return x


def tool() -> ModuleType:
    """`tools/patch_filters.py`."""
    spec = importlib.util.spec_from_file_location("patch_filters", TOOL)
    assert spec and spec.loader
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found
