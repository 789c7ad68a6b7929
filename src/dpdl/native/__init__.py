"""The compiled kernels. Installing the package compiles the C files here; without a compiler there is no library."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

SLACK = 16
"""Floats behind a buffer that kernels may read and write: they work in whole vectors."""
MOST_VECTORS = 1024
"""Vectors of 16 that one filter may have."""


class Conv(ctypes.Structure):
    """One convolution with what follows it, as `network.c` has it."""

    _fields_ = tuple(
        (name, ctypes.c_int32)
        for name in (
            *("width", "channels", "kernel_rows", "kernel_columns", "stride_rows", "stride_columns"),
            *("filters", "lanes", "bias", "relu", "pool", "rows", "columns"),
            *("in_sample", "out_sample", "out_row", "out_cell", "out_filter"),
        )
    )


@cache
def library() -> ctypes.CDLL | None:
    """The kernels, or None when they were not compiled or `DPDL_NATIVE=0` forbids them."""
    if os.environ.get("DPDL_NATIVE") == "0":
        return None
    here = Path(__file__).parent
    files = [here / f"kernels{suffix}" for suffix in EXTENSION_SUFFIXES]
    for file in filter(Path.is_file, files):
        try:
            found = ctypes.CDLL(str(file))
        except OSError:  # compiled for another machine
            continue
        pointer, conv = ctypes.c_void_p, ctypes.POINTER(Conv)
        found.conv_forward.argtypes = [conv, ctypes.c_int, *[pointer] * 5]
        found.conv_backward.argtypes = [conv, ctypes.c_int, *[pointer] * 9]
        found.conv_forward.restype = found.conv_backward.restype = None
        return found
    return None
