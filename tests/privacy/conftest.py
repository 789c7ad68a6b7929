from __future__ import annotations

import ctypes
from collections.abc import Iterator

import pytest

from dpdl.native import grid, library


@pytest.fixture(params=["numpy", 0, 1, 2])
def compiled(request) -> Iterator[bool]:
    """Without the compiled kernels, then with those of every kind of machine up to the one at hand."""
    if request.param == "numpy":
        yield False
        return
    found = library()
    if found is None:
        pytest.skip("not compiled")
    found.dpdl_use_at_most(request.param)
    yield True
    found.dpdl_use_at_most(2)


@pytest.fixture
def kernels() -> Iterator[ctypes.CDLL]:
    """The compiled kernels of `grid.c`, whichever level a test asks for."""
    if (found := grid.kernels()) is None:
        pytest.skip("not compiled")
    yield found
    found.dpdl_use_at_most(2)
