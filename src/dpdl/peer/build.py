"""What a round's bits depend on beside its inputs: it may not change in the middle of a round."""

from __future__ import annotations

import platform
from pathlib import Path

from dpdl import __version__
from dpdl.errors import InputError

PROCESSOR = Path("/proc/cpuinfo")


def this_build() -> str:
    """Versions of dpdl and torch, and the processor."""
    import torch

    return f"dpdl {__version__}, torch {torch.__version__}, {_processor()}"


def check_build(before: str, begun: int) -> None:
    """Refuse to run round `begun` again with another build than it was begun with."""
    now = this_build()
    if before != now:
        raise InputError(
            f"Round {begun} was begun with {before}, and this is {now}: it may compute other bits. "
            "Go back to that build, let it pause (dpdl peer pause), and upgrade then."
        )


def _processor() -> str:
    """The name of the processor, which decides which kernels run."""
    try:
        lines = PROCESSOR.read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if "model name" in line]
    return names[0] if names else platform.machine()
