"""Bindings of `network.c`: layers, and the memory in which one thread computes."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from functools import cache
from typing import final

from dpdl.native import library

MOST_VECTORS = 2048
"""Vectors of 8 that one filter may have."""


class ConvLayer(ctypes.Structure):
    """A convolution, then perhaps group norm, ReLU and max-pool; sizes are those of one sample."""

    _fields_ = (
        ("channels", ctypes.c_int32),
        ("height", ctypes.c_int32),
        ("width", ctypes.c_int32),
        ("padding_rows", ctypes.c_int32),
        ("padding_columns", ctypes.c_int32),
        ("kernel_rows", ctypes.c_int32),
        ("kernel_columns", ctypes.c_int32),
        ("stride_rows", ctypes.c_int32),
        ("stride_columns", ctypes.c_int32),
        ("filters", ctypes.c_int32),
        ("bias", ctypes.c_int32),
        ("relu", ctypes.c_int32),
        ("pool", ctypes.c_int32),
        ("groups", ctypes.c_int32),
        ("affine", ctypes.c_int32),
        ("eps", ctypes.c_float),
    )


class LinearLayer(ctypes.Structure):
    """A linear layer, then perhaps ReLU."""

    _fields_ = (
        ("inputs", ctypes.c_int32),
        ("outputs", ctypes.c_int32),
        ("bias", ctypes.c_int32),
        ("relu", ctypes.c_int32),
    )


@final
class Memory:
    """What one thread needs to compute with a network; freed when nobody refers to it."""

    def __init__(
        self,
        convs: Sequence[ConvLayer],
        linears: Sequence[LinearLayer],
        floats: int,
        samples: int,
    ) -> None:
        self._kernels = _declared()
        self._outputs = linears[-1].outputs
        c = (ConvLayer * len(convs))(*convs)
        m = (LinearLayer * len(linears))(*linears)
        self._network = self._kernels.dpdl_network_new(
            len(c), c, len(m), m, floats, samples
        )
        if not self._network:
            raise MemoryError("There is not enough memory for the network's buffers.")
        weakref.finalize(self, self._kernels.dpdl_network_free, self._network)

    def sum(
        self,
        row: int,
        x: int,
        y: int,
        masks: Sequence[int | None],
        samples: int,
        clip_norm: float | None,
        out: int,
    ) -> tuple[float, int, int]:
        """Sum of the gradients into `out`.

        Returns the sum of the losses, and the numbers of samples that were clipped and not finite.
        All arguments but numbers are addresses of contiguous memory: float32, labels int64.
        """
        facts = (ctypes.c_int64 * 2)()
        at = (ctypes.c_void_p * len(masks))(*masks)
        clip = clip_norm is not None
        norm = 0.0 if clip_norm is None else clip_norm
        loss = self._kernels.dpdl_network_sum(
            self._network, row, x, y, at, samples, clip, norm, out, facts
        )
        if loss < 0:
            raise ValueError(
                f"A label is not a class: they are 0 to {self._outputs - 1}."
            )
        return loss, facts[0], facts[1]

    def outputs(self, row: int, x: int, samples: int, out: int) -> None:
        """The network's outputs, without dropout, into `out`."""
        self._kernels.dpdl_network_outputs(self._network, row, x, samples, out)


@cache
def _declared() -> ctypes.CDLL:
    kernels = library()
    assert kernels, "a network needs the compiled kernels"
    address, number, long = ctypes.c_void_p, ctypes.c_int, ctypes.c_long
    kernels.dpdl_network_new.argtypes = [number, address, number, address, long, number]
    kernels.dpdl_network_new.restype = address
    kernels.dpdl_network_free.argtypes = [address]
    kernels.dpdl_network_free.restype = None
    kernels.dpdl_network_sum.argtypes = [
        *[address] * 5,
        long,
        number,
        ctypes.c_float,
        address,
        address,
    ]
    kernels.dpdl_network_sum.restype = ctypes.c_double
    kernels.dpdl_network_outputs.argtypes = [*[address] * 3, long, address]
    kernels.dpdl_network_outputs.restype = None
    return kernels
