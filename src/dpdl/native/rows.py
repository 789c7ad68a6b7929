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
        products, sums = (
            found.dpdl_row_products,
            [found.dpdl_row_sums_float, found.dpdl_row_sums_double],
        )
        products.argtypes = [
            number,
            pointer,
            number,
            pointer,
            number,
            pointer,
            number,
            pointer,
            pointer,
        ]
        products.restype = None
        for function in sums:
            function.argtypes = [
                number,
                *[pointer] * 4,
                number,
                number,
                pointer,
                number,
            ]
            function.restype = None
    return found
