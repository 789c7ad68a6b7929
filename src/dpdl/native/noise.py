"""Bindings of `noise.c`; arguments are documented there."""

from __future__ import annotations

import ctypes
from functools import cache

from dpdl.native import library


@cache
def kernels() -> ctypes.CDLL | None:
    """`dpdl_perturb` and `dpdl_normals`, or None without a library.

    Their arguments are (key, n, from, std, into) and (words, pairs).
    """
    found = library()
    if found is not None:
        pointer = ctypes.c_void_p
        found.dpdl_perturb.argtypes = [
            ctypes.c_char_p,
            ctypes.c_long,
            pointer,
            ctypes.c_float,
            pointer,
        ]
        found.dpdl_normals.argtypes = [pointer, ctypes.c_long]
        found.dpdl_perturb.restype = found.dpdl_normals.restype = None
    return found
