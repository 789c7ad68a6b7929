"""Bindings of `rows.c`; arguments are documented there."""

from __future__ import annotations

import ctypes
from functools import cache

from dpdl.native import library


@cache
def kernels() -> ctypes.CDLL | None:
    """`dpdl_row_products` and `dpdl_row_sums_float`, `..._double`, or None without a library."""
    found = library()
    if found is not None:
        number, pointer = ctypes.c_int64, ctypes.c_void_p
        of_rows = (number, pointer, number, pointer, number, pointer)
        of_pieces = (number, pointer, pointer)
        found.dpdl_row_products.argtypes = (*of_rows, *of_pieces)
        found.dpdl_row_products.restype = None
        for add in (found.dpdl_row_sums_float, found.dpdl_row_sums_double):
            add.argtypes = [number, *[pointer] * 4, number, number, pointer, number]
            add.restype = None
    return found
