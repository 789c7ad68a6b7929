"""Bindings of `grid.c`; arguments are documented there."""

from __future__ import annotations

import ctypes
from functools import cache

from dpdl.native import library


@cache
def kernels() -> ctypes.CDLL | None:
    """`dpdl_perturb_on_grid_float` and `..._double`, or None without a library.

    Their arguments are (key, n, from, std, grid, into).

    For tests also `dpdl_grid_normals(pairs, words, out)` and `dpdl_grid_rough(pairs, w, a, first,
    second)`.
    """
    found = library()
    if found is not None:
        count, real, pointer = ctypes.c_int64, ctypes.c_double, ctypes.c_void_p
        for function in (
            found.dpdl_perturb_on_grid_float,
            found.dpdl_perturb_on_grid_double,
        ):
            function.argtypes = [ctypes.c_char_p, count, pointer, real, real, pointer]
            function.restype = None
        found.dpdl_grid_normals.argtypes = [count, pointer, pointer]
        found.dpdl_grid_rough.argtypes = [count, *[pointer] * 4]
        found.dpdl_grid_normals.restype = found.dpdl_grid_rough.restype = None
    return found
