"""The compiled kernels: installing the package compiles the C files here, if it can."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path


@cache
def library() -> ctypes.CDLL | None:
    """The kernels, or None when they were not compiled or `DPDL_NATIVE=0` forbids them."""
    if os.environ.get("DPDL_NATIVE") == "0":
        return None
    here = Path(__file__).parent
    files = [here / f"kernels{suffix}" for suffix in EXTENSION_SUFFIXES]
    for file in filter(Path.is_file, files):
        try:
            return ctypes.CDLL(str(file))
        except OSError:  # compiled for another machine
            continue
    return None
