from __future__ import annotations

import ctypes
from collections.abc import Iterator

import pytest

from dpdl.native import grid, library


@pytest.fixture(params=["numpy", 0, 1, 2])
def variant(request, monkeypatch) -> Iterator[None]:
    """Without the compiled kernels, then with those of every kind of machine up to the one at hand."""
    found = library()
    if request.param == "numpy":
        monkeypatch.setattr("dpdl.native.noise.kernels", lambda: None)
        monkeypatch.setattr("dpdl.native.grid.kernels", lambda: None)
    elif found is None:
        pytest.skip("not compiled")
    else:
        found.dpdl_use_at_most(request.param)
    yield
    if found is not None:
        found.dpdl_use_at_most(2)


@pytest.fixture
def kernels() -> Iterator[ctypes.CDLL]:
    """The compiled kernels of `grid.c`, whichever level a test asks for."""
    if (found := grid.kernels()) is None:
        pytest.skip("not compiled")
    yield found
    found.dpdl_use_at_most(2)
